"""Applies what a part of a message does to the others: "Not!" takes back what was said before it.

A closing part reaches back over the whole message, one between reaches to the beginning of the sentence before it. What
"my landlady wrote" or "my boss is convinced" announces is not the speaker's own, to the end. What is corrected is kept
with its correction, so that the line can be read alone.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from .meaning import Part
from .types import Candidate

MOST: Final = 32  # parts of a message; a longer one tells a story
LONGEST: Final = 300  # characters of a line that is kept with its correction
_SENTENCE_END: Final = re.compile(r"(?<=[!?！？。…\n])(?![!?！？。….)）”’\"'])|(?<=\.)(?=\s)|(?=[(（])")
# Ends of clauses, and where a speaker begins behind other words: "my boss is convinced | I …", 他以为|我….
_CLAUSE_END: Final = re.compile(
    r"(?<=[,，;；])(?!\d)|(?<=:)(?=\s)|(?<=：)|(?=—)|(?<=\s[-–])(?=\s)"
    r"|(?<=\w\s)(?=(?:I|we)\b|i(?:'|m\b|ve\b)?\b)|(?<=[^\W\da-zA-Z我跟给帮把对和与叫让向替陪找问请被])(?=我(?!的|们的|家)[^\W\d])"
)


def parts_of(message: str) -> list[range]:
    """Return where the parts of a message stand, its sentences and their clauses; [] for one part or for many."""
    sentences = _split(message, range(len(message)), _SENTENCE_END)
    clauses = [clause for sentence in sentences for clause in _split(message, sentence, _CLAUSE_END)]
    parts = sorted({*sentences, *clauses}, key=lambda part: (part.start, -part.stop))
    return parts if 1 < len(parts) <= MOST else []


def _split(message: str, within: range, end: re.Pattern[str]) -> list[range]:
    parts: list[range] = []
    ends = [match.start() for match in end.finditer(message, within.start, within.stop)]
    for start, stop in pairwise((within.start, *ends, within.stop)):
        if parts and not re.search(r"\w", message[start:stop]):
            parts[-1] = range(parts[-1].start, stop)
        elif start < stop:
            parts.append(range(start, stop))
    return parts


def as_taken_back(
    candidates: Sequence[Candidate | None], message: str, parts: Sequence[tuple[range, Part | None]]
) -> list[Candidate | None]:
    """Return candidates of a message without those that a part of it takes back, and with what corrects them.

    parts: what `parts_of` returned, each with what it does.
    """
    found = list(candidates)
    sentences = _split(message, range(len(message)), _SENTENCE_END)
    places = [_place(message, each) if each else range(0) for each in found]
    for part, does in parts:
        before = max((each.start for each in sentences if each.stop <= part.start), default=part.start)
        closes = part.stop == len(message)
        if does == "introduces" and not closes:
            gone = [place.stop > part.stop for place in places]
        elif does == "unsays" and part.start:
            reach = range(0 if closes else before, part.stop)
            gone = [bool(place) and place.start in reach for place in places]
        else:
            gone = [False] * len(places)
        found = [None if is_gone else each for each, is_gone in zip(found, gone, strict=True)]
        if does == "mends" and part.start and part in sentences:
            _join(found, places, range(before, part.stop), message)
    return found


def _place(message: str, candidate: Candidate) -> range:
    for text in (candidate.sentence, candidate.content):
        if text and (start := message.find(text)) >= 0:
            return range(start, start + len(text))
    return range(0)


def _join(found: list[Candidate | None], places: Sequence[range], reach: range, message: str) -> None:
    """Keep what stands in some part of a message as one line, and only once."""
    text = " ".join(message[reach.start : reach.stop].split())
    inside = [index for index, place in enumerate(places) if found[index] and place and place.start in reach]
    for number, index in enumerate(inside):
        each = found[index]
        if each and len(text) <= LONGEST:
            found[index] = None if number else replace(each, content=text)
