"""The ports of rows: what recall needs of a store of rows, and what `SqlRows` needs of a database. Plain values."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, NamedTuple, Protocol

from recall.types import FileChange, FileEntries, Filter, Stamp, Stored

__all__ = [
    "EVERY",
    "HELD",
    "STANDING_TERM",
    "LargeScope",
    "LoadedRow",
    "Opening",
    "Poll",
    "Rows",
    "RowsDatabase",
    "ScopeChanges",
    "ScopeSize",
    "SearchTerms",
    "Statements",
    "VectorSpace",
]


Opening = Literal["found", "made", "repaired"]
"""How rows were opened: as they were left, empty, or empty because they were damaged."""

Poll = Literal["unchanged", "changed", "replaced"]
"""What other processes did: nothing, some writes, or they put empty rows in the place of damaged ones."""


class SearchTerms(NamedTuple):
    """What a row is searched by: see `replacement.prepare`.

    traits: see `topics.traits_of`. terms: uint32, little-endian, of which the first `length` count for BM25's length.
    """

    traits: int
    speaker_term: int
    length: int
    terms: bytes


class LoadedRow(NamedTuple):
    """The part of a row that the index holds in memory. vector: see `packing.packed`; None while it waits for one."""

    sequence: int
    at: float
    importance: float
    type: str
    kind: str
    file: str
    session: str
    turn: int
    traits: int
    speaker_term: int
    length: int
    terms: bytes
    vector: bytes | None


class ScopeChanges(NamedTuple):
    """What has changed in a scope up to a revision.

    rows: new rows, and rows with other attributes or without their vector, by sequence. removed: sequences. vectors:
    new ones by sequence; those of new rows are among them.
    """

    revision: int
    rows: Sequence[LoadedRow]
    removed: Sequence[int]
    vectors: Sequence[tuple[int, bytes]]


class VectorSpace(NamedTuple):
    """An encoder whose vectors the rows have; name "" where they have none. The rest: see `Scale`."""

    name: str
    dimension: int
    unrelated: float
    related: float


# A row that holds a term, as bytes: the row's sequence, how often it holds the term, and the row's length.
HELD = [("sequence", "<i8"), ("frequency", "<u2"), ("length", "<u2")]
# In the place of a term: standing preferences. Other terms are not negative.
STANDING_TERM = -1


class ScopeSize(NamedTuple):
    """Counts over all rows of a scope. length: the sum of theirs. vector_sum: float32, of so many `vectors`."""

    rows: int
    length: int
    vectors: int
    vector_sum: bytes


class LargeScope(Protocol):
    """A scope that is not held in memory: the storage finds the rows that a search may want.

    Rows are named by their sequences. It raises what `Rows` does.
    """

    @property
    def size(self) -> ScopeSize: ...

    def reading(self) -> AbstractContextManager[object]:
        """A transaction in which nothing changes between two reads. The others are called within it."""
        ...

    def counts(self, terms: Sequence[int]) -> Mapping[int, int]:
        """Return how many rows hold each term; those that none holds are left out."""
        ...

    def holding(self, terms: Sequence[int]) -> Sequence[tuple[int, bytes]]:
        """Return which rows hold each term, in one or more parts a term; see `HELD`."""
        ...

    def nearest(self, vector: Sequence[float], limit: int, only: Filter | None) -> Sequence[int]:
        """Return about the rows with the highest products with a vector, of those that pass a filter."""
        ...

    def matching(self, only: Filter) -> Sequence[int]:
        """Return all rows that pass a filter."""
        ...

    def newest(self, limit: int) -> Sequence[int]:
        """Return the newest items, by `at`."""
        ...

    def dated(self, start: float, end: float, limit: int) -> Sequence[int]:
        """Return the first rows of a time: start <= at < end."""
        ...

    def recent(self) -> Sequence[int]:
        """Return the rows that `holding` or `nearest` may not know yet."""
        ...

    def beside(self, sequences: Sequence[int]) -> Sequence[tuple[int, int]]:
        """Return pairs of rows that follow each other: of each of these rows, the two before it and the one after."""
        ...

    def rows(self, sequences: Sequence[int]) -> Sequence[LoadedRow]:
        """Return rows, ascending; unknown ones are left out."""
        ...


class Rows(Protocol):
    """The rows of an index by scope, shared by several processes. One thread at a time calls it, and may block.

    Each commit that touches a scope raises the scope's revision, under a lock: who has read up to a revision misses
    nothing that is committed later. Sequences identify rows, and grow with each insertion into a scope.

    Rows can always be made again, so an adapter may drop damaged ones. Every method raises
        RowsBusyError: another process holds a lock; the same call may soon succeed.
        RowsDamagedError: what is stored cannot be read, or makes no sense.
        RecallError: it cannot be read or written.
    A call that raises has changed nothing.
    """

    def open(self) -> Opening:
        """Open the rows; damaged ones are replaced by none."""
        ...

    def close(self) -> None:
        """Release everything; it may be opened again."""
        ...

    def poll(self) -> Poll:
        """Return what other processes did since the last poll."""
        ...

    def is_current(self) -> bool:
        """Return whether the last poll could ask the storage; else what is in memory may be older than it."""
        ...

    def recreate(self) -> None:
        """Put empty rows in the place of damaged ones, unless another process has done so."""
        ...

    # Reading

    def revision(self, scope: str) -> int:
        """Return a scope's revision; 0 where it has never had rows."""
        ...

    def load(self, scope: str, after: int, limit: int) -> Sequence[LoadedRow]:
        """Return the first rows of a scope behind a sequence."""
        ...

    def large(self, scope: str, loaded: int) -> LargeScope | None:
        """Return a scope that the storage searches; None for one to load. loaded: how many rows of it are in memory."""
        ...

    def changed_since(self, scope: str, revision: int) -> ScopeChanges | None:
        """Return what changed after a revision; None where that is no longer known, and the scope is to be loaded."""
        ...

    def added_since(self, scope: str, revision: int) -> tuple[int, Sequence[Stored]]:
        """Return a scope's revision, and its items that were inserted after `revision`, the oldest first."""
        ...

    def stamps(self, scope: str) -> Mapping[str, Stamp]:
        """Return the files of a scope as they were when their rows were replaced."""
        ...

    def in_files(self, scope: str, files: Sequence[str]) -> Sequence[Stored]:
        """Return the rows of some files, in no order."""
        ...

    def by_ids(self, scope: str, ids: Sequence[str]) -> Sequence[Stored]:
        """Return the rows of these ids, in no order; unknown ids are left out."""
        ...

    def by_sequences(self, scope: str, sequences: Sequence[int]) -> Sequence[Stored]:
        """Return the rows of these sequences, in no order; unknown ones are left out."""
        ...

    def newest(self, scope: str, limit: int) -> Sequence[Stored]:
        """Return the items that were inserted last, the newest first."""
        ...

    def listed(self, scope: str, only: Filter, limit: int) -> Sequence[Stored]:
        """Return the items that pass a filter, the newest first by `at`. Stage summaries never pass."""
        ...

    def telling(self, scope: str, least: float, limit: int) -> Sequence[Stored]:
        """Return the passages of the user from an importance above .5 on, the most important first."""
        ...

    def matching(self, scope: str, only: Filter) -> Sequence[int]:
        """Return the sequences of all rows that pass a filter. Stage summaries never pass."""
        ...

    def counts(self, scope: str) -> Mapping[str, int]:
        """Return how many items a scope has, by category."""
        ...

    # Writing

    def replace(self, scope: str, files: Sequence[FileEntries], prepared: Mapping[str, SearchTerms]) -> FileChange:
        """Make the rows of files those of their entries, one file after the other; see `replacement.plan_replacement`.

        No id is new in two of the files. prepared: search terms by id; those that are missing are made here.
        """
        ...

    def erase(self, scope: str) -> None:
        """Delete a scope so that nothing of it can be read from the storage. No other process may have it open."""
        ...

    # Vectors

    def vector_space(self) -> VectorSpace:
        """Return whose vectors are read here: those of the encoder in use, else the newest one's."""
        ...

    def use_vector_space(self, space: VectorSpace, now: float, *, begins: bool) -> bool:
        """Read and keep the vectors of this encoder from now on; return whether that is so.

        It takes the same time for any number of rows: they wait for their vectors. Vectors of another encoder stay for
        the processes that use them.

        now: epoch seconds. begins: whether vectors of an encoder that has none yet may begin. Where two have theirs,
        those of one are to be removed first, see `remove_unused_vectors`; then call it again.
        """
        ...

    def remove_unused_vectors(self, now: float) -> bool:
        """Remove a page of vectors whose encoder has not been used lately, if no row needs them; True: call it again.

        A row needs them while the encoder in use here has made none for it.
        """
        ...

    def totals(self) -> tuple[int, int]:
        """Return how many rows there are over all scopes, and how many wait for a vector of those that are read."""
        ...

    def pending(self, limit: int) -> Sequence[Stored]:
        """Return rows that wait for a vector: first those that have none at all; of each kind, the newest first."""
        ...

    def put_vectors(self, space: VectorSpace, vectors: Sequence[tuple[int, bytes]]) -> frozenset[str] | None:
        """Give rows, by sequence, their vectors; return the touched scopes. Rows that are gone get none.

        None, and nothing is kept, where no vectors of an encoder with this name and dimension are kept.
        """
        ...


