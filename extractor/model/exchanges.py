"""What the turns of a session tell of it: what was asked, what was done, what is open. By rules, in two languages."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from extractor.language.kind import has_han, is_greeting, is_small_talk
from extractor.language.sentences import Sentence, sentences
from extractor.tables.reader import table

__all__ = ["Exchange", "Told", "exchanges_of", "told_by"]

_PATTERNS: Final = table("exchanges").patterns()


# The phrases by which people ask, report and put off, in English and Chinese.


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
class Told:
    """What turns tell of their session. topic: "" if nothing was said that is one. ended: where the talk ended.

    wanted: what was asked for. done: what is reported as done, or was answered. unanswered: a request, or a question to
    the user, that nothing answers. later: what was put off, or is not done yet.
    """

    topic: str = ""
    wanted: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    ended: str = ""
    unanswered: tuple[str, ...] = ()
    later: tuple[str, ...] = ()


def exchanges_of(said: Iterable[tuple[bool, str]]) -> list[Exchange]:
    """Return the exchanges of what was said, oldest first. said: whether the user said it, and the text."""
    found: list[Exchange] = []
    for by_user, text in said:
        if by_user or not found:
            found.append(Exchange())
        if by_user:
            found[-1].user = text
        else:
            found[-1].answers.append(text)
    return found


def told_by(exchanges: Sequence[Exchange]) -> Told:
    """Return what turns tell of their session. Pure; greetings, thanks and what is to be remembered are left out."""
    wanted: list[str] = []
    subjects: list[str] = []
    topics: list[str] = []
    done: list[str] = []
    later: list[str] = []
    ended = offer = ""
    for exchange in (*exchanges[:_FIRST], *exchanges[_FIRST:][-_NEWEST:]):
        said = [each for each in _plain(exchange.user) if not _PATTERNS["to remember"].search(each.text)]
        asked = any(each.question or _PATTERNS["asks"].search(_without_opener(each.text)) for each in said)
        message = _joined(said)
        if asked:
            wanted.append(message)
        if asked or (message and not topics):
            subjects.append(message)
            topics.append(_bare(max(said, key=lambda each: _width(each.text))))
        put_off = [_without_opener(each.text) for each in said if _is_later(each)]
        later += put_off
        reported = [each for each in said if _is_report(each, _PATTERNS["user reports"])]
        reported += [
            each for answer in exchange.answers for each in _plain(answer) if _is_report(each, _PATTERNS["reports"])
        ]
        essence = _essence(exchange.answers[-1:])
        if reported:
            done += [_closed(_without_opener(each.text)) for each in reported]
        elif asked and essence:
            done.append(f"{_within(topics[-1], _ASK_LENGTH)} → {essence}")
        elif offer and essence and not message:  # the user has only agreed
            done.append(f"{_within(offer, _ASK_LENGTH)} → {essence}")
        offer = next(_questions(exchange), "")
        if message:
            ended = "" if reported or asked or put_off else " → ".join(filter(None, (message, essence)))
    return Told(
        topic=subjects[0] if len(subjects) == 1 else _topic(topics),
        wanted=tuple(wanted),
        done=tuple(done),
        ended=ended,
        unanswered=tuple(_unanswered(exchanges)),
        later=(*later, *(_not_yet(exchanges[-1]) if exchanges else [])),
    )


def _plain(text: str) -> list[Sentence]:
    """Return the sentences that say something."""
    return [each for each in sentences(text) if not (_is_empty(_without_opener(each.text)) or _is_code(each.text))]


def _is_empty(text: str) -> bool:
    return is_greeting(text) or is_small_talk(text) or bool(_PATTERNS["filler"].fullmatch(text))


def _is_code(text: str) -> bool:
    return len(_CODE_MARK.findall(text)) > _CODE_SHARE * len(text)


def _is_report(sentence: Sentence, reports: re.Pattern[str]) -> bool:
    return (
        not sentence.question
        and bool(reports.search(sentence.plain))
        and not _PATTERNS["not done"].search(sentence.plain)
    )


def _is_later(sentence: Sentence) -> bool:
    text = sentence.text
    told = _PATTERNS["later"].search(text) or _PATTERNS["not yet"].search(text)
    return bool(told) and not sentence.question and not _PATTERNS["set aside"].search(text)


def _not_yet(last: Exchange) -> list[str]:
    """Return what the last answer says is not done yet, unless the user said so."""
    if any(_is_later(each) for each in _plain(last.user)):
        return []
    return [
        each.text
        for answer in last.answers[-1:]
        for each in _plain(answer)
        if _PATTERNS["not yet"].search(each.text) and not each.question
    ]


def _unanswered(exchanges: Sequence[Exchange]) -> Iterator[str]:
    """Yield the user's last request if nothing answers it, or the question with which the last answer ends."""
    if not exchanges:
        return
    last = exchanges[-1]
    if not last.answers:
        said = _plain(last.user)
        if any(each.question or _PATTERNS["asks"].search(each.text) for each in said):
            yield _joined(said)
    else:
        yield from _questions(last)


