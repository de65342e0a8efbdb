"""All stored data of a memory, and the index that follows it."""

from dataclasses import dataclass, replace
from typing import Final

from gateway_memory.store.journal.store import Store
from gateway_memory.store.record import MemoryRecord
from gateway_memory.sync.episodes import EpisodeFollower
from gateway_memory.sync.follower import IMPORTANCE, Follower
from recall import Recaller, Stored

_OF_THE_DOCUMENT: Final = ("text", "file", "at", "type", "confidence")
"""The fields that a person may have changed in the document since the memory was stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage(Store):
    """The store of one open memory, its index, and the followers that keep the index equal to it."""

    recaller: Recaller
    follower: Follower
    episode_follower: EpisodeFollower


def record_of(stored: Stored, known: MemoryRecord | None) -> MemoryRecord:
    """Return a memory of the index as a record: its current text and file, and its other stored data."""
    entry = stored.entry
    now = MemoryRecord(
        id=entry.id,
        text=entry.text,
        file=stored.file,
        at=entry.at,
        session_key=entry.session,
        type=entry.type,
        category=entry.category,
        importance="high" if entry.importance >= IMPORTANCE["high"] else "normal",
        confidence=entry.confidence,
    )
    if known is None:
        return now
    return replace(known, **{name: getattr(now, name) for name in _OF_THE_DOCUMENT})
