"""What rows are read and written as, whatever database has them. Light to import."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

Opening = Literal["found", "made", "repaired"]
"""How rows were opened: as they were left, empty, or empty because they were damaged."""

Poll = Literal["unchanged", "changed", "replaced"]
"""What others did: nothing, some writes, or they put other rows in the place of all, such as a backup."""


RowKey = tuple[str, int]
"""A row, by its scope and its sequence."""


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


# Translates errors at the edge of the adapter for SQLite.
