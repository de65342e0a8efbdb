"""The journal's SQLite basics, for any connection: that of the service's thread, or that of a hook."""

import contextlib
import sqlite3
import time
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Final

from gateway_memory.errors import SchemaFromFutureError, StoreError
from gateway_memory.ground.files import private_file
from gateway_memory.store.disk.aside import JOURNAL_FILE, journals_aside
from gateway_memory.store.disk.workspace import STATE_FOLDER, private_folder
from gateway_memory.store.journal.sql import transaction
from gateway_memory.store.steps import FIRST, Steps

MIGRATION_TABLE: Final = "moving"
"""The table of a migration into this journal, which exists until that is complete."""
STEPS: Final = Steps(
    folder=Path(__file__).parent / "migrations",
    former=frozenset(
        "0001_spine 0002_extraction 0003_events 0004_sessions 0005_distillation 0006_session_ends 0007_switches "
        "0008_unreadable 0009_withheld 0010_leases 0011_episodes 0012_transcripts 0013_shown 0014_links 0015_requests "
        "0016_reviews 0017_reports 0018_gone 0019_health 0020_unread 0021_outdated 0022_counted".split()
    ),
)
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


def apply_steps(database: sqlite3.Connection, path: Path, *, by_migration: bool = False) -> None:
    """Apply missing schema steps, in one transaction.

    by_migration: one fills the journal.

    Raises:
        SchemaFromFutureError: a newer version wrote the file.
        StoreError: a migration into this memory was not completed, or a development version did not complete its steps.
        sqlite3.Error: the file can't be read or written.
    """
    if not by_migration and _has_table(database, MIGRATION_TABLE):
        raise StoreError(f"{path}: a move into this memory was not completed; run the same `gateway-memory move` again")
    steps = STEPS.read()
    if _read_applied(database, steps, path) == set(steps):
        return
    with transaction(database):
        database.execute("CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, at REAL NOT NULL)")
        applied = _read_applied(database, steps, path)  # another process may have migrated meanwhile
        for name in [name for name in steps if name not in applied]:
            if name == FIRST and STEPS.takes_over(applied):
                database.execute("DELETE FROM migrations")
            else:
                for statement in _statements(steps[name]):
                    database.execute(statement)
                if name == FIRST and path.name == JOURNAL_FILE and journals_aside(path.parent):
                    _count_on(database, path)
            database.execute("INSERT INTO migrations VALUES (?, ?)", (name, time.time()))


def _count_on(database: sqlite3.Connection, path: Path) -> None:
    """Let a new journal give none of the numbers that damaged ones beside it have given: they may be recovered."""
    from gateway_memory.store.journal.pages import DamagedFile  # no other start has time to import it

    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%'"
    counting = [str(row[0]) for row in database.execute(query)]
    numbers: dict[str, int] = {}
    for name in journals_aside(path.parent):
        with contextlib.suppress(OSError):
            for table, number in DamagedFile(path.with_name(name)).numbers(counting).items():
                numbers[table] = max(number, numbers.get(table, 0))
    database.executemany("INSERT INTO sqlite_sequence VALUES (?, ?)", sorted(numbers.items()))


def lost_columns(database: sqlite3.Connection) -> int:
    """Return how many columns have lost their names in a damaged schema."""
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as new:
        apply_steps(new, Path(":memory:"))
        return len(_columns(new) - _columns(database))


def _columns(database: sqlite3.Connection) -> set[tuple[str, str]]:
    query = "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'"
    return set(database.execute(query).fetchall())


def _read_applied(database: sqlite3.Connection, steps: Container[str], path: Path) -> set[str]:
    """Return the names of the steps that were applied. Raise StoreError where they are not those of this version."""
    if not _has_table(database, "migrations"):
        return set()
    applied = {name for (name,) in database.execute("SELECT name FROM migrations")}
    unknown = sorted(name for name in applied - STEPS.former if name not in steps)
    if unknown:
        raise SchemaFromFutureError(
            f"{path}: written by a newer version of gateway-memory (schema {unknown[-1]}); upgrade the package"
        )
    STEPS.check(applied, str(path))
    return applied


def _has_table(database: sqlite3.Connection, name: str) -> bool:
    return database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone() is not None


def _statements(script: str) -> Iterable[str]:
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


HOOK_BUSY_SECONDS: Final = 2.0
"""How long a hook waits for another process that writes."""


def open_journal(workspace: Path, *, by_migration: bool = False) -> sqlite3.Connection:
    """Open the journal, and create it or apply missing schema steps. The caller begins and ends transactions.

    by_migration: see `apply_steps`.

    Raises:
        SchemaFromFutureError: a newer version wrote it.
        StoreError: a migration into this memory was not completed.
        sqlite3.Error: it is damaged, or was locked for too long. The file is unchanged.
    """
    private_folder(workspace / STATE_FOLDER)
    path = workspace / JOURNAL_FILE
    private_file(path)
    connection = sqlite3.connect(path, isolation_level=None, timeout=HOOK_BUSY_SECONDS)
    try:
        use_write_ahead_log(connection, seconds=HOOK_BUSY_SECONDS)
        connection.execute("PRAGMA synchronous = FULL")
        apply_steps(connection, path, by_migration=by_migration)
    except BaseException:
        connection.close()
        raise
    return connection
