"""index.sqlite: rows, terms and vectors by scope, shared by several processes. Plain SQLite, no numpy.

Disposable: a file that is missing, damaged or of another format is replaced by an empty one. Every write raises the
file's revision, so that another process finds what is new since it last looked (`rows_since`, `removed_since`).
"""

import fcntl
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from recall.index.schema import FORMAT, SCHEMA
from recall.index.seal import break_seal, put_seal, seal_of
from recall.log import get_logger
from recall.types import Entry, Stamp, Stored

__all__ = ["LOADED_COLUMNS", "IndexedRow", "Store"]

_log = get_logger(__name__)

_ENTRY = "id, text, at, kind, type, category, importance, confidence, session, heading, speaker, reply, until"
_FIELDS = tuple(_ENTRY.split(", "))
_TYPES = (str, str, float, str, str, str, float, float, str, str, str, str, str)
_STORED = f"r.sequence, r.file, s.key, {', '.join(f'r.{field}' for field in _FIELDS)}"
# What memory holds of each row, in the order of `Store.load`'s tuples.
LOADED_COLUMNS = "sequence, at, importance, confidence, type, kind, file, session, traits, speaker_term, length, terms"
# A process that missed more removals than these loads the scope again.
_REMOVALS_KEPT = 10_000


def _stored(row: tuple[Any, ...]) -> Stored:
    sequence, file, scope, *values = row
    entry = Entry(**dict(zip(_FIELDS, values, strict=True)))
    if not isinstance(file, str) or not all(map(isinstance, values, _TYPES)):
        raise ValueError("a row holds what nobody has put there")
    return Stored(entry=entry, scope=scope, file=file, sequence=sequence)


# Of scopes, in memory: another one is asked for.
_MOST_NUMBERS = 10_000


class IndexedRow(NamedTuple):
    """What of an entry is searched by: see `index.prepare`. `terms`: uint32 little-endian; `length` of them count."""

    traits: int
    speaker_term: int
    length: int
    terms: bytes


