"""The items of an import, independent of their layout, and the JSON that they are read from, line by line."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from gateway_memory.store.journal.episodes import Episode
from gateway_memory.store.record import MemoryRecord, Review
from gateway_memory.store.summaries import SessionRecord

__all__ = [
    "LONGEST_LINE",
    "EpisodeItem",
    "Ignored",
    "Item",
    "MemoryItem",
    "NoteItem",
    "Problem",
    "ReviewItem",
    "SummaryItem",
    "first_object",
    "numbered_lines",
    "objects_of_array",
    "objects_of_lines",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryItem:
    """A memory to import. scope: "" for the scope of the import. curated: it was in MEMORY.md.

    record: its id is "" if the source gives no id of our form. Its time is 0 if it is unknown.
    foreign: another program has found it, so a person should look at it.
    superseded: it no longer holds at the source, and belongs into the history. by: the text that took its place, or "".
    """

    place: str
    record: MemoryRecord
    scope: str = ""
    curated: bool = False
    foreign: bool = False
    superseded: bool = False
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewItem:
    """A candidate that waits for a person, or that was refused for good. Its scope is that of the item."""

    place: str
    review: Review
    scope: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryItem:
    """The record of a session."""

    place: str
    record: SessionRecord
    scope: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteItem:
    """Prose: a file below memory/ that is searched and never written to."""

    place: str
    file: str
    text: str
    scope: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeItem:
    """What was said in one turn. The episode's turn is 0, and its scope is that of the item."""

    place: str
    episode: Episode
    scope: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A line that can't be imported. place: "file:line"."""

    place: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    """A line that is neither a memory nor a summary, such as an event, or that was deleted at the source.

    kind: event, deleted; group: a conversation of a group whose scope is unknown; machine: one without a person.
    """

    place: str
    kind: str = "event"


Item = MemoryItem | ReviewItem | SummaryItem | NoteItem | EpisodeItem | Problem | Ignored


# Read JSON lines and large arrays of JSON without holding the file in memory.

LONGEST_LINE: Final = 1 << 20
_LONGEST_HISTORY_LINE: Final = 1 << 26
"""An agent's transcript has outputs of tools and images in its lines."""
_PIECE: Final = 1 << 20
_LONGEST_OBJECT: Final = 1 << 28


def numbered_lines(path: Path, longest: int = LONGEST_LINE) -> Iterator[tuple[int, bytes | None]]:
    """Yield a file's lines with their numbers from 1; None instead of a line that is too long."""
    with path.open("rb") as stream:
        number = 0
        while line := stream.readline(longest + 1):
            number += 1
            if len(line) > longest:
                while line and not line.endswith(b"\n"):
                    line = stream.readline(longest)
                yield number, None
            elif line.strip():
                yield number, line


def objects_of_lines(path: Path) -> Iterator[dict[str, Any] | Problem]:
    """Yield the objects of a transcript's lines, and a problem for each line that is none."""
    for number, line in numbered_lines(path, _LONGEST_HISTORY_LINE):
        place = f"{path}:{number}"
        try:
            found = None if line is None else json.loads(line.removeprefix(b"\xef\xbb\xbf"))
        except (ValueError, RecursionError):
            yield Problem(place=place, reason="no JSON")
            continue
        if isinstance(found, dict):
            yield found
        else:
            yield Problem(place=place, reason="expected an object")


def first_object(path: Path) -> dict[str, Any]:
    """Return the first object of JSON lines; an empty one if there is none."""
    return next((found for found in objects_of_lines(path) if isinstance(found, dict)), {})


def objects_of_array(stream: IO[str], place: str) -> Iterator[tuple[int, dict[str, Any]] | Problem]:
    """Yield the objects of an array with their numbers from 1, one at a time."""
    decoder, waiting, number, started = json.JSONDecoder(), "", 0, False
    size = _PIECE
    while piece := stream.read(size):
        waiting += piece if started else piece.lstrip("\ufeff")
        if not started:
            waiting = waiting.lstrip()
            if waiting and waiting[0] != "[":
                yield Problem(place=place, reason="expected an array of conversations")
                return
            started, waiting = bool(waiting), waiting[1:]
        while waiting := waiting.lstrip(" \t\r\n,"):
            if waiting[0] == "]":
                return
            try:
                found, end = decoder.raw_decode(waiting)
            except (ValueError, RecursionError):  # the rest of it is still to be read
                break
            number += 1
            waiting = waiting[end:]
            if isinstance(found, dict):
                yield number, found
            else:
                yield Problem(place=f"{place}: conversation {number}", reason="expected an object")
        size = max(_PIECE, len(waiting))  # an object of many pieces is not decoded again for each
        if len(waiting) > _LONGEST_OBJECT:
            break
    if waiting or not started:
        yield Problem(place=f"{place}: conversation {number + 1}", reason="no JSON, or cut off")
