"""Rows in SQL: the tables of `tables`, in a database that knows SQL as SQLite and PostgreSQL both read it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

from gateway_memory.ground.databases import EVERY, Database
from recall.rows.columns import FIELDS, INSERTED, LOADED, STORED, TELLING, condition_of, joined, stored_of, values_of
from recall.rows.replacement import plan_replacements
from recall.rows.sqlite_file import translating
from recall.rows.tables import LoadedRow, Opening, Poll, RowKey, ScopeChanges, SearchTerms, VectorSpace
from recall.types import FileChange, FileEntries, Filter, Stamp, Stored

if TYPE_CHECKING:
    from recall.rows.postgres_large import LargeRows

# Whose vectors the rows have: those of two encoders at most, each in a table of its own.
#
# While the vectors of another encoder are made, the old ones go on serving the processes that have the old encoder.
# So a change begins with a few words in the table `meta`, however many rows there are, and two processes with two
# encoders take nothing from each other. A row's `embedded` is the sum of the flags of the tables that have a vector
# of it: 0 to 3.

_VECTOR_TABLES = {1: "vector", 2: "vector_2"}
BOTH = 3

# A process notes so often that it reads vectors, where there are those of two encoders.
_NOTED_SECONDS = 60.0
# So long after the last note, vectors that no row needs are removed.
_UNUSED_SECONDS = 600.0


class Slot(NamedTuple):
    """The vectors of an encoder. used: when a process last noted that it reads them, epoch seconds.

    The name of the encoder is "" while they are removed.
    """

    flag: int
    space: VectorSpace
    used: float

    @property
    def table(self) -> str:
        return _VECTOR_TABLES[self.flag]

    @property
    def encoder(self) -> tuple[str, int]:
        return self.space.name, self.space.dimension

    @property
    def other(self) -> int:
        """The flag of the other encoder's vectors."""
        return BOTH - self.flag

    def key(self, name: str) -> str:
        """Return a key of `meta`; those of the first table are older than the second one."""
        return name if self.flag == 1 else f"{name} {self.flag}"

    def stored(self) -> dict[str, str]:
        """Return what is kept of it in `meta`."""
        name, dimension, unrelated, related = self.space
        values = {"encoder": name, "dimension": dimension, "scale": f"{unrelated} {related}", "used": self.used}
        return {self.key(key): str(value) for key, value in values.items()}


class Spaces(NamedTuple):
    """All encoders that rows have vectors of. newest: the flag of the one that came last."""

    slots: tuple[Slot, ...] = ()
    newest: int = 1

    @classmethod
    def of(cls, meta: Mapping[str, str]) -> Self:
        """Read them from the table `meta`. Raises ValueError where it makes no sense."""
        slots = []
        for flag in _VECTOR_TABLES:
            blank = Slot(flag, VectorSpace("", 0, 0, 0), 0.0)
            if blank.key("encoder") not in meta:
                continue
            dimension, scale = int(meta[blank.key("dimension")]), meta[blank.key("scale")]
            unrelated, related = map(float, scale.split())
            space = VectorSpace(str(meta[blank.key("encoder")]), dimension, unrelated, related)
            slots.append(Slot(flag, space, float(meta.get(blank.key("used"), 0))))
        return cls(tuple(slots), int(meta.get("newest") or 1))

    def find(self, encoder: tuple[str, int] | None) -> Slot | None:
        """Return the vectors of an encoder, by its name and dimension."""
        return next((slot for slot in self.slots if slot.encoder == encoder), None)

    def read_by(self, encoder: tuple[str, int] | None) -> Slot | None:
        """Return the vectors that a process with this encoder reads: its own, else the newest."""
        named = sorted((slot for slot in self.slots if slot.space.name), key=lambda slot: slot.flag != self.newest)
        return self.find(encoder) or next(iter(named), None)

    @property
    def leaving(self) -> Slot | None:
        """Vectors that are being removed."""
        return next((slot for slot in self.slots if not slot.space.name), None)

    def other_than(self, slot: Slot) -> Slot | None:
        """Return the vectors of the other encoder, if there is one."""
        return next((each for each in self.slots if each.flag == slot.other), None)

    def added(self, space: VectorSpace, now: float) -> Slot | None:
        """Return where the vectors of one more encoder go; None where two have theirs already."""
        free = [flag for flag in _VECTOR_TABLES if all(slot.flag != flag for slot in self.slots)]
        return Slot(free[0], space, now) if free else None


