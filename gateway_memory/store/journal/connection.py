"""The journal's SQLite connection: each transaction is a job in its own thread. Opening checks the file and its schema.

Transactions that wait at the same time share one commit.
"""

import sqlite3
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import aiosqlite

from gateway_memory.errors import JournalDamagedError, store_failed
from gateway_memory.ground.files import private_file
from gateway_memory.store.journal.sql import Scopes, transaction

T = TypeVar("T")

IN_MEMORY: Final = Path(":memory:")
"""The path of a database without a file."""
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_ADVICE: Final = "End this process, see to the file, and start again; your Markdown files are untouched."


class _Transaction:
    """Work that waits for its commit, and then its result or its error."""

    def __init__(self, work: Callable[[sqlite3.Connection], object]) -> None:
        self.work = work
        self.result: object = None
        self.error: BaseException | None = None


class Connection(aiosqlite.Connection):
    """Runs a whole transaction as one job, while aiosqlite switches to its thread for each statement.

    Since a transaction is one job, no statement of another task can run between BEGIN and COMMIT, a cancelled task
    leaves no open transaction, and a commit needs only one thread switch.

    A file that was removed, replaced or damaged accepts no more writes, since they would be lost.
    """

    _path: Path
    _waiting: deque[_Transaction]
    _files: tuple[int, ...] = ()
    _damage: sqlite3.DatabaseError | UnicodeDecodeError | None = None

    @classmethod
    async def open(cls, path: Path, *, busy_seconds: float) -> "Connection":
        """Open a database, and create it if it is missing. Raises sqlite3.Error."""

        def connect() -> sqlite3.Connection:
            if path != IN_MEMORY:
                with suppress(OSError):  # then neither can SQLite make it, and says so
                    private_file(path)
            database = sqlite3.connect(path, isolation_level=None, timeout=busy_seconds)
            database.text_factory = _text
            database.execute("PRAGMA secure_delete = ON")
            return database

        connection = cls(connect, iter_chunk_size=64)
        connection._path = path
        connection._waiting = deque()
        _ = await connection  # returns itself, typed as its base class
        return connection

    @property
    def unhurried(self) -> "Connection":
        """The connection itself: a file has one writer at a time."""
        return self

    async def transact(
        self,
        work: Callable[[sqlite3.Connection], T],
        *,
        scopes: Scopes = (),  # noqa: ARG002 - a file has no row-level security
        exclusive: Sequence[str] = (),  # noqa: ARG002 - one writer at a time anyway
        shared: Sequence[str] = (),  # noqa: ARG002
        waits: bool = True,  # noqa: ARG002
    ) -> T:
        """Run `work` atomically. It is durable when this returns, and is rolled back if it raises.

        Calls that wait for the thread at the same time share one commit. What one of them raises rolls back only its
        own work; if the commit fails, all of them fail.

        Raises:
            JournalDamagedError: the file was removed, replaced or damaged since it was opened; nothing was written.
            StoreError: it could not be written; nothing was written.
        """
        waiting = _Transaction(work)
        self._waiting.append(waiting)
        await self._in_thread(self._commit_waiting)  # an earlier call's job may have done it already
        if waiting.error is not None:
            raise waiting.error
        return cast("T", waiting.result)

    async def read(self, work: Callable[[sqlite3.Connection], T], *, scopes: Scopes = ()) -> T:  # noqa: ARG002
        """Run read-only `work` on one snapshot of the database. It does not wait for writers. Raises StoreError."""

        def reading() -> T:
            with self._sound(), transaction(self._conn, begin="BEGIN"):
                return work(self._conn)

        return await self._in_thread(reading)

    async def rows(self, query: str, values: Sequence[object] = (), *, scopes: Scopes = ()) -> list[Any]:  # noqa: ARG002
        """Return all rows of a query. Raises StoreError."""
        return await self.read(lambda database: database.execute(query, values).fetchall())

    async def shed(self) -> None:
        """Empty the write-ahead log, which holds what was deleted, unless somebody reads from it. Raises StoreError."""

        def checkpoint() -> None:
            with self._sound():
                (busy_milliseconds,) = self._conn.execute("PRAGMA busy_timeout").fetchone()
                self._conn.execute("PRAGMA busy_timeout = 0")
                try:
                    self._conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                finally:
                    self._conn.execute(f"PRAGMA busy_timeout = {busy_milliseconds:d}")

        await self._in_thread(checkpoint)

    async def use(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` without a transaction or error translation. It begins its own transactions."""
        return await self._in_thread(lambda: work(self._conn))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        execute: Callable[..., Awaitable[T]] = self._execute  # aiosqlite leaves it untyped
        return await execute(work)

    def _commit_waiting(self) -> None:
        waiting = [self._waiting.popleft() for _ in range(len(self._waiting))]
        if not waiting:
            return
        try:
            with self._sound():
                self._look()
                with transaction(self._conn):
                    self._run_each(self._conn, waiting)
                self._look()  # it may have been removed meanwhile
        except BaseException as error:  # noqa: BLE001 - it belongs to the callers
            for each in waiting:
                each.error = each.error or error

    def _run_each(self, database: sqlite3.Connection, waiting: Sequence[_Transaction]) -> None:
        """Run the work of each. What one of several raises rolls back its own work alone."""
        if len(waiting) == 1:
            waiting[0].result = waiting[0].work(database)
            return
        for each in waiting:
            database.execute("SAVEPOINT one")
            try:
                with self._sound():
                    each.result = each.work(database)
            except Exception as error:
                if (
                    self._damage is not None or not database.in_transaction
                ):  # a full disk may have rolled all of it back
                    raise
                each.error = error
                database.execute("ROLLBACK TO one")
            database.execute("RELEASE one")

    @contextmanager
    def _sound(self) -> Iterator[None]:
        """Translate errors, and refuse further calls once the file is known to be damaged."""
        try:
            if self._damage is None:
                yield
                return
        except UnicodeDecodeError as error:  # the error message quotes damaged bytes
            self._damage = error
        except sqlite3.DatabaseError as error:
            if (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF not in _DAMAGED:
                raise store_failed(self._path, error) from error
            self._damage = error
        except (OSError, sqlite3.Error) as error:
            raise store_failed(self._path, error) from error
        message = f"{self._path} is damaged ({self._damage}): nothing more is accepted. {_ADVICE}"
        raise JournalDamagedError(message) from self._damage

    def _look(self) -> None:
        """Raise JournalDamagedError if the files are not those that were opened."""
        if self._path == IN_MEMORY:
            return
        inodes = tuple(_inode(Path(f"{self._path}{suffix}")) for suffix in ("", "-wal"))
        if 0 in inodes:
            if not self._files and inodes[0]:  # SQLite creates the log at the first write
                return
        elif inodes == (self._files or inodes):
            self._files = inodes
            return
        message = f"{self._path} was removed or replaced while it was open: nothing more is accepted. {_ADVICE}"
        raise JournalDamagedError(message)


def _text(raw: bytes) -> str:
    """Decode a text of the file. Damaged bytes are replaced, so that the rest can be read."""
    return raw.decode("utf-8", "replace")


def _inode(path: Path) -> int:
    """Return the inode number of a file, or 0 if it does not exist."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0
