"""The outline of a session: what was asked, what was done, what is open. By rules, in two languages."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import accumulate
from typing import Final

from extractor.language.kind import is_greeting, is_small_talk
from extractor.language.sentences import Sentence, sentences
from extractor.language.vocabulary import statement_words
from extractor.rules.borrowed import own_words
from extractor.tables import table
from gateway_memory.ground.dates import mentions
from gateway_memory.ground.tables import has_han

_PATTERNS: Final = table("exchanges").patterns()


_ASK_LENGTH: Final = 40
_GIST_LENGTH: Final = 90
_TOPIC_LENGTH: Final = 100
"""Characters of a request in a line of what was done, of the essence of a reply, and of a topic."""
_WIDE: Final = 2
"""A Han character counts as so many."""

_CODE_MARK: Final = re.compile(r"[{}()\[\]<>=|\\$_*+&]")
_CODE_SHARE: Final = 0.1
_JOINED: Final = re.compile(r"\s|[\u3400-\u9fff]{2}")
"""In words that say where a talk stood: one word alone does not."""
_FIRST: Final = 20
_NEWEST: Final = 40
"""The exchanges at the beginning and at the end that are read; a record has no room for more."""
_FEWEST: Final = 8
"""The width of a sentence of an answer that says something, unless it is the only one."""
_ENOUGH: Final = 30
_LEAST_TOPIC: Final = 14
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
    """What turns show of their session. topic: "" if nothing was said that is one. ended: where the talk ended.

    wanted: what was asked for, unless it stands in the topic or is answered. done: what is reported as done, or was
    answered. unanswered: a request, or a question to the user, at the end. todos: what was promised, or asked and not
    done.
    """

    topic: str = ""
    wanted: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    ended: str = ""
    unanswered: tuple[str, ...] = ()
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

    message: what the user said beside promises and reports; asks: with a request, for an answer or for a deed. subject:
    what it is about. question: the one with which the answer ends. essence: what else it says. promises: of both, and
    what the answer says is not done.
    """

    message: str
    asks: bool
    for_a_deed: bool
    subject: str
    reports: tuple[str, ...]
    promises: tuple[str, ...]
    question: str
    essence: str
    silent: bool
    acted: bool

    @property
    def is_left(self) -> bool:
        """Whether a request got neither an answer nor a report."""
        return self.asks and not (self.reports or self.essence)

    @property
    def is_put_off(self) -> bool:
        """Whether the assistant said no more to a request than that it would do it."""
        return self.is_left and self.for_a_deed and not (self.silent or self.question or self.acted)


def outline_of(exchanges: Sequence[Exchange]) -> Outline:
    """Return the outline of a session. Pure; greetings, thanks and what is to be remembered are left out."""
    chosen = (*exchanges[:_FIRST], *exchanges[_FIRST:][-_NEWEST:])
    read: list[_Read] = []
    for exchange in chosen:
        begun = any(each.for_a_deed for each in read)
        read.append(_read(exchange, begun=begun, last=len(read) + 1 == len(chosen)))
    unanswered = next((each.message for each in read[-1:] if each.is_left and each.silent), "")
    reported = max((number for number, each in enumerate(read) if each.reports), default=-1)
    put_off = [each for each in read[reported + 1 :] if each.is_put_off]
    topic = _topic([each for each in read if each not in put_off and each.message != unanswered]) or _topic(read)
    wanted: list[str] = []
    done: list[str] = []
    promised = [promise for each in read for promise in each.promises]
    ended = offer = ""
    pending: str | None = None  # a request that was answered with a question
    for each in read:
        request = pending
        if each.asks:
            request = "" if _is_named(each, topic) else each.message
        if each.reports:
            done += each.reports
            wanted.append(request or "")
        elif each.essence and (request is not None or (offer and not each.message)):  # who adds nothing has agreed
            before = _within(offer if request is None else request, _ASK_LENGTH)
            done.append(f"{before} → {each.essence}" if before else each.essence)
        elif each.is_left and each.silent:
            wanted.append(request or "")
        offer = each.question
        pending = request if offer and not (each.essence or each.reports) else None
        if each.message or each.promises:
            says_more = each.asks or each.reports or each.promises
            ended = "" if says_more or not _JOINED.search(each.message) else each.message
    return Outline(
        topic=topic,
        wanted=tuple(text for text in wanted if text and text != unanswered),
        done=tuple(done),
        ended=ended,
        unanswered=tuple(filter(None, (unanswered, offer))),
        todos=(*promised, *(each.message for each in put_off if not each.promises)),
    )


def _topic(read: Sequence[_Read]) -> str:
    """Return what the requests are about, and what was said first, by the beginnings of the first ones."""
    told = [each for each in read if each.message]
    told = [each for each in told if each.asks or each is told[0]]
    if len(told) == 1:
        return told[0].message
    subjects = [each.subject for each in told]
    parts: list[str] = []
    room = _TOPIC_LENGTH
    long_enough = [subject for subject in subjects if _width(subject) >= _LEAST_TOPIC] or subjects
    for part in distinct(_within(subject, _ASK_LENGTH) for subject in long_enough):
        if len(part) <= room:
            parts.append(part)
            room -= len(part) + 2
    return ("；" if has_han("".join(parts)) else "; ").join(parts)