# A process that missed more removals than these loads the scope again.
_REMOVALS_KEPT = 10_000
_AT_ONCE = 500  # values, which SQLite limits
# Vectors of an encoder that is no longer used are removed so many in a transaction.
_UNUSED_AT_ONCE = 1_000
_TABLES = ("row", "vector", "vector_2")
_PUT_META = "insert into meta values (?, ?) on conflict (key) do update set value = excluded.value"
_NONE = VectorSpace("", 0, 0, 0)


class RowsDatabase(Protocol):
    """What holds the tables. hint: how to name the index of rows by revision, for a query that needs the hint."""

    hint: str

    @property
    def connection(self) -> Database: ...

    def open(self) -> Opening: ...

    def close(self) -> None: ...

    def poll(self) -> Poll: ...

    def recreate(self) -> None: ...

    def is_current(self) -> bool: ...

    def see(self, scope: str) -> None:
        """See the rows of this scope alone from now on. The queries name it too.

        A database may compare it as well, by row-level security.

        "": none, for the tables `scope` and `meta`, which have no policy.
        """

    def writing(self) -> AbstractContextManager[Database]:
        """A transaction that rolls back on any exception. What it reads after it has changed a scope is current."""

    def reading(self) -> AbstractContextManager[object]:
        """A transaction in which nothing changes between two reads."""

    def erasing(self) -> AbstractContextManager[Database]:
        """A transaction after which nothing of what it deletes is left in the storage, as far as that can be had."""

    def shed(self) -> None:
        """Leave nothing of what was deleted in a log of the storage, as far as that can be had without waiting."""


