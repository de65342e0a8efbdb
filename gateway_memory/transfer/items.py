"""What an import takes in, whatever layout it was read from."""

from dataclasses import dataclass

from gateway_memory.store.record import MemoryRecord
from gateway_memory.store.summaries import SessionRecord

__all__ = ["Ignored", "Item", "MemoryItem", "NoteItem", "Problem", "SummaryItem"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryItem:
    """A memory to be taken in. scope: "" for the one that the import is for. curated: it stood in MEMORY.md.

    record: its id is "" where the source gives none that is ours, its time 0 where nobody knows it.
    """

    place: str
    record: MemoryRecord
    scope: str = ""
    curated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryItem:
    """A session's record."""

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
class Problem:
    """A line that is not imported. place: "file:line"."""

    place: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    """A line that is no memory and no summary, such as an event, or one that was deleted at the source."""

    place: str
    kind: str = "event"


Item = MemoryItem | SummaryItem | NoteItem | Problem | Ignored
