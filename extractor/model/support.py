"""Whether a conversation supports a statement: its dates, numbers and names exactly, and enough of its other words.

Numbers are compared by value ("twelve", 十二, "12"), names without case, dates as spans of days, so that "tomorrow"
supports the date of the day after. Words are compared by their stems, Chinese ones by pairs of characters.
"""

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from datetime import date
from functools import cached_property
from typing import Final, Literal

from extractor.language.dates import Span, dates_of, relative_dates_of, without_dates
from extractor.language.numbers import numbers_of, numbers_stated
from extractor.language.script import has_han
from extractor.language.tables import words_of
from extractor.language.vocabulary import names_of_kind, statement_words

__all__ = ["Said", "Support", "expiry_of", "share_repeated", "support", "support_across_languages"]

# The share of a statement's words that one exchange or known memory must hold, and the share that the user must have
# said: what only the assistant claims has less. Chinese characters recur more often than words.
LEAST_SAID, LEAST_OWN = 0.35, 0.2
LEAST_SAID_HAN, LEAST_OWN_HAN = 0.5, 0.3
COMPARED: Final = 6  # letters of a word; they survive inflection ("organize", "organization")

Support = Literal["whole", "part", "none"]

_NO_MATTER: Final = words_of("user users 用户")
_OF_PERSONS: Final = words_of("their they them theirs his her hers him she he my our your themselves")
_SAFE_NAMES: Final = words_of(
    """
    the user user's i a an this that these those their his her its he she they it on in at by from for to as when if
    since until and or but not with after before during while both all each every some most many monday tuesday
    wednesday thursday friday saturday sunday january february march april may june july august september october
    november december ai assistant am pm
    """
)
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
_SUBJECT: Final = re.compile(
    r"(?:\A|(?<=[.!?] ))(?P<name>(?!\w+(?:ed|ing|ent|al|ary|ive|[st]ion|ment|able|ity)\b)[A-ZÀ-Þ][a-zà-ÿ]+)"
    r"(?:'s|(?: and \w+)? (?:is|was|has|had|will|can|and|\w+(?:s|ed|ly)|got|went|found|took|made|felt|gave|bought|met"
    r"|said|told|thought|plans? to))\b"
)
# Chinese has no capitals: who is joined, named or addressed, and where somebody lives or goes.
_HAN_NAME: Final = re.compile(
    r"(?:[和跟与叫给向找]|名字是)(?P<person>[王李张刘陈杨黄赵周吴徐孙胡朱林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏"
    r"薛叶阎余潘杜戴夏钟汪田任姜范石姚谭廖邹熊陆郝孔白崔康毛邱秦史顾侯邵孟龙段钱汤尹黎易武乔贺赖龚严][\u4e00-\u9fff])"
    r"|(?:住在|搬到|搬去|来自|出生于|前往|定居)(?:了|在)?(?P<place>[\u4e00-\u9fff]{2})"
)

_ENDS: Final = re.compile(
    r"\b(?:trip|flights?|fl(?:y|ies|ying)|travel\w*|visit\w*|stay(?:s|ing)|deadline|due|until|by (?:the )?\d"
    r"|appointment|interview|exam|conference|holidays?|vacation|hand over|renew)\b"
    r"|出差|航班|飞往|旅行|旅游|考试|面试|截止|预约|复查|之前|前要|住几天",
    re.IGNORECASE,
)

_CODE: Final = re.compile(r"(?=[\w.:/-]*\d)[A-Za-z0-9][\w.:/-]*", re.ASCII)
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}\b)")
_PLAIN_NUMBER: Final = re.compile(r"\d[\d.,]*(?:k|m|st|nd|rd|th|s|am|pm)?[.,]?", re.IGNORECASE)


