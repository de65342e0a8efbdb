"""Rows in SQLite: one disposable file that several processes share, or in memory with nothing on disk."""

import sqlite3
from pathlib import Path

from recall.rows.database import Database
from recall.rows.sql import SqlRows

__all__ = ["SqliteRows"]


class SqliteRows(SqlRows):
    """The adapter of `Rows` for SQLite. path: of index.sqlite; None: in memory, gone when it is closed.

    A file that is missing, damaged or of another format is replaced by an empty one. Writers are serialized by SQLite's
    lock, so a scope's revisions become visible in their order.
    """

    def __init__(self, path: Path | None) -> None:
        super().__init__(Database(path, self._check))

    def _check(self, connection: sqlite3.Connection) -> None:
        """Read a page or two of every table, which finds a file that was cut off or overwritten."""
        for table in ("scope", "file", "row", "vector", "vector_2", "removed"):
            connection.execute(f"select * from {table} limit 1").fetchone()
        self.vector_space()