# What the rows need of a database that knows SQL as SQLite and PostgreSQL both read it.

# Seen in the place of a scope by what concerns all of them.
EVERY = "*"


class Cursor(Protocol):
    """The result of a statement."""

    def fetchall(self) -> list[Any]: ...


class Statements(Protocol):
    """A connection. Values are question marks."""

    def execute(self, query: str, values: Sequence[Any] = (), /) -> Cursor: ...

    def executemany(self, query: str, values: Sequence[Sequence[Any]], /) -> object: ...


class RowsDatabase(Protocol):
    """What holds the tables. hint: how to name the index of rows by revision, where a query must be told."""

    hint: str

    @property
    def connection(self) -> Statements: ...

    def open(self) -> Opening: ...

    def close(self) -> None: ...

    def poll(self) -> Poll: ...

    def recreate(self) -> None: ...

    def is_current(self) -> bool: ...

    def see(self, scope: str) -> None:
        """See the rows of this scope alone from now on. The queries name it too; a database may keep a wall as well.

        "": none, for the tables `scope` and `meta`, which lie outside the wall.
        """

    def writing(self) -> AbstractContextManager[Statements]:
        """A transaction that rolls back on any exception. What it reads after it has changed a scope is current."""

    def reading(self) -> AbstractContextManager[object]:
        """A transaction in which nothing changes between two reads."""

    def erasing(self) -> AbstractContextManager[Statements]:
        """A transaction after which nothing of what it deletes is left in the storage, as far as that can be had."""

    def shed(self) -> None:
        """Leave nothing of what was deleted in a log of the storage, as far as that can be had without waiting."""
