"""The journal's SQLite basics, for any connection: that of the service's thread, or that of a hook."""

import contextlib
import sqlite3
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from gateway_memory.errors import SchemaFromFutureError, StoreError
from gateway_memory.store.disk.private import private_file, private_folder
from gateway_memory.store.disk.workspace import STATE_FOLDER
from gateway_memory.store.journal.migrations import MIGRATIONS

__all__ = ["MOVING", "migrate", "open_journal", "transaction", "use_write_ahead_log"]

MOVING: Final = "moving"
"""The table of a move into this journal, which exists until the move is complete."""
_PAUSE_SECONDS: Final = 0.005


def use_write_ahead_log(database: sqlite3.Connection, *, seconds: float) -> None:
    """Enable the write-ahead log in a file that may be new.

    If two connections do so at once, SQLite reports to one of them that the file is locked. It ignores the busy timeout
    to avoid a deadlock, so this function retries.

    Raises:
        sqlite3.OperationalError: the file was locked for longer than `seconds`.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL").fetchall()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return


@contextlib.contextmanager
def transaction(database: sqlite3.Connection, *, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """Run a block in one transaction, rolled back if anything raises. begin: with BEGIN, the block may only read."""
    database.execute(begin)
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:  # a full disk may have rolled it back already
            database.execute("ROLLBACK")
        raise


def migrate(database: sqlite3.Connection, path: Path, *, by_move: bool = False) -> None:
    """Apply missing schema steps, in one transaction.

    by_move: a move fills the journal.

    Raises:
        SchemaFromFutureError: a newer version wrote the file.
        StoreError: a move into this memory was not completed.
        sqlite3.Error: the file can't be read or written.
    """
    if not by_move and _has_table(database, MOVING):
        raise StoreError(f"{path}: a move into this memory was not completed; run the same `gateway-memory move` again")
    done = _done(database)
    unknown = sorted(done - {name for name, _ in MIGRATIONS})
    if unknown:
        raise SchemaFromFutureError(
            f"{path}: written by a newer version of gateway-memory (schema {unknown[-1]}); upgrade the package"
        )
    if len(done) == len(MIGRATIONS):
        return
    with transaction(database):
        database.execute("CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, at REAL NOT NULL)")
        for name, script in MIGRATIONS:
            # Another process may have migrated meanwhile. Its records are then found here.
            if database.execute("INSERT OR IGNORE INTO migrations VALUES (?, ?)", (name, time.time())).rowcount:
                for statement in _statements(script):
                    database.execute(statement)


def _done(database: sqlite3.Connection) -> set[str]:
    if not _has_table(database, "migrations"):
        return set()
    return {name for (name,) in database.execute("SELECT name FROM migrations")}


def _has_table(database: sqlite3.Connection, name: str) -> bool:
    return database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone() is not None


def _statements(script: str) -> Iterable[str]:
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


_BUSY_SECONDS: Final = 2.0


def open_journal(workspace: Path, *, by_move: bool = False) -> sqlite3.Connection:
    """Open the journal, and create or migrate it if necessary. The caller begins and ends transactions.

    by_move: see `migrate`.

    Raises:
        SchemaFromFutureError: a newer version wrote it.
        StoreError: a move into this memory was not completed.
        sqlite3.Error: it is damaged, or was locked for too long. The file is unchanged.
    """
    private_folder(workspace / STATE_FOLDER)
    path = workspace / "journal.sqlite"
    private_file(path)
    connection = sqlite3.connect(path, isolation_level=None, timeout=_BUSY_SECONDS)
    try:
        use_write_ahead_log(connection, seconds=_BUSY_SECONDS)
        connection.execute("PRAGMA synchronous = FULL")
        migrate(connection, path, by_move=by_move)
    except BaseException:
        connection.close()
        raise
    return connection
