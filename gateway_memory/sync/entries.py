"""Lines of files as entries of the index, and as records of the journal."""

from dataclasses import replace
from datetime import date
from typing import Final

from extractor import traits_of
from gateway_memory.ground.holds import Holds, holds_of
from gateway_memory.store.annotations import importance_of, noted
from gateway_memory.store.documents import MEMORY_FILE, is_day_file
from gateway_memory.store.markdown import Block
from gateway_memory.store.memory_record import MemoryRecord
from recall import FOR_GOOD, Entry, Stamp, Stored

IMPORTANCE: Final = {"high": 0.9, "normal": 0.5}


def entry_of(
    block: Block, identity: str, memory: MemoryRecord | None, default_at: float, day: date, *, curated: bool
) -> Entry:
    """Return a block as the index has it. default_at: its time, day: its day, where the journal knows no other."""
    importance = importance_of(block.annotations)
    if importance is None:
        usual = "high" if curated and block.kind == "item" else "normal"
        importance = IMPORTANCE[memory.importance if memory else usual]
    standing = traits_of(memory.category).standing if memory else False
    holds = holds_of(block.text, day, standing=standing) if block.kind == "item" else Holds()
    return Entry(
        id=identity,
        text=block.text,
        at=memory.at if memory else default_at,
        kind=block.kind,
        type=block.type,
        category=memory.category if memory else "",
        importance=importance,
        confidence=block.confidence,
        session=memory.session_key if memory else "",
        heading=block.heading if block.kind == "paragraph" else _asked_by(block, memory),
        until=_until(holds, block, memory),
        turn=memory.turn if memory else 0,
        standing=standing,
    )


def _asked_by(block: Block, memory: MemoryRecord | None) -> str:
    """Return the words by which a line may be asked for; those of a model hold for the words that it has written."""
    cues = memory.cues if memory and memory.text == block.text else ()
    return "; ".join(filter(None, [noted(block.annotations).get("trigger", ""), *cues]))


def _until(holds: Holds, block: Block, memory: MemoryRecord | None) -> str:
    if holds.last is not None:
        return holds.last.isoformat()
    if memory and memory.expires and memory.text == block.text:  # of a version whose lines did not say it
        return memory.expires
    return FOR_GOOD if holds.every or (holds.begins and not holds.behind) else ""


def is_announced(row: Stored) -> bool:
    """Return whether a row is announced to sessions: see `MemoryRecord.announced`."""
    return row.entry.type != "S" and traits_of(row.entry.category).announced


def is_news(row: Stored) -> bool:
    """Return whether a row is news to a session that did not say it."""
    return row.entry.kind == "item" and is_announced(row)


def rank_of(file: str) -> tuple[bool, bool, str]:
    """Return a sort key: MEMORY.md first, then the day logs, then other notes."""
    return file != MEMORY_FILE, not is_day_file(file), file


def state_of(stamp: Stamp) -> tuple[int, int]:
    """Return what tells whether a file has changed."""
    return stamp.mtime_ns, stamp.size


def record_of(stored: Stored, known: MemoryRecord | None) -> MemoryRecord:
    """Return a memory of the index as a record: what a person may have changed in the file, and its stored data."""
    entry = stored.entry
    if known is None:
        known = MemoryRecord(
            id=entry.id,
            text=entry.text,
            file=stored.file,
            at=entry.at,
            session_key=entry.session,
            category=entry.category,
            importance="high" if entry.importance >= IMPORTANCE["high"] else "normal",
        )
    return replace(known, text=entry.text, file=stored.file, at=entry.at, type=entry.type, confidence=entry.confidence)


def digests_of(stamps: dict[str, Stamp]) -> dict[str, str]:
    """Return the digest of each file."""
    return {file: stamp.digest for file, stamp in stamps.items()}
