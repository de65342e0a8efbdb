"""The items of an import, independent of the layout that they were read from."""

from dataclasses import dataclass

from gateway_memory.store.journal.episodes import Episode
from gateway_memory.store.record import MemoryRecord
from gateway_memory.store.review import Review
from gateway_memory.store.summaries import SessionRecord

__all__ = ["EpisodeItem", "Ignored", "Item", "MemoryItem", "NoteItem", "Problem", "ReviewItem", "SummaryItem"]


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
