"""What an import takes in, whatever layout it was read from."""

from dataclasses import dataclass
from typing import Literal

from gateway_memory.store.markdown import MemoryType
from gateway_memory.store.summaries import SessionRecord

__all__ = ["Ignored", "Item", "MemoryItem", "NoteItem", "Problem", "SummaryItem"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryItem:
    """A memory to be taken in. scope: "" for the one that the import is for. at: epoch seconds, None where unknown.

    id: "" where the source gives none that is ours. curated: it stood in MEMORY.md.
    """

    place: str
    text: str
    at: float | None
    scope: str = ""
    id: str = ""
    curated: bool = False
    type: MemoryType = "W"
    category: str = ""
    importance: Literal["high", "normal"] = "normal"
    confidence: float = 1.0
    entities: tuple[str, ...] = ()
    session_key: str = ""
    expires: str = ""


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