def _is_named(request: _Read, topic: str) -> bool:
    """Return whether a topic has a request, or its beginning."""
    return request.message == topic or _letters(_within(request.subject, _ASK_LENGTH)) in _letters(topic)


def _read(exchange: Exchange, *, begun: bool, last: bool) -> _Read:
    """Sort the sentences of an exchange.

    begun: a deed was asked for before, of which the user may report. last: what is not done yet by now, stays so.
    """
    mine = own_words(exchange.user)  # not a letter that is to be mended: the reply is that letter, too
    own = _telling(exchange.user)
    promises = [each for each in own if each.text in mine and _is_promise(each, by_user=True)]
    reports = [each for each in own if begun and each not in promises and _reports(each, "user reports")]
    rest = [each for each in own if each not in promises and each not in reports and statement_words(each.text)]
    for_a_deed = any(_PATTERNS["requests"].search(_without_opener(each.text)) for each in rest)
    replies = [each for answer in exchange.answers for each in _telling(answer)]
    reports += [each for each in replies if _reports(each, "reports")]
    closing = [each for each in replies[-1:] if each.question]
    said = _telling(exchange.answers[-1]) if exchange.answers else []
    said = [each for each in said if each not in closing]
    worked = last and (begun or for_a_deed or exchange.acted)
    not_done = [each for each in said if worked and not each.question and _PATTERNS["not yet"].search(each.text)]
    resolved = [each for each in said if mine.strip() and _resolves(each)]
    to_come = [each for each in resolved if each is said[-1] and _is_promise(each, by_user=False)]
    texts = [_text(each) for each in rest]
    longest = max(texts, key=_width, default="")
    return _Read(
        message=_joined(texts),
        asks=any(each.question or _asks(_without_opener(each.text)) for each in rest),
        for_a_deed=for_a_deed,
        subject=_PATTERNS["please"].sub("", longest, count=1).strip() or longest,
        reports=tuple(_closed(_without_opener(each.text)) for each in reports),
        promises=tuple(_text(each) for each in (*promises, *to_come, *not_done)),
        question=next((_ended(each) for each in closing if not _PATTERNS["offers"].search(each.text)), ""),
        essence=_essence([each for each in said if each not in (*not_done, *resolved)]),
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


def _reports(sentence: Sentence, pattern: str) -> bool:
    """Return whether a sentence says that something was done."""
    plain = sentence.plain
    return not (sentence.question or _PATTERNS["not done"].search(plain)) and bool(_PATTERNS[pattern].search(plain))


def _asks(text: str) -> bool:
    return any(_PATTERNS[name].search(text) for name in ("requests", "wonders"))


def _resolves(sentence: Sentence) -> list[str]:
    """Return the clauses that say what the speaker will do: in the first person, of the future; none if others ask."""
    clauses = [] if sentence.question else [clause.plain for clause in sentence.clauses]
    found = [clause for clause in clauses if _PATTERNS["resolves"].match(clause) and not _is_empty(clause)]
    return [] if any(_asks(clause) for clause in clauses if clause not in found) else found


def _is_promise(sentence: Sentence, *, by_user: bool) -> bool:
    """Return whether a sentence promises something beyond the talk: for later or, by the user, to the assistant."""
    clauses = _resolves(sentence)
    return any(_is_ahead(clause) or (by_user and _PATTERNS["owes"].search(clause)) for clause in clauses)


def _is_ahead(text: str) -> bool:
    """Return whether a text of the future names a time."""
    spans = (span for mention in mentions(text, _ANY_DAY) for span in mention.spans)
    return any(span.last >= _ANY_DAY for span in spans) or bool(_PATTERNS["later"].search(text))


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


def _essence(answer: Sequence[Sentence]) -> str:
    """Return the first sentences of an answer that say something; "" where it only asks."""
    parts: list[str] = []
    if all(each.question or _PATTERNS["please"].match(_without_opener(each.text)) for each in answer):
        return ""
    for sentence in [each for each in answer if _width(each.text) >= _FEWEST] or answer:
        width = _width(" ".join(parts))
        if width >= _ENOUGH and width + _width(sentence.text) > _GIST_LENGTH:
            break
        parts.append(_text(sentence))
    return _within(_joined(parts), 2 * _GIST_LENGTH)


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
        if not _is_empty(opener["head"].strip()) or _PATTERNS["reports"].match(text):
            break
        text = text[opener.end() :]
    return text


def _within(text: str, width: int) -> str:
    """Return the beginning of a text, cut after a clause or a word where one ends late enough."""
    if _width(text) <= width:
        return text
    widths = accumulate(_WIDE if has_han(character) else 1 for character in text)
    end = next(position for position, taken in enumerate(widths) if taken >= width)
    boundary = max((match.end() for match in re.finditer(r"[，,、；;。：:]|\s", text[:end])), default=0)
    return f"{text[: boundary if boundary * 2 > end else end].rstrip(' ，,、；;。：:')}…"


def _width(text: str) -> int:
    return sum(_WIDE if has_han(character) else 1 for character in text)
