"""The tables of the index, the values that they are read as, and the errors of SQLite. Light to import."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from recall.types import Entry, Filter, RecallError, RowsBusyError, RowsDamagedError, Stored

Opening = Literal["found", "made", "repaired"]
"""How rows were opened: as they were left, empty, or empty because they were damaged."""

Poll = Literal["unchanged", "changed", "replaced"]
"""What others did: nothing, some writes, or they put other rows in the place of all, such as a backup."""


RowKey = tuple[str, int]
"""A row, by its scope and its sequence."""


# In `meta`: which scopes a server has, where the rows are on several; see gateway_memory/store/postgres/shards.py.
SHARD = "shard"


def shard_of(scope: str, shards: int) -> int:
    """Return which of several stores has the rows of a scope, from 0. One store more takes its share; no other moves.

    The weights are those of rendezvous hashing.
    """

    def weight(number: int) -> bytes:
        return blake2b(f"{number} {scope}".encode(), digest_size=8).digest()

    return max(range(shards), key=weight) if shards > 1 else 0


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
POSTING = [("sequence", "<i8"), ("frequency", "<u2"), ("length", "<u2")]
# In the place of a term: standing preferences. Other terms are not negative.
STANDING_TERM = -1


class ScopeSize(NamedTuple):
    """Counts over all rows of a scope. length: the sum of theirs. vector_sum: float32, of so many `vectors`."""

    rows: int
    length: int
    vectors: int
    vector_sum: bytes


# The tables of index.sqlite. A file of another format is replaced: the index can always be made again.

FORMAT = "9"
SCHEMA = Path(__file__).with_name("schema.sql")


# The columns of the tables of index.sqlite, and the values that they are read as.

FIELDS = ("id", "text", "at", "kind", "type", "category", "importance", "confidence", "session", "heading", "speaker",
           "reply", "until", "turn")  # fmt: skip
_TYPES = (str, str, float, str, str, str, float, float, str, str, str, str, str, int)
STORED = f"r.sequence, r.file, {', '.join(f'r.{field}' for field in FIELDS)}"
LOADED = f"{', '.join(f'r.{field}' for field in LoadedRow._fields[:-1])}, v.vector"
# The passages of `Rows.telling`, by the least importance and a limit.
TELLING = (
    "r.kind = 'episode' and r.importance > 0.5 and r.importance >= ?"
    " order by r.importance desc, r.sequence desc limit ?"
)
INSERTED = ("added", "revision", "scope", "file", *FIELDS, *SearchTerms._fields)


def joined(vectors: str, hint: str = "") -> str:
    """Return what `LOADED` and `STORED` are of. vectors: the table that has them."""
    return f"row r {hint} left join {vectors} v on v.scope = r.scope and v.sequence = r.sequence"


def stored_of(scope: Any, row: Sequence[Any]) -> Stored:
    """Return a row of `STORED`; raise RowsDamagedError where its values are not of their types."""
    sequence, file, *values = row
    if not isinstance(scope, str) or not isinstance(file, str) or not all(map(isinstance, values, _TYPES)):
        raise RowsDamagedError
    return Stored(entry=Entry(**dict(zip(FIELDS, values, strict=True))), scope=scope, file=file, sequence=sequence)


def values_of(entry: Entry) -> tuple[Any, ...]:
    """Return the values of an entry's columns."""
    return tuple(getattr(entry, name) for name in FIELDS)


def _columns_of(only: Filter) -> tuple[tuple[str, str], ...]:
    return ("type", only.type), ("category", only.category), ("session", only.session), ("file", only.file)


def condition_of(only: Filter) -> tuple[str, tuple[str | float, ...]]:
    """Return a filter as a condition over r, with its values."""
    parts: list[str] = ["r.type <> 'S'"]
    if only.type or only.category:
        parts.append("r.kind <> 'episode'")
    values: list[str | float] = []
    for column, value in _columns_of(only):
        if value:
            parts.append(f"r.{column} = ?")
            values.append(value)
    if only.text:  # what LIKE finds depends on the database
        parts.append("replace(r.text, ?, '') <> r.text")
        values.append(only.text)
    for comparison, at in ((">=", only.since), ("<", only.until)):
        if at is not None:
            parts.append(f"r.at {comparison} ?")
            values.append(at)
    return " and ".join(parts), tuple(values)


# Translates errors at the edge of the adapter for SQLite.

_ERROR, _BUSY, _LOCKED, _CORRUPT, _NOT_A_DATABASE = 1, 5, 6, 11, 26


@contextmanager
def translated(what: str = "the index cannot be read or written") -> Iterator[None]:
    """Raise recall's errors, which say `what`, in place of those of SQLite, the disk and values that make no sense."""
    try:
        yield
    except RecallError:
        raise
    except BlockingIOError as error:
        raise RowsBusyError(f"{what}: another process opens it") from error
    except OSError as error:
        raise RecallError(f"{what}: {error}") from error
    except sqlite3.Error as error:
        raise kind_of(error)(f"{what}: {error}") from error
    except (ValueError, TypeError, LookupError, OverflowError, MemoryError) as error:
        # Where a row holds unexpected values: SQLite does not check them.
        raise RowsDamagedError(f"{what}: {type(error).__name__}") from error


def kind_of(error: sqlite3.Error) -> type[RecallError]:
    """Return which of recall's errors an error of SQLite is."""
    code = int(getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
    if code in (_BUSY, _LOCKED):
        return RowsBusyError
    # A text that is no UTF-8 has no code at all; nor has the use of a closed file, which is no damage.
    is_damage = isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.ProgrammingError)
    return RowsDamagedError if is_damage and code in (0, _ERROR, _CORRUPT, _NOT_A_DATABASE) else RecallError


C = TypeVar("C", bound=type)


def translating(kind: C) -> C:
    """Let all public methods of a class raise recall's errors: see `translated`."""
    for name, method in list(vars(kind).items()):
        if callable(method) and not name.startswith("_"):
            setattr(kind, name, translated()(method))
    return kind
