"""Rows in SQLite: one disposable file, opened under a lock, sealed when closed, and replaced when it is damaged."""

import fcntl
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gateway_memory.ground.files import private_file
from gateway_memory.ground.logs import get_logger
from recall.rows.seal import break_seal, opening_lock, put_seal, seal_of
from recall.rows.sql import Rows
from recall.rows.sqlite_file import FORMAT, SCHEMA, kind_of, translated
from recall.rows.tables import Opening, Poll
from recall.types import RecallError, RowsBusyError, RowsDamagedError

_log = get_logger(__name__)


_BUSY_SECONDS = 0.05


class Database:
    """A connection to an index; path None: in memory, and nothing on disk.

    is_readable: reads a little of everything, and raises where it makes no sense.
    """

    # Without the hint SQLite reads a whole scope to find the few rows that are new.
    hint = "indexed by row_revision"

    def __init__(self, path: Path | None, is_readable: Callable[[sqlite3.Connection], object]) -> None:
        self._path = path
        self._is_readable = is_readable
        self._connection: sqlite3.Connection | None = None
        # Between open() and close(); without a connection, replacing the file has failed, and is tried again.
        self._is_open = False
        self._inode = 0
        self._data_version = 0

    @property
    def connection(self) -> sqlite3.Connection:
        """The open connection."""
        if self._connection is None:
            raise RecallError("the index is not open")
        return self._connection

    def open(self) -> Opening:
        """Open the file, or make it anew."""
        with translated(f"the index {self._path} cannot be opened"):
            try:
                opening = self._open()
            except BaseException:
                self._disconnect()
                raise
        self._is_open = True
        return opening

    def _open(self) -> Opening:
        if self._path is None:
            self._connect(":memory:")
            self._make()
            return "made"
        # Two processes that find the same damage must not each remove what the other has just made.
        with opening_lock(self._path) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return self._open_locked(self._path)

    def _open_locked(self, path: Path) -> Opening:
        opening: Opening = "made"
        if not break_seal(path):
            _log.warning("recall.index_replaced", reason="seal")
            opening = "repaired"
            _unlink(path)
        if path.exists():
            try:
                self._connect(path)
                if self._has_our_format():
                    self._is_readable(self.connection)
                    self._add_later_indexes()
                    return "found"
                reason = "format"
            except (sqlite3.DatabaseError, ValueError, RowsDamagedError) as error:
                if isinstance(error, sqlite3.Error) and kind_of(error) is RowsBusyError:
                    raise
                reason, opening = type(error).__name__, "repaired"
            self._disconnect()
            _log.warning("recall.index_replaced", reason=reason)
            _unlink(path)
        self._connect(path)
        self._make()
        return opening

    def close(self) -> None:
        """Close the connection, and seal the file if nobody else has it open."""
        self._is_open = False
        self._shut()

    def _shut(self) -> None:
        if self._connection is not None:
            self._disconnect()
            if self._path is not None:
                put_seal(self._path)

    def poll(self) -> Poll:
        """Return what other processes did; a file that another process has replaced is opened again."""
        if self._is_open and (self._connection is None or self._is_lost()):
            self._shut()
            self.open()
            return "replaced"
        version = self._read_data_version()
        if version == self._data_version:
            return "unchanged"
        self._data_version = version
        return "changed"

    def recreate(self) -> None:
        """Put an empty file in the place of a damaged one, unless another process has done so."""
        self._disconnect()
        if self._path is not None:
            with opening_lock(self._path) as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not self._is_lost():
                    _unlink(self._path)
        self.open()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that rolls back on any exception, also a cancellation."""
        self.connection.execute("begin immediate")
        try:
            yield self.connection
        except BaseException:
            self.connection.execute("rollback")
            raise
        self.connection.execute("commit")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A transaction in which nothing changes between two reads."""
        self.connection.execute("begin")
        try:
            yield self.connection
        finally:
            self.connection.execute("rollback")

    @contextmanager
    def erasing(self) -> Iterator[sqlite3.Connection]:
        """A transaction after which no byte of the file holds what it deletes."""
        with self.writing() as connection:
            yield connection
        self.connection.execute("vacuum")
        self.shed()

    def shed(self) -> None:
        """Empty the write-ahead log, which holds what was deleted, unless somebody is reading from it."""
        self.connection.execute("pragma wal_checkpoint(truncate)").fetchall()

    def is_current(self) -> bool:
        """Return True: a file is there, or raises."""
        return True

    def see(self, scope: str) -> None:
        """Do nothing: a file has no row-level security."""

    def _is_lost(self) -> bool:
        """Return whether another process has replaced the file."""
        if self._path is None:
            return False
        try:
            return self._path.stat().st_ino != self._inode
        except FileNotFoundError:
            return True

    def _connect(self, path: Path | str) -> None:
        if self._path is not None:
            private_file(self._path)  # its write-ahead log gets the same mode
        # Autocommit: the only transactions are those that `writing` and `reading` begin.
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=_BUSY_SECONDS)
        self._connection = connection
        if self._path is not None:
            self._inode = self._path.stat().st_ino
        connection.execute("pragma journal_mode = wal")
        # Losing the last writes at a power cut costs nothing: stamps go with the rows, so the files are read again.
        connection.execute("pragma synchronous = normal")
        connection.execute("pragma secure_delete = on")
        self._data_version = self._read_data_version()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _make(self) -> None:
        with self.writing() as connection:
            for statement in _statements():
                connection.execute(statement)
            connection.execute("insert into meta values ('format', ?)", (FORMAT,))

    def _add_later_indexes(self) -> None:
        """Make the indexes that an older version did not make; searches find the same without them."""
        with suppress(sqlite3.OperationalError):  # busy, or a full disk: the next start tries again
            for statement in _statements():
                if statement.startswith("create index if not exists"):
                    self.connection.execute(statement)

    def _has_our_format(self) -> bool:
        if not self.connection.execute("select 1 from sqlite_master where name = 'meta'").fetchone():
            return False
        return bool(self.connection.execute("select value from meta where key = 'format'").fetchone() == (FORMAT,))

    def _read_data_version(self) -> int:
        """Return a number that changes whenever another connection has committed."""
        return int(self.connection.execute("pragma data_version").fetchone()[0])


def _statements() -> list[str]:
    lines = (line.partition("--")[0].strip() for line in SCHEMA.read_text("utf-8").splitlines())
    return [each.strip() for each in " ".join(lines).split(";") if each.strip()]


def _unlink(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    seal_of(path).unlink(missing_ok=True)


class SqliteRows(Rows):
    """`Rows` in SQLite. path: of index.sqlite; None: in memory, gone when it is closed.

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


def erase_scope(path: Path, scope: str) -> None:
    """Delete a scope from index.sqlite, so that no byte of the file holds any of it. The other scopes stay.

    Where the index is damaged it is replaced by an empty one; where there is none, none is made.

    Raises:
        RecallError: it cannot be opened or written.
    """
    if not path.exists():
        return
    rows = SqliteRows(path)
    rows.open()
    try:
        rows.erase(scope)
    except RowsDamagedError:
        rows.recreate()
    finally:
        rows.close()
