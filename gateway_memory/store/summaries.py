"""sessions.jsonl: one record a session, the newest last. Pure functions over the file's content, and its protocol."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

SESSIONS_FILE: Final = "sessions.jsonl"
DAMAGED_FILE: Final = "sessions.damaged.jsonl"
_BLOCK: Final = 8192
_NOTHING: Final = b"\0 \t\r"
_LONGEST_LINE: Final = 1 << 20
_AT_THE_END: Final = ("reason", "duration_ms", "error_message")
_TEXTS: Final = ("id", "session_id", "topic", "summary", "timestamp", "brief", "layer", "reason", "error_message")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """One line of sessions.jsonl. timestamp: ISO 8601, UTC. summary: at most 3,200 characters, brief: 900.

    layer: what saved it ("agent", "followup" or "end"). auto_generated: no agent wrote it.
    """

    id: str
    session_id: str
    topic: str
    summary: str
    timestamp: str
    decisions: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()
    brief: str = ""
    auto_generated: bool = False
    layer: str = "agent"
    reason: str = ""
    duration_ms: int | None = None
    error_message: str = ""
    """How the session ended, if the record was made at the end and the host reported it."""

    def fields(self) -> dict[str, Any]:
        """Return the fields of the record's line. The fields of the end are left out if they are empty."""
        return {name: value for name, value in asdict(self).items() if name not in _AT_THE_END or value}


class RecordFile(Protocol):
    """The records of one scope as lines. Calls may raise OSError."""

    def read(self, start: int = 0) -> bytes | None:
        """Return the content from byte `start` on, or None if there is no file."""

    def last(self) -> dict[str, Any] | None:
        """Return the newest record that was not deleted, or None."""

    def append(self, lines: bytes) -> None:
        """Append whole lines, atomically."""

    def rewrite(self, change: Callable[[bytes | None], bytes | None]) -> None:
        """Replace the content with the result of `change`. The same content leaves it unchanged."""

    def put_aside(self, lines: bytes) -> None:
        """Store lines that are not valid records in a separate place."""


def new_record_id(now: datetime) -> str:
    """Return a new record id in the documented form, sum-HHMMSSmmm-xxxx."""
    return f"sum-{now.astimezone(UTC):%H%M%S}{now.microsecond // 1000:03d}-{os.urandom(2).hex()}"


def last_of(stream: BinaryIO) -> dict[str, Any] | None:
    """Return the newest record of an open file, skipping damaged and deleted ones; None if there is none.

    The file is read from its end, so the cost does not depend on its length.
    """
    return next(_backwards(stream.fileno()), None)


def read_records(path: Path) -> tuple[list[dict[str, Any]], list[bytes]]:
    """Return all records, oldest first, and the lines that are not records."""
    try:
        return parsed(path.read_bytes())
    except FileNotFoundError:
        return [], []


def parsed(content: bytes) -> tuple[list[dict[str, Any]], list[bytes]]:
    """Return all records of a file's content, oldest first, and the lines that are not records."""
    records: list[dict[str, Any]] = []
    damaged: list[bytes] = []
    for line in content.split(b"\n"):
        record = record_of(line)
        if record is not None:
            records.append(record)
        elif line.strip(_NOTHING):
            damaged.append(line)
    return records, damaged


def newest_of(content: bytes) -> dict[str, Any] | None:
    """Return the newest record of a file's content that was not deleted, or None."""
    records, _ = parsed(content)
    return next((record for record in reversed(records) if not record.get("deleted_at")), None)


def line_of(record: dict[str, Any]) -> bytes:
    """Return a record's line, including its line end."""
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def record_of(line: bytes) -> dict[str, Any] | None:
    """Return the record of a line, or None."""
    if not line.startswith(b"{"):
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("session_id"), str) else None


def stored_record(row: Mapping[str, Any]) -> SessionRecord:
    """Return a record as it was stored; values of another type than ours are left out."""
    values = {name: row[name] for name in _TEXTS if isinstance(row.get(name), str)}
    for name in ("decisions", "todos"):
        items = row.get(name)
        values[name] = tuple(item for item in items if isinstance(item, str)) if isinstance(items, list) else ()
    lasted = row.get("duration_ms")
    blank = dict.fromkeys(("id", "session_id", "topic", "summary", "timestamp"), "")
    return SessionRecord(
        **{**blank, **values},
        auto_generated=row.get("auto_generated") is True,
        duration_ms=lasted if type(lasted) is int else None,
    )


def _backwards(descriptor: int) -> Iterator[dict[str, Any]]:
    position = os.fstat(descriptor).st_size
    rest = b""
    while position > 0:
        start = max(0, position - _BLOCK)
        lines = (os.pread(descriptor, position - start, start) + rest).split(b"\n")
        position, rest = start, lines[0]
        if len(rest) > _LONGEST_LINE:  # an overlong line is not a record; do not search before it
            return
        for line in reversed(lines[1:] if start else lines):
            record = record_of(line)
            if record is not None and not record.get("deleted_at"):
                yield record
