"""Records that come from elsewhere, put among a scope's own by their time: the last one must stay the last."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gateway_memory.store.summaries import SessionRecord, follow, known, line_of, parsed, replace
from gateway_memory.store.withheld import shown_record

__all__ = ["merge"]


def merge(
    database: sqlite3.Connection, scope: str, path: Path, records: Sequence[SessionRecord], *, dry_run: bool
) -> int:
    """Put records among those of the file, each before the first one that is newer; return how many were put there.

    One whose session has a record, or had one, or is open, is left out. Within a transaction, and under the workspace's
    lock; the new file takes the old one's place whole, and damaged lines are put aside. dry_run: only count.
    """
    follow(database, scope, path)
    query = "SELECT 1 FROM sessions WHERE session_id = ? AND ended_at IS NULL"
    fresh: dict[str, SessionRecord] = {}
    for record in records:
        running = database.execute(query, (record.session_id,)).fetchone()
        if not running and not known(database, scope, record.session_id):
            fresh.setdefault(record.session_id, record)
    if not fresh or dry_run:
        return len(fresh)

    rows = [shown_record(database, scope, record.fields()) for record in fresh.values()]

    def merged(content: bytes | None) -> bytes:
        lines: list[bytes] = []
        waiting = sorted(rows, key=_time)
        for row in parsed(content or b"")[0]:
            while waiting and _time(row) and _time(waiting[0]) < _time(row):
                lines.append(line_of(waiting.pop(0)))
            lines.append(line_of(row))
        return b"".join([*lines, *map(line_of, waiting)])

    replace(database, scope, path, merged)
    saved = [(scope, record.session_id, record.layer) for record in fresh.values()]
    database.executemany("INSERT OR IGNORE INTO saved_sessions VALUES (?, ?, ?, 0)", saved)
    return len(fresh)


def _time(row: dict[str, Any]) -> str:
    return str(row.get("timestamp", ""))
