"""Opening the journal's file: it is checked and brought up to date, and a damaged one is set aside."""

import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import structlog

from gateway_memory.errors import JournalDamagedError, SchemaFromFutureError, StoreError
from gateway_memory.store.connection import Connection
from gateway_memory.store.migrations import MIGRATIONS

__all__ = ["open_database"]

log = structlog.get_logger()

_BUSY_SECONDS: Final = 10.0


async def open_database(path: Path) -> Connection:
    """Open the file, or make it.

    Raises:
        JournalDamagedError: the file was no readable database; it now stands aside under another name.
        SchemaFromFutureError: a newer version wrote it.
        StoreError: it can't be opened at all.
    """
    connection: Connection | None = None
    try:
        connection = await Connection.open(path, busy_seconds=_BUSY_SECONDS)
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            await connection.rows(f"PRAGMA {pragma}")
        await _check(connection)
        await _migrate(connection, path)
    except sqlite3.DatabaseError as error:
        if connection:
            await connection.close()
        if isinstance(error, sqlite3.OperationalError) and "malformed" not in str(error):
            raise StoreError(f"{path}: {error}") from error
        raise _set_aside(path, error) from error
    except BaseException:
        if connection:
            await connection.close()
        raise
    return connection


async def _check(connection: Connection) -> None:
    rows = await connection.rows("PRAGMA quick_check(1)")
    if rows[0][0] != "ok":
        raise sqlite3.DatabaseError(str(rows[0][0]))


async def _migrate(connection: Connection, path: Path) -> None:
    table = "CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, at REAL NOT NULL)"
    await connection.transact(lambda database: database.execute(table).rowcount)
    done = {row[0] for row in await connection.rows("SELECT name FROM migrations")}
    unknown = sorted(done - {name for name, _ in MIGRATIONS})
    if unknown:
        schema = f"schema {unknown[-1]}"
        raise SchemaFromFutureError(
            f"{path}: written by a newer version of gateway-memory ({schema}); upgrade the package"
        )

    def migrate(database: sqlite3.Connection) -> None:
        for name, script in MIGRATIONS:
            if database.execute("INSERT OR IGNORE INTO migrations VALUES (?, ?)", (name, time.time())).rowcount:
                for statement in _statements(script):
                    database.execute(statement)

    await connection.transact(migrate)  # another process may be at it too: then its records are found here


def _set_aside(path: Path, error: Exception) -> JournalDamagedError:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    aside = path.with_name(f"{path.name}.damaged-{stamp}")
    for suffix in ("", "-wal", "-shm"):
        source = path.with_name(path.name + suffix)
        if source.exists():
            source.rename(aside.with_name(aside.name + suffix))
    log.error("journal.damaged", error=type(error).__name__)
    return JournalDamagedError(
        f"{path} is damaged ({error}). It was set aside as {aside.name}, and your Markdown files are untouched. "
        "Start again to go on with a new journal; turns that waited in the old one can be recovered from it with "
        "sqlite3's .recover."
    )


def _statements(script: str) -> Iterable[str]:
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