@translating
class Rows:
    """The rows of an index by scope, shared by several processes. One thread at a time calls it, and may block.

    Each commit that touches a scope raises the scope's revision, under a lock: who has read up to a revision misses
    nothing that is committed later. Sequences identify rows, and grow with each insertion into a scope.

    Rows can always be made again, so damaged ones may be dropped. Every method raises
        RowsBusyError: another process holds a lock; the same call may soon succeed.
        RowsDamagedError: what is stored cannot be read, or makes no sense.
        RecallError: it cannot be read or written.
    A call that raises has changed nothing. Writers of a scope wait for each other, since each raises its revision.
    """

    def __init__(self, database: RowsDatabase) -> None:
        self._database = database
        # The encoder of this process, and the vectors that it reads.
        self._encoder: tuple[str, int] | None = None
        self._spaces = Spaces()
        self._slot = Slot(1, _NONE, 0.0)

    def open(self) -> Opening:
        """Open the rows; damaged ones are replaced by none."""
        return self._database.open()

    def close(self) -> None:
        """Release everything; it may be opened again."""
        self._database.close()

    def poll(self) -> Poll:
        """Return what other processes did since the last poll."""
        return self._database.poll()

    @contextmanager
    def following(self, scope: str) -> Iterator[Poll]:  # noqa: ARG002 - see PostgresRows
        """Poll for a block that reads rows, those of this scope if it is not "", as they are now."""
        yield self.poll()

    def is_current(self) -> bool:
        """Return whether the last poll could ask the storage; else what is in memory may be older than it."""
        return self._database.is_current()

    def recreate(self) -> None:
        """Put empty rows in the place of damaged ones, unless another process has done so."""
        self._database.recreate()

    def _rows(self, query: str, *values: Any) -> list[Any]:
        return self._database.connection.execute(query, values).fetchall()

    def _of(self, scope: str, query: str, *values: Any) -> list[Any]:
        """Return rows of a query that sees a scope alone, and whose first value is the scope."""
        self._database.see(scope)
        return self._rows(query, scope, *values)

    # Reading

    def revision(self, scope: str) -> int:
        """Return a scope's revision; 0 where it has never had rows."""
        return self._scope(scope)[0]

    def _scope(self, scope: str) -> tuple[int, int]:
        """Return a scope's revision, and up to which one it is no longer known what was removed."""
        rows = self._rows("select revision, forgotten from scope where key = ?", scope)
        return (int(rows[0][0]), int(rows[0][1])) if rows else (0, 0)

    def load(self, scope: str, after: int, limit: int) -> Sequence[LoadedRow]:
        """Return the first rows of a scope behind a sequence."""
        self._database.see(scope)
        where = "where r.scope = ? and r.sequence > ? order by r.sequence limit ?"
        return self._load(scope, where, scope, after, limit)

    def _load(self, scope: str, where: str, *values: Any, hint: str = "") -> list[LoadedRow]:  # noqa: ARG002 - see PostgresRows
        """Return rows of a scope as the index loads them."""
        query = f"select {LOADED} from {joined(self._slot.table, hint)} {where}"
        return [LoadedRow._make(row) for row in self._rows(query, *values)]

    def large(self, scope: str, loaded: int) -> "LargeRows | None":  # noqa: ARG002 - all scopes are loaded
        """Return a scope that the storage searches; None for one to load. loaded: how many rows of it are in memory."""
        return None

    def changed_since(self, scope: str, revision: int) -> ScopeChanges | None:
        """Return what changed after a revision; None where that is no longer known, and the scope is to be loaded."""
        self._database.see(scope)
        with self._database.reading():
            current, forgotten = self._scope(scope)
            if current < revision or revision < forgotten:
                return None
            if current == revision:
                return ScopeChanges(current, (), (), ())
            since = (scope, revision)
            where = "where r.scope = ? and r.revision > ? order by r.sequence"
            rows = self._load(scope, where, *since, hint=self._database.hint)
            removed = self._rows("select sequence from removed where scope = ? and revision > ?", *since)
            of = f"from {self._slot.table} where scope = ? and revision > ?"
            vectors = self._rows(f"select sequence, vector {of} order by sequence", *since)
            return ScopeChanges(current, rows, [sequence for (sequence,) in removed], vectors)

    def added_since(self, scope: str, revision: int) -> tuple[int, Sequence[Stored]]:
        """Return a scope's revision, and its items that were inserted after `revision`, the oldest first."""
        self._database.see(scope)
        with self._database.reading():
            where = "r.scope = ? and r.revision > ? and r.added > ? and r.kind = 'item' order by r.sequence"
            return self._scope(scope)[0], self._read_stored(scope, where, revision, revision)

    def _read_stored(self, scope: str, where: str, *values: Any) -> list[Stored]:
        """Return rows by a condition over r, of which the first value is the scope."""
        query = f"select {STORED} from row r where {where}"
        return [stored_of(scope, row) for row in self._of(scope, query, *values)]

    def stamps(self, scope: str) -> Mapping[str, Stamp]:
        """Return the files of a scope as they were when their rows were replaced."""
        rows = self._of(scope, "select name, mtime_ns, size, digest from file where scope = ?")
        return {name: Stamp(mtime_ns=mtime, size=size, digest=digest) for name, mtime, size, digest in rows}

    def in_files(self, scope: str, files: Sequence[str]) -> Sequence[Stored]:
        """Return the rows of some files, in no order."""
        return self._read_among(scope, "file", files)

    def by_ids(self, scope: str, ids: Sequence[str]) -> Sequence[Stored]:
        """Return the rows of these ids, in no order; unknown ids are left out."""
        return self._read_among(scope, "id", ids)

    def by_sequences(self, scope: str, sequences: Sequence[int]) -> Sequence[Stored]:
        """Return the rows of these sequences, in no order; unknown ones are left out."""
        return self._read_among(scope, "sequence", sequences)

    def _read_among(self, scope: str, column: str, values: Sequence[Any]) -> list[Stored]:
        stored: list[Stored] = []
        for start in range(0, len(values), _AT_ONCE):
            part = values[start : start + _AT_ONCE]
            stored += self._read_stored(scope, f"r.scope = ? and r.{column} in ({','.join('?' * len(part))})", *part)
        return stored

    def newest(self, scope: str, limit: int) -> Sequence[Stored]:
        """Return the items that were inserted last, the newest first."""
        return self._read_stored(scope, "r.scope = ? and r.kind = 'item' order by r.sequence desc limit ?", limit)

    def listed(self, scope: str, only: Filter, limit: int) -> Sequence[Stored]:
        """Return the items that pass a filter, the newest first by `at`. Stage summaries never pass."""
        condition, values = condition_of(only)
        # A file has few rows, which the index of files finds: that of times would be walked in search of them.
        at = "r.at + 0" if only.file else "r.at"
        where = f"r.scope = ? and r.kind = 'item' and {condition} order by {at} desc, r.sequence desc limit ?"
        return self._read_stored(scope, where, *values, limit)

    def coming(self, scope: str, day: str, limit: int) -> Sequence[Stored]:
        """Return the items that hold until a day (YYYY-MM-DD) or later, those that end first before the others."""
        where = "r.scope = ? and r.kind = 'item' and r.type <> 'S' and r.until <> '' and r.until >= ?"
        return self._read_stored(scope, f"{where} order by r.until, r.at desc limit ?", day, limit)

    def began(self, scope: str) -> float:
        """Return when the oldest item of a scope was said, in epoch seconds; 0 without one."""
        where = "r.scope = ? and r.kind = 'item' and r.type <> 'S' order by r.at limit 1"
        return float(next((at for (at,) in self._of(scope, f"select r.at from row r where {where}")), 0.0))

    def telling(self, scope: str, least: float, limit: int) -> Sequence[Stored]:
        """Return the passages of the user from an importance above .5 on, the most important first."""
        return self._read_stored(scope, f"r.scope = ? and {TELLING}", least, limit)

    def matching(self, scope: str, only: Filter) -> Sequence[int]:
        """Return the sequences of all rows that pass a filter. Stage summaries never pass."""
        condition, values = condition_of(only)
        query = f"select r.sequence from row r where r.scope = ? and {condition}"
        return [sequence for (sequence,) in self._of(scope, query, *values)]

    def count(self, scope: str) -> int:
        """Return how many items a scope has."""
        ((count,),) = self._of(scope, "select count(*) from row where scope = ? and kind = 'item'")
        return int(count)

    # Writing

    def replace(self, scope: str, files: Sequence[FileEntries], prepared: Mapping[str, SearchTerms]) -> FileChange:
        """Make the rows of files those of their entries, one file after the other; see `plan_replacements`.

        No id is new in two of the files. prepared: search terms by id; those that are missing are made here.
        """
        self._database.see(scope)
        with self._database.writing() as connection:
            connection.execute("insert into scope (key) values (?) on conflict do nothing", (scope,))
            revision = self._next_revision(scope)  # which waits for another writer of the scope
            known = [*self.in_files(scope, [file.name for file in files])]
            missing = {entry.id for file in files for entry in file.entries} - {row.entry.id for row in known}
            known += self.by_ids(scope, sorted(missing))
            plan = plan_replacements(known, files, prepared)
            self._remove(revision, scope, plan.gone)
            columns = ", ".join(f"{name} = ?" for name in ("revision", "file", *FIELDS, "traits"))
            connection.executemany(
                f"update row set {columns} where scope = ? and sequence = ?",
                [
                    (revision, name, *values_of(entry), traits, scope, sequence)
                    for sequence, name, entry, traits in plan.changed
                ],
            )
            columns, marks = ", ".join(INSERTED), ", ".join("?" * len(INSERTED))
            connection.executemany(
                f"insert into row ({columns}) values ({marks})",
                [(revision, revision, scope, name, *values_of(entry), *terms) for name, entry, terms in plan.fresh],
            )
            for file in files:
                connection.execute("delete from file where scope = ? and name = ?", (scope, file.name))
                if (stamp := file.stamp) is not None:
                    values = (scope, file.name, stamp.mtime_ns, stamp.size, stamp.digest)
                    connection.execute("insert into file values (?, ?, ?, ?, ?)", values)
        if plan.gone or plan.changed:
            self._database.shed()
        added = self.by_ids(scope, [entry.id for _, entry, _ in plan.fresh])
        return FileChange(added=tuple(sorted(added, key=lambda stored: stored.sequence)), removed=tuple(plan.left))

    def _next_revision(self, scope: str) -> int:
        query = "update scope set revision = revision + 1 where key = ? returning revision"
        return int(self._rows(query, scope)[0][0])

    def _remove(self, revision: int, scope: str, sequences: Sequence[int]) -> None:
        if not sequences:
            return
        connection, named = self._database.connection, [(scope, sequence) for sequence in sequences]
        for table in _TABLES:
            connection.executemany(f"delete from {table} where scope = ? and sequence = ?", named)
        connection.executemany("insert into removed values (?, ?, ?)", [(revision, *each) for each in named])
        newest = "select rowid from removed where scope = ? order by revision desc, rowid desc limit 1"
        old = f"delete from removed where scope = ? and rowid <= ({newest}) - ?"
        forgotten = self._rows(f"{old} returning revision, scope", scope, scope, _REMOVALS_KEPT)
        connection.executemany("update scope set forgotten = max(forgotten, ?) where key = ?", forgotten)

    def erase(self, scope: str) -> None:
        """Delete a scope so that nothing of it can be read from the storage. No other process may have it open."""
        self._database.see(scope)
        with self._database.erasing() as connection:
            for table in (*_TABLES, "removed", "file"):
                connection.execute(f"delete from {table} where scope = ?", (scope,))
            connection.execute("delete from scope where key = ?", (scope,))

    # Vectors

    def vector_space(self) -> VectorSpace:
        """Return whose vectors are read here: those of the encoder in use, else the newest one's."""
        self._database.see("")
        self._spaces = Spaces.of(self._meta())
        self._slot = self._spaces.read_by(self._encoder) or Slot(1, _NONE, 0.0)
        return self._slot.space

    def _meta(self) -> dict[str, str]:
        return dict(self._rows("select key, value from meta"))

    def use_vector_space(self, space: VectorSpace, now: float, *, begins: bool) -> bool:
        """Read and keep the vectors of this encoder from now on; return whether that is so.

        It takes the same time for any number of rows: they wait for their vectors. Vectors of another encoder stay for
        the processes that use them.

        now: epoch seconds. begins: whether vectors of an encoder that has none yet may begin. Where two have theirs,
        those of one are to be removed first, see `remove_unused_vectors`; then call it again.
        """
        self._encoder = (space.name, space.dimension)
        self.vector_space()
        slot, noted = self._spaces.find(self._encoder), True
        if slot is None and begins:
            with self._database.writing() as connection:
                # Of two processes that begin, one waits here.
                query = "insert into meta values ('newest', '') on conflict (key) do update set value = meta.value"
                connection.execute(query)
                self.vector_space()
                if self._spaces.find(self._encoder) is None:
                    connection.executemany(_PUT_META, [*self._begun(space, now).items()])
        elif slot is not None and self._spaces.other_than(slot) and now - slot.used > _NOTED_SECONDS:
            with self._database.writing() as connection:
                connection.execute(_PUT_META, (slot.key("used"), str(now)))
        else:
            noted = False
        found = self.vector_space() if noted else self._slot.space
        return found.name == space.name and found.dimension == space.dimension

    def _begun(self, space: VectorSpace, now: float) -> dict[str, str]:
        """Return what to note for the vectors of one more encoder: where they go, or which others leave first."""
        slot = self._spaces.added(space, now)
        if slot is None:
            return {} if self._spaces.leaving else {self._spared().key("encoder"): ""}
        noted = {**slot.stored(), "newest": str(slot.flag)}
        if (old := self._spaces.other_than(slot)) is not None:
            noted[old.key("used")] = str(now)  # who reads them has time to note it
        return noted

    def _spared(self) -> Slot:
        """Return which of two encoders' vectors a third one's replace: the newer ones, unless all rows have them."""
        newest, old = sorted(self._spaces.slots, key=lambda slot: slot.flag != self._spaces.newest)
        return newest if self._needed(old.flag) else old

    def _needed(self, flag: int) -> bool:
        """Return whether a row has no vector but this encoder's."""
        self._database.see(EVERY)
        return bool(self._rows("select 1 from row where embedded = ? limit 1", flag))

    def remove_unused_vectors(self, now: float) -> bool:
        """Remove a page of vectors whose encoder has not been used lately, if no row needs them; True: call it again.

        A row needs them while the encoder in use here has made none for it.
        """
        self.vector_space()
        leaving = self._spaces.leaving
        if leaving is not None:
            self._remove_vectors(leaving)
            return True
        ours = self._spaces.find(self._encoder)
        old = ours and self._spaces.other_than(ours)
        if old is None or now - old.used <= _UNUSED_SECONDS or self._needed(old.flag):
            return False
        with self._database.writing() as connection:
            connection.execute(_PUT_META, (old.key("encoder"), ""))
        return True

    def _remove_vectors(self, slot: Slot) -> None:
        """Remove a page of vectors, and at the end what is noted of their encoder."""
        table, most = slot.table, _UNUSED_AT_ONCE
        self._database.see(EVERY)
        with self._database.writing() as connection:
            query = (
                "update row set embedded = embedded & ? from (select scope as owner, sequence as place from row"
                " where embedded in (?, ?) order by embedded, sequence limit ?) as page"
                " where scope = owner and sequence = place returning scope, sequence"
            )
            page = self._rows(query, slot.other, slot.flag, BOTH, most)
            page = page or self._rows(f"select scope, sequence from {table} limit ?", most)
            connection.executemany(f"delete from {table} where scope = ? and sequence = ?", page)
            if not page:
                connection.executemany("delete from meta where key = ?", [(key,) for key in slot.stored()])

    def totals(self) -> tuple[int, int]:
        """Return how many rows there are over all scopes, and how many wait for a vector of those that are read."""
        self._database.see(EVERY)
        ((rows,),) = self._rows("select count(*) from row")
        ((pending,),) = self._rows("select count(*) from row where embedded in (0, ?)", self._slot.other)
        return int(rows), int(pending)

    def pending(self, limit: int) -> Sequence[Stored]:
        """Return rows that wait for a vector: first those that have none at all; of each kind, the newest first."""
        return self._pending(0, limit) or self._pending(self._slot.other, limit)

    def _pending(self, embedded: int, limit: int) -> list[Stored]:
        """Return rows that have no vector at all (0), or only the other encoder's (its flag)."""
        self._database.see(EVERY)
        query = f"select r.scope, {STORED} from row r where r.embedded = ? order by r.sequence desc limit ?"
        return [stored_of(scope, row) for scope, *row in self._rows(query, embedded, limit)]

    def put_vectors(self, space: VectorSpace, vectors: Sequence[tuple[RowKey, bytes]]) -> frozenset[str] | None:
        """Give rows, by their keys, their vectors; return the touched scopes. Rows that are gone get none.

        None, and nothing is kept, where no vectors of an encoder with this name and dimension are kept.
        """
        revisions: dict[str, int] = {}
        with self._database.writing() as connection:
            self.vector_space()
            slot = self._spaces.find((space.name, space.dimension))
            if slot is None:
                return None
            self._database.see(EVERY)
            for (scope, sequence), vector in vectors:
                query = "update row set embedded = embedded | ? where scope = ? and sequence = ? returning 1"
                if self._rows(query, slot.flag, scope, sequence):
                    if scope not in revisions:
                        revisions[scope] = self._next_revision(scope)
                    connection.execute(put_vector(slot.table), (sequence, scope, revisions[scope], vector))
        return frozenset(revisions)


def put_vector(table: str) -> str:
    """Return the statement that gives a row its vector: sequence, scope, revision, vector."""
    return (
        f"insert into {table} (sequence, scope, revision, vector) values (?, ?, ?, ?)"
        " on conflict (scope, sequence) do update set"
        " revision = excluded.revision, vector = excluded.vector"
    )