class Said:
    """What was said, read once. pieces: exchanges, messages or memories, each with its day."""

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
        if not all(any(said.tells(span) for said in self._spans for span in spans) for spans in dates):
            return False
        return numbers_stated(without_dates(content, day)) <= self._numbers

    def has_names(self, content: str) -> bool:
        """Return whether all names in a statement were said."""
        return all(name in self._text if has_han(name) else _bare(name) in self._names for name in _names_of(content))

    def has_what_is_named(self, text: str) -> bool:
        """Return whether all names, numbers and codes of a text were said: "heron-stg-01" in these very letters."""
        said, text = self._text.casefold(), _THOUSANDS.sub("", text)
        codes = [code for code in _CODE.findall(text) if code.casefold().strip(".-:/") not in said]
        stated = numbers_of(" ".join(codes)) | numbers_stated(_CODE.sub(" ", text))
        return all(map(_PLAIN_NUMBER.fullmatch, codes)) and stated <= self._numbers and self.has_names(text)

    def has_things(self, things: AbstractSet[str]) -> bool:
        """Return whether all of these kinds of things were named."""
        return things <= {thing for names in names_of_kind(self._text).values() for thing in names}

    def share(self, content: str, *, together: bool) -> float:
        """Return the share of a statement's words that were said, from 0 to 1. together: in one piece."""
        words = _words_of(content)
        held = [words & piece for piece in self._words]
        most = max(map(len, held), default=0) if together else len(frozenset().union(*held))
        return most / len(words) if words else 1.0


def share_repeated(text: str, of: str) -> float:
    """Return the share of a text's words, from 0 to 1, that another one has, maybe inflected; persons do not count."""
    words, others = _single(text), _single(of)
    repeated = sum(any(each.startswith(word) or word.startswith(each) for each in others) for word in words)
    return repeated / len(words) if words else 1.0


def support(content: str, own: Said, exchanges: Said, day: date) -> Support:
    """Return how far a conversation supports a statement: "part" if the user has said some of it, and not the rest.

    own: what the user said or agreed to, and what is known of them. exchanges: that, and what the assistant said.
    day: the day of the statement.
    """
    plain = without_dates(content, day)
    least_said, least_own = (LEAST_SAID_HAN, LEAST_OWN_HAN) if _is_in_chinese(plain) else (LEAST_SAID, LEAST_OWN)
    if own.share(plain, together=False) < least_own:
        return "none"
    whole = (
        exchanges.has_dates_and_numbers(content, day)
        and exchanges.has_names(plain)
        and exchanges.share(plain, together=True) >= least_said
    )
    return "whole" if whole else "part"


def support_across_languages(content: str, quote: Said, exchanges: Said, day: date) -> Support:
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


def expiry_of(content: str, today: date) -> date | None:
    """Return the last day on which a statement is of use: the last date of a trip or a deadline that is to come."""
    if not _ENDS.search(content):
        return None
    last = max((span.last for spans in dates_of(content, today) for span in spans), default=None)
    return last if last and last >= today else None


def _names_of(content: str) -> set[str]:
    content = _HEADING.sub(lambda heading: heading[0].lower(), content)
    found = {match["name"] for match in _SUBJECT.finditer(content)}
    found |= {match["person"] or match["place"] for match in _HAN_NAME.finditer(content)}
    chinese = _is_in_chinese(content)  # where any Latin word is a name or a term
    for match in (_LATIN if chinese else _NAME).finditer(content):
        if chinese or not match[0].isalpha() or not _START.search(content[: match.start()]):
            found.add(match[0])
    return {name for name in found if name.casefold() not in _SAFE_NAMES}


def _is_in_chinese(content: str) -> bool:
    return len(_HAN.findall(content)) > len(_LATIN.findall(content))


def _bare(name: str) -> str:
    return name.casefold().rstrip("s")


def _single(text: str) -> frozenset[str]:
    """Return the words of a text by their first letters, and its Han characters alone."""
    words = statement_words(_BORDER.sub(" ", text)) - _NO_MATTER - _OF_PERSONS
    characters = frozenset(_HAN.findall(text)) - _FORM_CHARACTERS
    return frozenset(word[:COMPARED] for word in words if word.isascii()) | characters


def _words_of(text: str) -> frozenset[str]:
    """Return a text's words by their first letters, Han characters alone and in pairs, and kinds of things by name."""
    text = _BORDER.sub(" ", text)
    words = {word[:COMPARED] for word in statement_words(text) if word not in _NO_MATTER and not word[0].isdigit()}
    characters = frozenset(_HAN.findall(text)) - _FORM_CHARACTERS
    return frozenset(words | characters | {f"={thing}" for names in names_of_kind(text).values() for thing in names})
