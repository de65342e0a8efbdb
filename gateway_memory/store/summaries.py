"""sessions.jsonl: one record a session, appended under the workspace's lock, kept to the newest.

The file is the truth; the journal holds an index of its ids, so whether a session is saved costs no scan. What was
appended by others, or is another file altogether, is noticed by its size and the bytes before the place last read.
Plain functions over a file and a connection in a transaction: hooks use them without an event loop.
"""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from gateway_memory.store.withheld import canonical, reconsider, shown_record

__all__ = [
    "DAMAGED_FILE",
    "SESSIONS_FILE",
    "SessionRecord",
    "follow",
    "is_saved",
    "known",
    "last_record",
    "line_of",
    "new_record_id",
    "parsed",
    "read_records",
    "remember",
    "replace",
    "save",
    "tidy",
    "withhold",
]

SESSIONS_FILE: Final = "sessions.jsonl"
DAMAGED_FILE: Final = "sessions.damaged.jsonl"
KEPT: Final = 500
_BLOCK: Final = 8192
_LONGEST_LINE: Final = 1 << 20
_TAIL: Final = 64
_AT_THE_END: Final = ("reason", "duration_ms", "error_message")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """One line of sessions.jsonl. timestamp: ISO 8601, UTC. summary: at most 3,200 characters, brief: 900.

    layer: what saved it ("agent", "followup", "end"); auto_generated: no agent wrote it.
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
    """How the session ended, where the record was made at its end and its host says so."""

    def fields(self) -> dict[str, Any]:
        """Return what its line holds; how it ended only where there is anything to say."""
        return {name: value for name, value in asdict(self).items() if name not in _AT_THE_END or value}

    def to_line(self) -> bytes:
        """Return the line, its end included."""
        return line_of(self.fields())


def new_record_id(now: datetime) -> str:
    """Return a fresh record id in the documented form, sum-HHMMSSmmm-xxxx."""
    return f"sum-{now.astimezone(UTC):%H%M%S}{now.microsecond // 1000:03d}-{os.urandom(2).hex()}"


def last_record(path: Path) -> dict[str, Any] | None:
    """Return the newest record, read from the end; damaged and deleted ones are passed over.

    The cost is that of the last lines, however long the file is. None where there is no such record.
    """
    try:
        with path.open("rb") as stream:
            return next(_backwards(stream.fileno()), None)
    except FileNotFoundError:
        return None


def read_records(path: Path) -> tuple[list[dict[str, Any]], list[bytes]]:
    """Return all records, oldest first, and the lines that are none."""
    try:
        return parsed(path.read_bytes())
    except FileNotFoundError:
        return [], []


def parsed(content: bytes) -> tuple[list[dict[str, Any]], list[bytes]]:
    """Return all records of a file's content, oldest first, and the lines that are none."""
    records: list[dict[str, Any]] = []
    damaged: list[bytes] = []
    for line in content.split(b"\n"):
        record = _parsed(line)
        if record is not None:
            records.append(record)
        elif line.strip():
            damaged.append(line)
    return records, damaged


def is_saved(database: sqlite3.Connection, scope: str, path: Path, session_id: str) -> bool:
    """Return whether a session has a record anywhere in the file, or had one. Within a transaction."""
    follow(database, scope, path)
    return known(database, scope, session_id)


def save(database: sqlite3.Connection, scope: str, path: Path, record: SessionRecord, at: float) -> bool:
    """Append a record unless its session has one; return whether it was appended. `at`: now, in epoch seconds.

    Within a transaction, and under the workspace's lock: the line is on disk before the index says so, and a crash
    between the two is noticed by the file's size.

    Raises:
        OSError: the line could not be written; nothing of it stands in the file.
    """
    from gateway_memory.store.replacing import append  # which the reading hooks can do without

    follow(database, scope, path)
    if known(database, scope, record.session_id):
        database.execute(
            "INSERT INTO session_counts VALUES ('doubles_prevented', 1) "
            "ON CONFLICT (name) DO UPDATE SET number = number + 1"
        )
        return False
    append(path, line_of(shown_record(database, scope, record.fields())))
    follow(database, scope, path)
    database.execute(
        "UPDATE saved_sessions SET layer = ?, at = ? WHERE scope = ? AND session_id = ?",
        (record.layer, at, scope, record.session_id),
    )
    return True


def tidy(database: sqlite3.Connection, scope: str, path: Path, *, keep: int = KEPT) -> int:
    """Keep the newest `keep` records, and put damaged lines aside; return how many records were let go.

    Within a transaction, and under the workspace's lock. The new file takes the old one's place whole.
    """
    follow(database, scope, path)
    row = database.execute("SELECT records, damaged FROM session_logs WHERE scope = ?", (scope,)).fetchone()
    if row is None or (row[0] <= keep and not row[1]):
        return 0
    let_go = 0

    def newest(content: bytes | None) -> bytes:
        nonlocal let_go
        records, _ = parsed(content or b"")
        let_go = max(0, len(records) - keep)
        return b"".join(line_of(record) for record in records[let_go:])

    replace(database, scope, path, newest)
    return let_go


