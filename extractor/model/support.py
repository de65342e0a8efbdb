"""Whether a conversation supports a statement, and whether it is about the user rather than about the chat.

Numbers are compared by value ("twelve", 十二, "12"), names without case, dates as spans of days, so that "tomorrow"
supports the date of the day after. Words are compared by their stems, Chinese ones by pairs of characters.
"""

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from datetime import date
from functools import cached_property
from typing import Final, Literal

from extractor.language.kind import is_chinese
from extractor.language.values import numbers_of, numbers_stated
from extractor.language.vocabulary import names_of_kind, statement_words
from extractor.tables import table
from gateway_memory.ground.calendar import Span
from gateway_memory.ground.dates import dates_of, relative_dates_of, without_dates
from gateway_memory.ground.tables import has_han

_TABLE: Final = table("believing")
_PATTERNS: Final = _TABLE.patterns()
_EXACT: Final = _TABLE.patterns("exact", flags=0)
_WORDS: Final = _TABLE.sets("words")
_OF_THEY: Final = dict(_TABLE.texts("verbs of they"))


# Whether a statement is about the user or about the chat: "The user mentions that …" tells a fact, "asks …" none.


def without_report(content: str, *, wish: bool) -> str:
    """Return a statement without "The user mentions that"; "" if it tells only what is done in the chat.

    wish: it is meant as a standing wish, which may be asked for.
    """
    chinese = is_chinese(content)
    language = " Chinese" if chinese else ""
    if _PATTERNS[f"acts{language}"].match(content):
        return ""
    if _PATTERNS[f"asks{language}"].match(content):
        return content if wish else ""
    report = _PATTERNS[f"tells{language}"].match(content)
    if report is None:
        return content
    rest = report["rest"].strip()
    if _PATTERNS["question"].search(rest):
        return ""
    return _of_user_zh(rest) if chinese else _of_user(rest)


def _of_user(rest: str) -> str:
    """Return what a report tells with "The user" for its pronoun; "" if it tells a feeling of the moment."""
    preferred = _PATTERNS["preference"].match(rest)
    if preferred:
        return f"The user prefers {rest[preferred.end() :]}"
    if _PATTERNS["feeling"].match(rest):
        return ""
    they = _PATTERNS["they"].match(rest)
    if they:
        verb = _OF_THEY.get(they["verb"].lower(), they["verb"])
        plural = (
            rest.lower().startswith("they") and verb.lower() not in _WORDS["modal"] and not verb.endswith(("s", "ed"))
        )
        return f"The user {verb}{'s' if plural else ''}{rest[they.end() :]}"
    their = _PATTERNS["their"].match(rest)
    return f"The user's {rest[their.end() :]}" if their else rest[0].upper() + rest[1:]


def _of_user_zh(rest: str) -> str:
    if rest.startswith("用户"):
        return rest
    of_self, self_ = _PATTERNS["of self Chinese"].match(rest), _PATTERNS["self Chinese"].match(rest)
    if self_:
        return f"用户{rest[self_.end() :]}"
    return f"用户的{rest[of_self.end() :]}" if of_self else rest if rest[0].isascii() else f"用户{rest}"


# The share of a statement's words that one exchange or known memory must hold, and the share that the user must have
# said: what only the assistant claims has less. Chinese characters recur more often than words.
LEAST_SAID, LEAST_OWN = 0.35, 0.2
LEAST_SAID_HAN, LEAST_OWN_HAN = 0.5, 0.3
COMPARED: Final = 6  # letters of a word; they survive inflection ("organize", "organization")

Support = Literal["whole", "part", "none"]

_FORM_CHARACTERS: Final = frozenset(
    "用户的叫了是在有要会想和与及并也都不没将把被给对于以为从到这那其他她它们个很更最喜欢使去来我你"
)
_HAN: Final = re.compile(r"[\u3400-\u9fff]")
_BORDER: Final = re.compile(r"(?<=[\u3400-\u9fff])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[\u3400-\u9fff])")
_LATIN: Final = re.compile(r"[A-Za-zÀ-ÿ][A-Za-zÀ-ÿ0-9+#]*")
_NAME: Final = re.compile(
    r"(?<![A-Za-zÀ-ÿ0-9'’])(?:[A-ZÀ-Þ][A-Za-zÀ-ÿ0-9+#]*|[a-z]+\d\w*|\d+(?!(?:st|nd|rd|th|s|am|pm|k|m|w)\b)[A-Za-z]\w*)",
    re.ASCII,
)
# A capital is no sign of a name at the start of a sentence, of an item and of a heading, unless a verb follows.
_START: Final = re.compile(r"(?:\A|[.!?:;)…。：；\"“'‘(\[])\s*(?:\(?\d{1,2}[.)]\s*|[-*•]\s*)?\Z")
_HEADING: Final = re.compile(r"\A[^:.]{1,60}:(?=\s)")


_CODE: Final = re.compile(r"(?=[\w.:/-]*\d)[A-Za-z0-9][\w.:/-]*", re.ASCII)
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}\b)")
_PLAIN_NUMBER: Final = re.compile(r"\d[\d.,]*(?:k|m|st|nd|rd|th|s|am|pm)?[.,]?", re.IGNORECASE)