class Store:
    """One connection, used from one thread. Methods raise sqlite3.Error; `lost()` says when the file was replaced.

    `open` raises BlockingIOError while another process opens the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._inode: int | None = None
        self.was_damaged = False  # when it was opened
        self._scopes: dict[str, int] = {}

    @property
    def connection(self) -> sqlite3.Connection:
        assert self._connection is not None
        return self._connection

    def open(self) -> bool:
        """Open the file, or make it anew. True if it had to be made."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Two processes that find the same damage must not each remove what the other has just made.
        with Path(f"{self.path}.lock").open("w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # who opens tries again
            self.was_damaged = not break_seal(self.path)
            if self.was_damaged:
                _log.warning("recall.index_replaced", reason="seal")
                self._unlink()
            if self.path.exists():
                try:
                    self._connect()
                    if self._is_ours():
                        return False
                    reason = "format"
                except (sqlite3.DatabaseError, ValueError) as error:
                    if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                        raise
                    reason = type(error).__name__
                    self.was_damaged = True
                self.close()
                _log.warning("recall.index_replaced", reason=reason)
                self._unlink()
            self._connect()
            with self.writing():
                for statement in SCHEMA.split(";"):
                    self.connection.execute(statement)
                self.connection.executemany(
                    "insert into meta values (?, ?)", [("format", FORMAT), ("revision", "0"), ("encoder", "")]
                )
            return True

    def discard(self) -> None:
        """Remove the file if it is still the one that was opened."""
        with Path(f"{self.path}.lock").open("w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self.lost():
                self._unlink()

    def _unlink(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)
        seal_of(self.path).unlink(missing_ok=True)

    def _connect(self) -> None:
        # Autocommit: transactions are only those that `writing` begins.
        self._connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=0.05)
        self._inode = self.path.stat().st_ino
        self._scopes = {}
        self.connection.execute("pragma journal_mode = wal")
        # Losing the last writes at a power cut costs nothing: stamps go with the rows, so the files are read again.
        self.connection.execute("pragma synchronous = normal")

    def _is_ours(self) -> bool:
        tables = self.connection.execute("select count(*) from sqlite_master where name = 'meta'").fetchone()[0]
        if not tables or self.meta("format") != FORMAT:
            return False
        # Reads a page or two of every table, which finds a file that was cut or overwritten; the rest shows on reading.
        for table in ("scope", "file", "row", "vector", "removed"):
            self.connection.execute(f"select * from {table} limit 1").fetchone()
        self.revision()
        return True

    def lost(self) -> bool:
        """Whether another process has replaced the file under us."""
        try:
            return self.path.stat().st_ino != self._inode
        except FileNotFoundError:
            return True

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            put_seal(self.path)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction that rolls back on any exception, a cancel included."""
        self.connection.execute("begin immediate")
        try:
            yield
        except BaseException:
            self.connection.execute("rollback")
            # Scopes that the transaction had numbered are gone with it.
            self._scopes = {}
            raise
        self.connection.execute("commit")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One unchanging view for several reads."""
        self.connection.execute("begin")
        try:
            yield
        finally:
            self.connection.execute("rollback")

    def meta(self, key: str) -> str:
        row = self.connection.execute("select value from meta where key = ?", (key,)).fetchone()
        return str(row[0]) if row else ""

    def set_meta(self, key: str, value: str) -> None:
        self.connection.execute("insert or replace into meta values (?, ?)", (key, value))

    def data_version(self) -> int:
        """Changes whenever another connection has committed."""
        return int(self.connection.execute("pragma data_version").fetchone()[0])

    def revision(self) -> int:
        return int(self.meta("revision"))

    def next_revision(self) -> int:
        """The number of the write that is being made. Within `writing`."""
        number = self.revision() + 1
        self.set_meta("revision", str(number))
        return number

    def scope_number(self, key: str, *, make: bool = False) -> int | None:
        number = self._scopes.get(key)
        if number is None:
            row = self.connection.execute("select number from scope where key = ?", (key,)).fetchone()
            if row is None and make:
                row = self.connection.execute("insert into scope (key) values (?) returning number", (key,)).fetchone()
            if row is None:
                return None
            if len(self._scopes) >= _MOST_NUMBERS:
                self._scopes.clear()
            number = self._scopes[key] = int(row[0])
        return number

    def stamps(self, scope: int) -> dict[str, Stamp]:
        rows = self.connection.execute("select name, mtime_ns, size, digest from file where scope = ?", (scope,))
        return {name: Stamp(mtime_ns=mtime, size=size, digest=digest) for name, mtime, size, digest in rows}

    def set_stamp(self, scope: int, file: str, stamp: Stamp | None) -> None:
        self.connection.execute("delete from file where scope = ? and name = ?", (scope, file))
        if stamp is not None:
            values = (scope, file, stamp.mtime_ns, stamp.size, stamp.digest)
            self.connection.execute("insert into file values (?, ?, ?, ?, ?)", values)

    def rows(self, where: str, values: tuple[Any, ...]) -> list[Stored]:
        """Rows by a condition over r (row) and s (scope), with ordering and limit."""
        query = f"select {_STORED} from row r join scope s on s.number = r.scope where {where}"
        return [_stored(row) for row in self.connection.execute(query, values)]

    def owners(self, scope: int, ids: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for start in range(0, len(ids), 500):
            part = ids[start : start + 500]
            marks = ",".join("?" * len(part))
            query = f"select id, file from row where scope = ? and id in ({marks})"
            found.update(self.connection.execute(query, (scope, *part)))
        return found

    def by_sequences(self, sequences: list[int]) -> dict[int, Stored]:
        marks = ",".join("?" * len(sequences))
        return {stored.sequence: stored for stored in self.rows(f"r.sequence in ({marks})", tuple(sequences))}

    def insert(self, revision: int, scope: int, file: str, entry: Entry, indexed: IndexedRow) -> int:
        columns = f"revision, scope, file, {_ENTRY}, traits, speaker_term, length, terms"
        values = (revision, scope, file, *_values(entry), *indexed)
        marks = ", ".join("?" * len(values))
        cursor = self.connection.execute(f"insert into row ({columns}) values ({marks})", values)
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def update(self, revision: int, sequence: int, file: str, entry: Entry, traits: int) -> None:
        """New attributes of a row whose text, heading, speaker and reply stay."""
        columns = ", ".join(f"{name} = ?" for name in ("revision", "file", *_FIELDS, "traits"))
        values = (revision, file, *_values(entry), traits, sequence)
        self.connection.execute(f"update row set {columns} where sequence = ?", values)

    def remove(self, revision: int, scope: int, sequences: list[int]) -> None:
        single = [(sequence,) for sequence in sequences]
        self.connection.executemany("delete from row where sequence = ?", single)
        self.connection.executemany("delete from vector where sequence = ?", single)
        removals = [(revision, scope, sequence) for sequence in sequences]
        self.connection.executemany("insert into removed values (?, ?, ?)", removals)
        self.connection.execute(
            "delete from removed where rowid <= (select max(rowid) from removed) - ?", (_REMOVALS_KEPT,)
        )

    def load(self, scope: int, since: int = 0) -> sqlite3.Cursor:
        """Rows of a scope whose revision is after `since`, by sequence: LOADED_COLUMNS and the vector, or null."""
        columns = ", ".join(f"r.{name.strip()}" for name in LOADED_COLUMNS.split(","))
        # SQLite would read the whole scope to find the few rows that are new.
        rows, newer = ("row r indexed by row_revision", "r.revision > ?") if since else ("row r", "? = 0")
        return self.connection.execute(
            f"select {columns}, v.vector from {rows} left join vector v on v.sequence = r.sequence"
            f" where r.scope = ? and {newer} order by r.sequence",
            (scope, since),
        )

    def vectors_since(self, scope: int, since: int) -> list[tuple[int, bytes]]:
        return self.connection.execute(
            "select sequence, vector from vector where scope = ? and revision > ? order by sequence", (scope, since)
        ).fetchall()

    def removed_since(self, scope: int, since: int) -> list[int] | None:
        """Sequences that left a scope after revision `since`; None if they are no longer known."""
        oldest = self.connection.execute("select rowid, revision from removed order by rowid limit 1").fetchone()
        if oldest is not None and oldest[0] > 1 and oldest[1] > since:
            return None
        query = "select sequence from removed where revision > ? and scope = ?"
        return [row[0] for row in self.connection.execute(query, (since, scope))]

    def pending(self, limit: int) -> list[tuple[int, Stored]]:
        """Rows that wait for a vector, the newest first: what was just said is asked for next."""
        found = self.rows("r.embedded = 0 order by r.sequence desc limit ?", (limit,))
        return [(stored.sequence, stored) for stored in found]

    def pending_count(self) -> int:
        return int(self.connection.execute("select count(*) from row where embedded = 0").fetchone()[0])

    def put_vectors(self, revision: int, vectors: list[tuple[int, bytes]]) -> set[str]:
        """Give rows their vectors, and return their scopes' keys. Rows that were removed meanwhile get none."""
        scopes: set[int] = set()
        for sequence, vector in vectors:
            query = "update row set embedded = 1 where sequence = ? returning scope"
            for (scope,) in self.connection.execute(query, (sequence,)).fetchall():
                values = (sequence, scope, revision, vector)
                self.connection.execute("insert or replace into vector values (?, ?, ?, ?)", values)
                scopes.add(scope)
        marks = ",".join("?" * len(scopes))
        return {
            key for (key,) in self.connection.execute(f"select key from scope where number in ({marks})", [*scopes])
        }

    def forget_vectors(self, revision: int) -> None:
        """All of them: another encoder makes them anew. Rows get the revision, so that other processes follow."""
        self.connection.execute("delete from vector")
        self.connection.execute("update row set embedded = 0, revision = ?", (revision,))


def _values(entry: Entry) -> tuple[Any, ...]:
    return tuple(getattr(entry, name) for name in _FIELDS)