def _questions(exchange: Exchange) -> Iterator[str]:
    """Yield the question with which an exchange ends, unless it only offers more help."""
    for answer in exchange.answers[-1:]:
        closing = sentences(answer)[-1:]
        yield from (_ended(each) for each in closing if each.question and not _PATTERNS["offers"].search(each.text))


def _topic(requests: Sequence[str]) -> str:
    """Return what several requests were about, by the beginnings of the first ones."""
    parts: list[str] = []
    left = _TOPIC_LENGTH
    telling = [request for request in requests if _width(request) >= _LEAST_TOPIC] or requests
    for part in dict.fromkeys(_within(request, _ASK_LENGTH) for request in telling):
        if len(part) <= left:
            parts.append(part)
            left -= len(part) + 2
    return ("；" if has_han("".join(parts)) else "; ").join(parts)


def _bare(sentence: Sentence) -> str:
    """Return a request without the words that make it one."""
    text = _without_opener(_ended(sentence))
    return _PATTERNS["please"].sub("", text, count=1).strip() or text


def _essence(answers: Sequence[str]) -> str:
    """Return the first sentences of an answer that say something."""
    said = [each for answer in answers for each in _plain(answer)]
    parts: list[str] = []
    for sentence in [each for each in said if _width(each.text) >= _FEWEST] or said:
        width = _width(" ".join(parts))
        if width >= _ENOUGH and width + _width(sentence.text) > _GIST_LENGTH:
            break
        parts.append(_without_opener(_ended(sentence)))
    return _within(_sentence_joint(parts).join(parts), 2 * _GIST_LENGTH)


def _joined(said: Sequence[Sentence]) -> str:
    parts = [_without_opener(_ended(each)) for each in said]
    return _sentence_joint(parts).join(parts)


def _sentence_joint(parts: Sequence[str]) -> str:
    return " " if not parts or parts[0].endswith(("?", "？")) else "。" if has_han("".join(parts)) else ". "


def _closed(text: str) -> str:
    return text if text.endswith(('"', "”", ".")) else f"{text}{'。' if has_han(text) else '.'}"


def _ended(sentence: Sentence) -> str:
    mark = "？" if has_han(sentence.text) else "?"
    return f"{sentence.text}{mark}" if sentence.question else sentence.text


def _without_opener(text: str) -> str:
    """Return a sentence without thanks, agreement and the like in front of it."""
    while (
        (opener := _PATTERNS["opener"].match(text))
        and _is_empty(opener["head"].strip())
        and not _PATTERNS["reports"].match(text)
    ):
        text = text[opener.end() :]
    return text


def _within(text: str, width: int) -> str:
    """Return the beginning of a text, cut after a clause or a word where one ends late enough."""
    if _width(text) <= width:
        return text
    end = 0
    for position, character in enumerate(text):
        width -= _WIDE if has_han(character) else 1
        if width < 1:
            end = position
            break
    boundary = max((match.end() for match in re.finditer(r"[，,、；;。：:]|\s", text[:end])), default=0)
    return f"{text[: boundary if boundary * 2 > end else end].rstrip(' ，,、；;。：:')}…"


def _width(text: str) -> int:
    return sum(_WIDE if has_han(character) else 1 for character in text)
