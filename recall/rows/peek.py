"""Reads an existing index.sqlite, for a process that lives a moment. Light to import."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from recall.rows.columns import STORED, TELLING, stored_of
from recall.rows.sqlite_file import translated, translating
from recall.types import Entry, Line, RecallError

_BUSY_SECONDS = 0.2


@translating
class Peek:
    """What `peek` yields. Its methods raise RecallError where something can't be read."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def _of(self, scope: str, columns: str, where: str, *values: float | str) -> sqlite3.Cursor:
        """Return columns of a scope's rows. where: further conditions, with values."""
        query = f"select {columns} from row r where r.scope = ? {where}"
        return self._connection.execute(query, (scope, *values))

    def stamps(self, scope: str) -> dict[str, tuple[int, int]]:
        """Return the files that a scope's rows were made from: when each was saved (ns), and its size in bytes."""
        query = "select name, mtime_ns, size from file where scope = ?"
        return {name: (mtime, size) for name, mtime, size in self._connection.execute(query, (scope,))}

    def lines(self, scope: str) -> list[Line]:
        """Return a scope's memories, without stage summaries and episodes."""
        where = "and r.type <> 'S' and r.kind <> 'episode'"
        rows = self._of(scope, "r.id, r.text, r.type, r.file, r.at, r.traits, r.category", where)
        return [Line(*row) for row in rows]

    def telling(self, scope: str, least: float, limit: int) -> list[Entry]:
        """See `Rows.telling`."""
        return [stored_of(scope, row).entry for row in self._of(scope, STORED, f"and {TELLING}", least, limit)]

    def count(self, scope: str) -> int:
        """Return how many rows a scope has."""
        return int(self._of(scope, "count(*)", "").fetchone()[0])


@contextmanager
def peek(path: Path) -> Iterator[Peek]:
    """Open an index for reading; other processes may have it open, and nothing is changed.

    Raises:
        RecallError: there is none.
    """
    if not path.exists():
        raise RecallError(f"there is no index {path}")
    with translated():
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=_BUSY_SECONDS)
    with closing(connection):
        yield Peek(connection)
