"""The outline of a session: what was asked, what was done, what is open. By rules, in two languages."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

from extractor.language.kind import is_greeting, is_small_talk
from extractor.language.sentences import Sentence, sentences
from extractor.tables import table
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
_FIRST: Final = 20
_NEWEST: Final = 40
"""The exchanges at the beginning and at the end that are read; a record has no room for more."""
_FEWEST: Final = 8
"""The width of a sentence of an answer that says something, unless it is the only one."""
_ENOUGH: Final = 30
_LEAST_TOPIC: Final = 14


@dataclass(slots=True)
class Exchange:
    """What the user said, and what the assistant answered before the user spoke again."""

    user: str = ""
    answers: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """What turns show of their session. topic: "" if nothing was said that is one. ended: where the talk ended.

    wanted: what was asked for. done: what is reported as done, or was answered. unanswered: a request, or a question to
    the user, that nothing answers. later: what was put off, or is not done yet.
    """

    topic: str = ""
    wanted: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    ended: str = ""
    unanswered: tuple[str, ...] = ()
    later: tuple[str, ...] = ()


def exchanges_of(messages: Iterable[tuple[bool, str]]) -> list[Exchange]:
    """Return the exchanges of messages, oldest first. messages: whether the user wrote it, and the text."""
    exchanges: list[Exchange] = []
    for by_user, text in messages:
        if by_user or not exchanges:
            exchanges.append(Exchange())
        if by_user:
            exchanges[-1].user = text
        else:
            exchanges[-1].answers.append(text)
    return exchanges


def outline_of(exchanges: Sequence[Exchange]) -> Outline:
    """Return the outline of a session. Pure; greetings, thanks and what is to be remembered are left out."""
    wanted: list[str] = []
    subjects: list[str] = []
    topics: list[str] = []
    done: list[str] = []
    later: list[str] = []
    ended = offer = ""
    for exchange in (*exchanges[:_FIRST], *exchanges[_FIRST:][-_NEWEST:]):
        request = [each for each in _telling(exchange.user) if not _PATTERNS["to remember"].search(each.text)]
        asks = any(each.question or _PATTERNS["asks"].search(_without_opener(each.text)) for each in request)
        message = _joined([_text(each) for each in request])
        if asks:
            wanted.append(message)
        if asks or (message and not topics):
            subjects.append(message)
            longest = _text(max(request, key=lambda each: _width(each.text)))
            topics.append(_PATTERNS["please"].sub("", longest, count=1).strip() or longest)
        put_off = [_without_opener(each.text) for each in request if _is_later(each)]
        later += put_off
        reports = [each for each in request if _reports(each, "user reports")]
        reports += [each for answer in exchange.answers for each in _telling(answer) if _reports(each, "reports")]
        essence = _essence(exchange.answers[-1:])
        if reports:
            done += [_closed(_without_opener(each.text)) for each in reports]
        elif essence and (asks or (offer and not message)):  # without a message, the user has only agreed
            done.append(f"{_within(topics[-1] if asks else offer, _ASK_LENGTH)} → {essence}")
        offer = _question(exchange)
        if message:
            ended = "" if reports or asks or put_off else " → ".join(filter(None, (message, essence)))
    return Outline(
        topic=subjects[0] if len(subjects) == 1 else _topic(topics),
        wanted=tuple(wanted),
        done=tuple(done),
        ended=ended,
        unanswered=tuple(filter(None, map(_unanswered, exchanges[-1:]))),
        later=(*later, *(text for last in exchanges[-1:] for text in _not_yet(last))),
    )


def _telling(text: str) -> list[Sentence]:
    """Return the sentences that say something: no greetings, no code."""
    return [
        each
        for each in sentences(text)
        if not _is_empty(_without_opener(each.text))
        and len(_CODE_MARK.findall(each.text)) <= _CODE_SHARE * len(each.text)
    ]


def _is_empty(text: str) -> bool:
    return is_greeting(text) or is_small_talk(text) or bool(_PATTERNS["filler"].fullmatch(text))


def _reports(sentence: Sentence, pattern: str) -> bool:
    """Return whether a sentence says that something was done."""
    plain = sentence.plain
    return not (sentence.question or _PATTERNS["not done"].search(plain)) and bool(_PATTERNS[pattern].search(plain))


def _is_later(sentence: Sentence) -> bool:
    if sentence.question or _PATTERNS["set aside"].search(sentence.text):
        return False
    return any(_PATTERNS[name].search(sentence.text) for name in ("later", "not yet"))


def _not_yet(last: Exchange) -> list[str]:
    """Return what the last answer says is not done yet, unless the user said so."""
    if any(map(_is_later, _telling(last.user))):
        return []
    answer = [each for text in last.answers[-1:] for each in _telling(text)]
    return [each.text for each in answer if _PATTERNS["not yet"].search(each.text) and not each.question]


def _unanswered(last: Exchange) -> str:
    """Return the user's last request if nothing answers it, or the question with which the last answer ends."""
    if last.answers:
        return _question(last)
    request = _telling(last.user)
    asks = any(each.question or _PATTERNS["asks"].search(each.text) for each in request)
    return _joined([_text(each) for each in request]) if asks else ""


def _question(exchange: Exchange) -> str:
    """Return the question with which an exchange ends, unless it only offers more help."""
    closing = [each for answer in exchange.answers[-1:] for each in sentences(answer)[-1:] if each.question]
    return next((_ended(each) for each in closing if not _PATTERNS["offers"].search(each.text)), "")


def _topic(requests: Sequence[str]) -> str:
    """Return what several requests were about, by the beginnings of the first ones."""
    parts: list[str] = []
    room = _TOPIC_LENGTH
    long_enough = [request for request in requests if _width(request) >= _LEAST_TOPIC] or requests
    for part in dict.fromkeys(_within(request, _ASK_LENGTH) for request in long_enough):
        if len(part) <= room:
            parts.append(part)
            room -= len(part) + 2
    return ("；" if has_han("".join(parts)) else "; ").join(parts)


def _essence(answers: Sequence[str]) -> str:
    """Return the first sentences of an answer that say something."""
    answer = [each for text in answers for each in _telling(text)]
    parts: list[str] = []
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
