"""Open the journal's file: check it, migrate it, and set a damaged one aside."""

import contextlib
import sqlite3
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Final

from gateway_memory.errors import JournalDamagedError, StoreError
from gateway_memory.observability.logger import get_logger
from gateway_memory.store.journal.connection import Connection
from gateway_memory.store.journal.sqlite import migrate, use_write_ahead_log

__all__ = ["open_database"]

log = get_logger(__name__)

_BUSY_SECONDS: Final = 10.0


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
        connection = await Connection.open(path, busy_seconds=_BUSY_SECONDS)
        await connection.use(lambda database: _prepare(database, path))
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # the error message may quote damaged bytes
        if connection:
            await connection.close()
        if isinstance(error, sqlite3.OperationalError) and "malformed" not in str(error):
            raise StoreError(f"{path}: {error}") from error
        raise (_set_aside(path, error) if is_alone() else _left(path, error)) from error
    except BaseException:
        if connection:
            await connection.close()
        raise
    return connection


def _prepare(database: sqlite3.Connection, path: Path) -> None:
    use_write_ahead_log(database, seconds=_BUSY_SECONDS)
    database.execute("PRAGMA synchronous = FULL")
    database.execute("PRAGMA foreign_keys = ON")
    found = str(database.execute("PRAGMA quick_check(1)").fetchone()[0])
    if found != "ok":
        raise sqlite3.DatabaseError(found)
    migrate(database, path)
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as new:
        migrate(new, path)
        lost = _columns(new) - _columns(database)
    if lost:
        raise sqlite3.DatabaseError(f"{len(lost)} columns have lost their names")


def _columns(database: sqlite3.Connection) -> set[tuple[str, str]]:
    query = "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'"
    return set(database.execute(query).fetchall())


def _left(path: Path, error: Exception) -> JournalDamagedError:
    log.error("journal.damaged", error=type(error).__name__, left=True)
    return JournalDamagedError(
        f"{path} is damaged ({error}). Another process has this workspace open, so the file was left as it is. "
        "End that process, and start again: then the journal is set aside, and a new one begun."
    )


def _set_aside(path: Path, error: Exception) -> JournalDamagedError:
    suffixes = ("", "-wal", "-shm")
    stamp = time.strftime("%Y%m%d-%H%M%S")
    names = (f"{path.name}.damaged-{stamp}{f'-{number}' if number else ''}" for number in count())
    aside = next(
        free
        for free in map(path.with_name, names)
        if not any(free.with_name(free.name + suffix).exists() for suffix in suffixes)
    )
    for suffix in suffixes:
        source = path.with_name(path.name + suffix)
        if source.exists():
            source.rename(aside.with_name(aside.name + suffix))
    log.error("journal.damaged", error=type(error).__name__)
    return JournalDamagedError(
        f"{path} is damaged ({error}). It was set aside as {aside.name}, and your Markdown files are untouched. "
        "Start again to go on with a new journal; turns that waited in the old one can be recovered from it with "
        "sqlite3's .recover."
    )