def withhold(database: sqlite3.Connection, scope: str, path: Path) -> Callable[[bytes | None], bytes | None]:
    """Return what makes the file's content say nothing that was forgotten, and all that no longer is.

    Within a transaction that keeps the whole records, and under the workspace's lock. Hand it to `replacing.rewrite`
    once that is on disk.
    """
    changed = reconsider(database, scope, lambda: read_records(path)[0])

    def work(content: bytes | None) -> bytes | None:
        lines = (content or b"").split(b"\n")
        rows = [_parsed(line) for line in lines]
        instead = [changed.get(canonical(row)) if row else None for row in rows]
        if not any(each is not None for each in instead):
            return None
        return b"\n".join(line if row is None else line_of(row)[:-1] for line, row in zip(lines, instead, strict=True))

    return work


def replace(database: sqlite3.Connection, scope: str, path: Path, change: Callable[[bytes | None], bytes]) -> None:
    """Replace the file by what `change` makes of it, put damaged lines aside, and note how far it has been read.

    Within a transaction, and under the workspace's lock. change: see `replacing.rewrite`. Raises OSError.
    """
    from gateway_memory.store.replacing import append, rewrite  # which the reading hooks can do without

    written: bytes = b""
    damaged: list[bytes] = []

    def changed(content: bytes | None) -> bytes:
        nonlocal written, damaged
        damaged = parsed(content or b"")[1]
        written = change(content)
        return written

    rewrite(path, changed)
    if damaged:
        append(path.with_name(DAMAGED_FILE), b"".join(line + b"\n" for line in damaged))
    # What another tool appended meanwhile stands behind it, and is still to be read.
    remember(database, scope, path, records=written.count(b"\n"), damaged=0, size=len(written))


def line_of(record: dict[str, Any]) -> bytes:
    """Return a record's line, its end included."""
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def known(database: sqlite3.Connection, scope: str, session_id: str) -> bool:
    """Return whether the index of ids has a session; `follow` first."""
    query = "SELECT 1 FROM saved_sessions WHERE scope = ? AND session_id = ?"
    return database.execute(query, (scope, session_id)).fetchone() is not None


def follow(database: sqlite3.Connection, scope: str, path: Path) -> None:
    """Read into the index what stands in the file behind the place last read; all of it where it is another file."""
    row = database.execute("SELECT size, tail, records, damaged FROM session_logs WHERE scope = ?", (scope,)).fetchone()
    size, tail, records, damaged = row or (0, b"", 0, 0)
    try:
        with path.open("rb") as stream:
            end = os.fstat(stream.fileno()).st_size
            stream.seek(max(0, size - _TAIL))
            if end < size or stream.read(size - max(0, size - _TAIL)) != tail:
                size, records, damaged = 0, 0, 0
                stream.seek(0)
            if end == size and row:
                return
            fresh = stream.read()
    except FileNotFoundError:
        if row:
            database.execute("DELETE FROM session_logs WHERE scope = ?", (scope,))
        return
    whole = fresh[: fresh.rfind(b"\n") + 1]  # a last line without an end may still be written
    found: list[tuple[str, str, str, float]] = []
    for line in whole.split(b"\n"):
        record = _parsed(line)
        if record is not None:
            records += 1
            found.append((scope, record["session_id"], str(record.get("layer", "imported")), 0.0))
        elif line.strip():
            damaged += 1
    database.executemany("INSERT OR IGNORE INTO saved_sessions VALUES (?, ?, ?, ?)", found)
    remember(database, scope, path, records=records, damaged=damaged, size=size + len(whole))


def remember(
    database: sqlite3.Connection, scope: str, path: Path, *, records: int, damaged: int, size: int | None = None
) -> None:
    """Note how far the file has been read: to its end, or to `size`."""
    with path.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size if size is None else size
        stream.seek(max(0, size - _TAIL))
        tail = stream.read(size - max(0, size - _TAIL))
    database.execute(
        "INSERT OR REPLACE INTO session_logs VALUES (?, ?, ?, ?, ?)", (scope, size, tail, records, damaged)
    )


def _parsed(line: bytes) -> dict[str, Any] | None:
    if not line.startswith(b"{"):
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("session_id"), str) else None


def _backwards(descriptor: int) -> Iterator[dict[str, Any]]:
    position = os.fstat(descriptor).st_size
    rest = b""
    while position > 0:
        start = max(0, position - _BLOCK)
        lines = (os.pread(descriptor, position - start, start) + rest).split(b"\n")
        position, rest = start, lines[0]
        if len(rest) > _LONGEST_LINE:  # no record of ours: what stands before it is as far away as nothing
            return
        for line in reversed(lines[1:] if start else lines):
            record = _parsed(line)
            if record is not None and not record.get("deleted_at"):
                yield record
