"""The outline of a session: what was asked, what was done, what is open. By rules, in two languages."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from extractor.gate import asks
from extractor.language.kind import is_greeting, is_small_talk
from extractor.language.sentences import Sentence, sentences
from extractor.language.vocabulary import statement_words
from extractor.rules.borrowed import own_words
from extractor.tables import table
from gateway_memory.ground.dates import mentions
from gateway_memory.ground.tables import has_han

_PATTERNS: Final = table("exchanges").patterns()


_CODE_MARK: Final = re.compile(r"[{}()\[\]<>=|\\$_*+&]")
_CODE_SHARE: Final = 0.1
_FIRST: Final = 20
_NEWEST: Final = 40
"""The exchanges at the beginning and at the end that are read; a record has no room for more."""
_OF_AN_ANSWER: Final = 3
_LAST_TOLD: Final = 2
"""The first sentences of an answer, and the last ones of the user, that a record has room for."""
_ANY_DAY: Final = date(2000, 1, 3)
"""Whether a text names a time to come does not depend on its day. On a Monday no day of the week is past."""


@dataclass(slots=True)
class Exchange:
    """What the user said, what the assistant answered before the user spoke again, and whether it used a tool."""

    user: str = ""
    answers: list[str] = field(default_factory=list)
    acted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """What turns show of their session. topic: "" if nothing was said that is one.

    asked: the messages that ask something. done: what the assistant says of what its tools did. told: the last things
    that the user told. unanswered: the last message, where it asks something and nobody answered. todos: what was
    promised, or asked and not done.
    """

    topic: str = ""
    asked: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    unanswered: str = ""
    todos: tuple[str, ...] = ()


def exchanges_of(messages: Iterable[tuple[bool, str]]) -> list[Exchange]:
    """Return the exchanges of messages, oldest first.

    messages: whether the user wrote it, and the text; an empty one of the assistant stands for the use of a tool.
    """
    exchanges: list[Exchange] = []
    for by_user, text in messages:
        if by_user or not exchanges:
            exchanges.append(Exchange())
        if by_user:
            exchanges[-1].user = text
        elif text:
            exchanges[-1].answers.append(text)
        else:
            exchanges[-1].acted = True
    return exchanges


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """What the sentences of an exchange are; none is two things.

    told: what the user said beside promises; asks: with a request, for an answer or for a deed. answer: what the
    assistant said last, beside promises. promises: of both, and what the answer says is not done. asks_back: the answer
    ends with a question.
    """

    told: tuple[str, ...]
    asks: bool
    for_a_deed: bool
    promises: tuple[str, ...]
    answer: str
    asks_back: bool
    silent: bool
    acted: bool

    @property
    def message(self) -> str:
        """What the user said beside promises."""
        return _joined(self.told)

    @property
    def is_put_off(self) -> bool:
        """Whether the assistant said no more to a request than that it would do it."""
        return self.for_a_deed and not (self.answer or self.silent or self.asks_back or self.acted)

    def is_about(self, request: "_Read") -> bool:
        """Whether this later exchange answers a request: it has an answer, and names what the request does."""
        said = statement_words(f"{self.message} {self.answer}")
        return bool(self.answer and said & statement_words(request.message))


def outline_of(exchanges: Sequence[Exchange], telling: Sequence[str] = ()) -> Outline:
    """Return the outline of a session. Pure; greetings, thanks and what is to be remembered are left out.

    telling: the user's sentences that tell something by themselves, oldest first.
    """
    chosen = (*exchanges[:_FIRST], *exchanges[_FIRST:][-_NEWEST:])
    read: list[_Read] = []
    for exchange in chosen:
        begun = any(each.for_a_deed for each in read)
        read.append(_read(exchange, begun=begun, last=len(read) + 1 == len(chosen)))
    put_off = [
        each
        for number, each in enumerate(read, 1)
        if each.is_put_off and not any(later.is_about(each) for later in read[number:])
    ]
    unanswered = [each for each in read[-1:] if each.asks and each.silent]
    settled = [each for each in read if each not in (*put_off, *unanswered)]
    tell = frozenset(map(_without_opener, telling))
    told = [text for each in settled for text in each.told if text in tell and not _PATTERNS["requests"].search(text)]
    return Outline(
        topic=_topic(read, tell),
        asked=tuple(each.message for each in settled if each.asks),
        done=tuple(each.answer for each in read if each.acted and each.answer and (each.for_a_deed or not each.asks)),
        told=tuple(told[-_LAST_TOLD:]),
        unanswered="".join(each.message for each in unanswered),
        todos=(
            *(promise for each in read for promise in each.promises),
            *(each.message for each in put_off if not each.promises),
        ),
    )


def _topic(read: Sequence[_Read], tell: frozenset[str]) -> str:
    """Return what was first told, or the message that first asks for a deed; else what was said first."""
    for each in read:
        if each.for_a_deed:
            return each.message
        for text in each.told:
            if text in tell:
                return text
    return next((each.message for each in read if each.message), "")


def _read(exchange: Exchange, *, begun: bool, last: bool) -> _Read:
    """Sort the sentences of an exchange.

    begun: a deed was asked for before. last: what is not done yet by now, stays so.
    """
    mine = own_words(exchange.user)  # not a letter that is to be mended: the reply is that letter, too
    own = _telling(exchange.user)
    promises = [each for each in own if each.text in mine and _is_promise(each, by_user=True)]
    rest = [each for each in own if each not in promises and statement_words(each.text)]
    for_a_deed = any(_PATTERNS["requests"].search(_without_opener(each.text)) for each in rest)
    said = _telling(exchange.answers[-1]) if exchange.answers else []
    asks_back = bool(said) and said[-1].question
    worked = last and (begun or for_a_deed or exchange.acted)
    not_done = [each for each in said if worked and not each.question and _PATTERNS["not yet"].search(each.text)]
    resolved = [each for each in said if mine.strip() and _resolves(each)]
    to_come = [each for each in resolved if each is said[-1] and _is_promise(each, by_user=False)]
    return _Read(
        told=tuple(_text(each) for each in rest),
        asks=for_a_deed or any(map(asks, rest)),
        for_a_deed=for_a_deed,
        promises=tuple(_text(each) for each in (*promises, *to_come, *not_done)),
        answer=_answer([each for each in said if not each.question and each not in (*not_done, *resolved)]),
        asks_back=asks_back,
        silent=not (exchange.answers or exchange.acted),
        acted=exchange.acted,
    )


def _telling(text: str) -> list[Sentence]:
    """Return the sentences that say something: no greetings, no code, nothing that is only to be remembered."""
    return [
        each
        for each in sentences(text)
        if not (_is_empty(_without_opener(each.text)) or _PATTERNS["to remember"].search(each.text))
        and len(_CODE_MARK.findall(each.text)) <= _CODE_SHARE * len(each.text)
    ]


def _is_empty(text: str) -> bool:
    """Return whether a text only greets, thanks, agrees or takes leave."""
    if is_greeting(text) or is_small_talk(text):
        return True
    return all(_PATTERNS["filler"].fullmatch(part) for part in re.split(r"[,，]\s*", text))


def _resolves(sentence: Sentence) -> list[str]:
    """Return the clauses that say what the speaker will do: in the first person, of the future; none if others ask."""
    clauses = [] if sentence.question else [clause.plain for clause in sentence.clauses]
    found = [clause for clause in clauses if _PATTERNS["resolves"].match(clause) and not _is_empty(clause)]
    return [] if any(_PATTERNS["requests"].search(clause) for clause in clauses if clause not in found) else found


def _is_promise(sentence: Sentence, *, by_user: bool) -> bool:
    """Return whether a sentence promises something beyond the talk: for later or, by the user, to the assistant."""
    clauses = _resolves(sentence)
    return any(_is_ahead(clause) or (by_user and _PATTERNS["owes"].search(clause)) for clause in clauses)


def _is_ahead(text: str) -> bool:
    """Return whether a text of the future names a time after today: today is the talk itself."""
    spans = (span for mention in mentions(text, _ANY_DAY) for span in mention.spans)
    return any(span.last > _ANY_DAY for span in spans) or bool(_PATTERNS["later"].search(text))


def distinct(texts: Iterable[str]) -> list[str]:
    """Return the texts, each in one line, without those that another one contains, by letters and digits."""
    lines = [" ".join(text.split()) for text in texts]
    said = list(map(_letters, lines))
    return [
        line
        for number, (line, one) in enumerate(zip(lines, said, strict=True))
        if one and one not in said[:number] and not any(one in other != one for other in said)
    ]


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _answer(said: Sequence[Sentence]) -> str:
    """Return the first sentences of an answer; "" where it only asks for something."""
    texts = [_text(each) for each in said]
    if all(_PATTERNS["please"].match(text) for text in texts):
        return ""
    return _closed(_joined(texts[:_OF_AN_ANSWER]))


def _joined(parts: Sequence[str]) -> str:
    asks = not parts or parts[0].endswith(("?", "？"))
    return (" " if asks else "。" if has_han("".join(parts)) else ". ").join(parts)


def _closed(text: str) -> str:
    return text if text.endswith(('"', "”", ".")) else f"{text}{'。' if has_han(text) else '.'}"


def _ended(sentence: Sentence) -> str:
    mark = "？" if has_han(sentence.text) else "?"
    return f"{sentence.text}{mark}" if sentence.question else sentence.text


def _text(sentence: Sentence) -> str:
    return _without_opener(_ended(sentence))


def _without_opener(text: str) -> str:
    """Return a sentence without thanks, agreement and the like in front of it."""
    while opener := _PATTERNS["opener"].match(text):
        if not _is_empty(opener["head"].strip()):
            break
        text = text[opener.end() :]
    return text