class Sources:
    """Texts that may support a statement, read once. pieces: exchanges, messages or memories, each with its day."""

    def __init__(self, pieces: Iterable[tuple[str, date]]) -> None:
        self._pieces = [(text, day) for text, day in pieces if text.strip()]
        self._text = "\n".join(text for text, _ in self._pieces)

    @cached_property
    def _words(self) -> list[frozenset[str]]:
        return [_words_of(text) for text, _ in self._pieces]

    @cached_property
    def _numbers(self) -> frozenset[float]:
        return numbers_of(self._text)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(_bare(match) for match in re.findall(r"[A-Za-zÀ-ÿ0-9+#]+", self._text))

    @cached_property
    def _spans(self) -> frozenset[Span]:
        spans = {span for text, day in self._pieces for span in relative_dates_of(text, day)}
        return frozenset(spans.union(*(meant for text, day in self._pieces for meant in dates_of(text, day))))

    def has_dates_and_numbers(self, content: str, day: date) -> bool:
        """Return whether all dates and numbers of a statement were said. day: the day of the statement."""
        dates = dates_of(content, day)
        if not all(any(known.tells(span) for known in self._spans for span in spans) for spans in dates):
            return False
        return numbers_stated(without_dates(content, day)) <= self._numbers

    def has_names(self, content: str) -> bool:
        """Return whether all names in a statement were said."""
        return all(name in self._text if has_han(name) else _bare(name) in self._names for name in _names_of(content))

    def has_what_is_named(self, text: str) -> bool:
        """Return whether all names, numbers and codes of a text were said: "heron-stg-01" in these very letters."""
        known, text = self._text.casefold(), _THOUSANDS.sub("", text)
        codes = [code for code in _CODE.findall(text) if code.casefold().strip(".-:/") not in known]
        stated = numbers_of(" ".join(codes)) | numbers_stated(_CODE.sub(" ", text))
        return all(map(_PLAIN_NUMBER.fullmatch, codes)) and stated <= self._numbers and self.has_names(text)

    def has_things(self, things: AbstractSet[str]) -> bool:
        """Return whether all of these kinds of things were named."""
        return things <= {thing for names in names_of_kind(self._text).values() for thing in names}

    def share(self, content: str, *, together: bool) -> float:
        """Return the share of a statement's words that were said, from 0 to 1. together: in one piece."""
        words = _words_of(content)
        shared = [words & piece for piece in self._words]
        most = max(map(len, shared), default=0) if together else len(frozenset().union(*shared))
        return most / len(words) if words else 1.0


def share_repeated(text: str, of: str) -> float:
    """Return the share of a text's words, from 0 to 1, that another one has, maybe inflected; persons do not count."""
    words, others = _single(text), _single(of)
    repeated = sum(any(each.startswith(word) or word.startswith(each) for each in others) for word in words)
    return repeated / len(words) if words else 1.0


def support(content: str, own: Sources, exchanges: Sources, day: date) -> Support:
    """Return how far a conversation supports a statement: "part" if the user has said some of it, and not the rest.

    own: what the user said or agreed to, and what is known of them. exchanges: that, and what the assistant said.
    day: the day of the statement.
    """
    plain = without_dates(content, day)
    least_said, least_own = (LEAST_SAID_HAN, LEAST_OWN_HAN) if _is_in_chinese(plain) else (LEAST_SAID, LEAST_OWN)
    if own.share(plain, together=False) < least_own:
        return "none"
    repeated = exchanges.share(plain, together=True) >= least_said
    whole = exchanges.has_dates_and_numbers(content, day) and exchanges.has_names(plain) and repeated
    return "whole" if whole else "part"


def support_across_languages(content: str, quote: Sources, exchanges: Sources, day: date) -> Support:
    """Return how far a conversation supports a statement in another language, of which no word can be compared.

    "whole" if it names something that the quotation names too (a name, a number, a date, a kind of thing), and nothing
    that was not said; else "part".
    """
    plain = without_dates(content, day)
    things = {thing for names in names_of_kind(content).values() for thing in names}
    named = bool(_names_of(plain) or numbers_stated(plain) or dates_of(content, day) or things)
    whole = (
        named
        and quote.has_dates_and_numbers(content, day)
        and quote.has_names(plain)
        and quote.has_things(things)
        and exchanges.has_dates_and_numbers(content, day)
    )
    return "whole" if whole else "part"


def _names_of(content: str) -> set[str]:
    content = _HEADING.sub(lambda heading: heading[0].lower(), content)
    names = {match["name"] for match in _EXACT["subject"].finditer(content)}
    names |= {match["person"] or match["place"] for match in _PATTERNS["name Chinese"].finditer(content)}
    chinese = _is_in_chinese(content)  # where any Latin word is a name or a term
    for match in (_LATIN if chinese else _NAME).finditer(content):
        if chinese or not match[0].isalpha() or not _START.search(content[: match.start()]):
            names.add(match[0])
    return {name for name in names if name.casefold() not in _WORDS["no names"]}


def _is_in_chinese(content: str) -> bool:
    return len(_HAN.findall(content)) > len(_LATIN.findall(content))


def _bare(name: str) -> str:
    return name.casefold().rstrip("s")


def _single(text: str) -> frozenset[str]:
    """Return the words of a text by their first letters, and its Han characters alone."""
    words = statement_words(_BORDER.sub(" ", text)) - _WORDS["no matter"] - _WORDS["of persons"]
    characters = frozenset(_HAN.findall(text)) - _FORM_CHARACTERS
    return frozenset(word[:COMPARED] for word in words if word.isascii()) | characters


def _words_of(text: str) -> frozenset[str]:
    """Return a text's words by their first letters, Han characters alone and in pairs, and kinds of things by name."""
    text = _BORDER.sub(" ", text)
    words = {
        word[:COMPARED] for word in statement_words(text) if word not in _WORDS["no matter"] and not word[0].isdigit()
    }
    characters = frozenset(_HAN.findall(text)) - _FORM_CHARACTERS
    return frozenset(words | characters | {f"={thing}" for names in names_of_kind(text).values() for thing in names})
