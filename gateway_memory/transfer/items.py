"""What an import consists of."""

from dataclasses import dataclass

from gateway_memory.store.journal.episodes import Episode
from gateway_memory.store.memory_record import MemoryRecord
from gateway_memory.store.reviewed import Review
from gateway_memory.store.summaries import SessionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sourced:
    """What an item has in common: where it stands in the source, and its scope; "" for the scope of the import.

    unknown: what its row holds that is not known here, in words.
    """

    place: str
    scope: str = ""
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryItem(_Sourced):
    """A memory to import. curated: it was in MEMORY.md.

    record: its id is "" if the source gives no id of our form. Its time is 0 if it is unknown.
    dated: the source itself says when it was stated; otherwise the record has the time of its file.
    foreign: another program has found it, so a person should look at it.
    superseded: it no longer holds at the source, and belongs into the history. by: the text that took its place, or "".
    """

    record: MemoryRecord
    dated: bool = True
    curated: bool = False
    foreign: bool = False
    superseded: bool = False
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewItem(_Sourced):
    """A candidate that waits for a person, or that was refused for good. Its scope is that of the item."""

    review: Review


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryItem(_Sourced):
    """The record of a session."""

    record: SessionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteItem(_Sourced):
    """Prose: a file below memory/ that is searched and never written to."""

    file: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeItem(_Sourced):
    """What was said in one turn. The episode's turn is 0, and its scope is that of the item."""

    episode: Episode


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A line that can't be imported. place: "file:line". ends: whether nothing behind it could be read."""

    place: str
    reason: str
    ends: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    """A line that is neither a memory nor a summary, such as an event, or that was deleted at the source.

    kind: event, deleted; group: a conversation of a group whose scope is unknown; machine: one without a person;
    index: a file that only says what others are.
    """

    place: str
    kind: str = "event"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A file of which nothing was read. copy: a sync has made it of another file, which was."""

    place: str
    copy: bool = False


Item = MemoryItem | ReviewItem | SummaryItem | NoteItem | EpisodeItem | Problem | Ignored | LeftOut
