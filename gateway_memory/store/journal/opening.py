"""Open the journal's file: check it, apply schema steps, and set a damaged one aside."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final

from gateway_memory.errors import JournalDamagedError, StoreError
from gateway_memory.ground.logs import get_logger
from gateway_memory.store.disk.aside import set_journal_aside
from gateway_memory.store.journal.connection import Connection
from gateway_memory.store.journal.sqlite import apply_steps, lost_columns, use_write_ahead_log

log = get_logger(__name__)


BUSY_SECONDS: Final = 10.0


async def open_database(path: Path, *, is_alone: Callable[[], bool]) -> Connection:
    """Open the file, and create it if it is missing.

    is_alone: returns whether no other process has the file open. No process may open it until this returns.

    Raises:
        JournalDamagedError: the file was not a readable database. It was renamed, unless another process has it open.
        SchemaFromFutureError: a newer version wrote it.
        StoreError: it can't be opened.
    """
    connection: Connection | None = None
    try:
        connection = await Connection.open(path, busy_seconds=BUSY_SECONDS)
        await connection.use(lambda database: _prepare(database, path))
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # the error message may quote damaged bytes
        if connection:
            await connection.close()
        if isinstance(error, sqlite3.OperationalError) and "malformed" not in str(error):
            raise StoreError(f"{path}: {error}") from error
        raise (_set_aside(path, error) if is_alone() else _in_use(path, error)) from error
    except BaseException:
        if connection:
            await connection.close()
        raise
    return connection


def _prepare(database: sqlite3.Connection, path: Path) -> None:
    use_write_ahead_log(database, seconds=BUSY_SECONDS)
    database.execute("PRAGMA synchronous = FULL")
    database.execute("PRAGMA foreign_keys = ON")
    check = str(database.execute("PRAGMA quick_check(1)").fetchone()[0])
    if check != "ok":
        raise sqlite3.DatabaseError(check)
    apply_steps(database, path)
    if lost := lost_columns(database):
        raise sqlite3.DatabaseError(f"{lost} columns have lost their names")


def _in_use(path: Path, error: Exception) -> JournalDamagedError:
    log.error("journal.damaged", error=type(error).__name__, left=True)
    return JournalDamagedError(
        f"{path} is damaged ({error}). Another process has this workspace open, so the file was left as it is. "
        "End that process, and start again: then the journal is set aside, and a new one begun."
    )


def _set_aside(path: Path, error: Exception) -> JournalDamagedError:
    aside = set_journal_aside(path)
    log.error("journal.damaged", error=type(error).__name__)
    return JournalDamagedError(
        f"{path} is damaged ({error}). It was set aside as {aside.name}, and your Markdown files are untouched. "
        "Start again to go on with a new journal. `gateway-memory doctor journal` brings back what can be read of the "
        "old one, now or later."
    )
