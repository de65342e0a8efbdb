"""Splits a message into sentences and clauses, without code, logs and quotations."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from extractor.tables import table
from gateway_memory.ground.tables import simplified

_TABLE: Final = table("sentences")
_PATTERNS: Final = _TABLE.patterns()
_EXACT: Final = _TABLE.patterns("exact", flags=0)
PAUSE: Final = _EXACT["pause"].pattern
_END: Final = re.compile(_EXACT["end of a sentence"].pattern + "|" + PAUSE)


LONGEST_READ = 20_000  # characters of one message; a longer one was pasted, and its start tells its purpose
QUOTED = "\ue000"  # stands for each quoted character while a rule matches


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A clause of a sentence. plain: as long; quotations blanked, apostrophes straight, simplified."""

    start: int
    end: int
    plain: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence without its end mark. text and plain have the same length; clauses index into both."""

    text: str
    plain: str
    question: bool
    item: bool
    clauses: tuple[Clause, ...]


def without_code_blocks(text: str) -> str:
    """Return a text without fenced code; an unclosed fence reaches to the end."""
    return _EXACT["code block"].sub("\n", text) if "```" in text or "~~~" in text else text


def is_machine_line(line: str) -> bool:
    """Return whether a line is code, a log, a trace, a shell command or a quotation: not the user's own words."""
    return bool(_EXACT["machine line"].match(line[:300]))


def quotations(text: str) -> list[str]:
    """Return what stands in quotation marks in a text, with its marks."""
    return [match[0] for match in _PATTERNS["quotation"].finditer(text)]


def without_quotations(text: str) -> str:
    """Return a text of the same length with each quoted character replaced by `QUOTED`."""
    return _PATTERNS["quotation"].sub(lambda each: each[0][0] + QUOTED * (len(each[0]) - 2) + each[0][-1], text)


def without_single_quotations(text: str) -> str:
    """Return a text of the same length with each character in single quotation marks replaced by `QUOTED`."""
    return _PATTERNS["single quotation"].sub(lambda each: QUOTED * len(each[0]), text) if "'" in text else text


def sentences(text: str, *, whole: bool = False) -> list[Sentence]:
    """Return the sentences of a message in order. Linear; reads at most `LONGEST_READ` characters.

    whole: also those in which spaces stand for pauses, as people type Chinese. Else each part is one.
    """
    parts: list[Sentence] = []
    for line in without_code_blocks(text[:LONGEST_READ]).split("\n"):
        if line.strip() and not is_machine_line(line):
            parts += _of_line(line, _EXACT["end of a sentence"] if whole else _END)
    return parts


def _of_line(line: str, end: re.Pattern[str]) -> Iterator[Sentence]:
    marker = _PATTERNS["item of a list"].match(line)
    if marker:
        line = line[marker.end() :]
    line = _PATTERNS["emphasis"].sub(r"\2", line)
    plain = simplified(without_single_quotations(without_quotations(line.replace("’", "'").replace("\t", " "))))
    position = 0
    for end_mark in end.finditer(plain):
        yield from _sentence(line, plain, position, end_mark.start(), end_mark[0], item=bool(marker))
        position = end_mark.end()
    yield from _sentence(line, plain, position, len(line), "", item=bool(marker))


def _sentence(line: str, plain: str, start: int, end: int, end_mark: str, *, item: bool) -> Iterator[Sentence]:
    while start < end and (plain[start].isspace() or plain[start] in "*_#)]"):
        start += 1
    while end > start and (plain[end - 1].isspace() or plain[end - 1] in "*_#([-,，、:：~"):
        end -= 1
    if start < end:
        piece = plain[start:end]
        yield Sentence(
            text=line[start:end],
            plain=piece,
            question="?" in end_mark or "？" in end_mark,
            item=item,
            clauses=tuple(_clauses(piece)),
        )


_LONGEST_PERSON = 60  # characters


def _joins_persons(plain: str, start: int, joint: re.Match[str]) -> bool:
    """Return whether "and I", "and my wife" joins persons, not clauses."""
    return (
        plain.startswith("and ", joint.end())
        and joint.start() - start <= _LONGEST_PERSON
        and bool(_PATTERNS["and i"].match(plain, joint.end()))
        and bool(_PATTERNS["person"].fullmatch(plain, start, joint.start()))
    )


def _clauses(plain: str) -> Iterator[Clause]:
    position = 0
    for match in (*_PATTERNS["end of a clause"].finditer(plain), None):
        if match and _joins_persons(plain, position, match):
            continue
        start, end = position, match.start() if match else len(plain)
        position = match.end() if match else end
        while start < end and plain[start].isspace():
            start += 1
        while end > start and plain[end - 1].isspace():
            end -= 1
        if start < end:
            yield Clause(start=start, end=end, plain=plain[start:end])
