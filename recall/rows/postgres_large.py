"""Large scopes in PostgreSQL with pgvector: searched in the database, by tables that `LargeScopes` keeps up to date."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, pairwise
from typing import Any, NamedTuple

from recall.rows.columns import LOADED, condition_of, joined
from recall.rows.server import Server
from recall.rows.sqlite_file import translating
from recall.rows.tables import LoadedRow, ScopeSize
from recall.types import Filter

# Of all that is asked here, an index gives the first few rows in their order. Without statistics of a table that has
# just been filled, the server would rather read and sort a whole scope.
_PLANNED = {
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}
# The graph looks at half as many rows again as are wanted, or some are missed; and at so many at least.
_LOOKED_AT = 64
# A filter lets the graph look on, but not for ever.
_SCANNED_WITH_FILTER = 50_000
_LEAST_VERSION = (0, 8)
# After an import there are more for a while; then the newest are found, and the others soon.
_RECENT = 2_000


def pgvector_of(server: Server) -> str | None:
    """Return the schema of pgvector, quoted where it must be; None without it, or if it can't filter half vectors."""
    query = "select extnamespace::regnamespace::text, extversion from pg_extension where extname = 'vector'"
    extension = server.execute(query).fetchall()
    if not extension:
        return None
    version = tuple(int(part) for part in extension[0][1].split(".")[:2])
    return str(extension[0][0]) if version >= _LEAST_VERSION else None


class LargeState(NamedTuple):
    """What is made of a scope. number: of its table. sequence, revision: up to which the lists and the graph are made.

    vectors: the table of those that are read. home: the schema of pgvector; None where no graph of them is there.
    """

    number: int
    sequence: int
    revision: int
    vectors: str
    home: str | None


@translating
class LargeRows:
    """A scope that is not held in memory: the storage finds the rows that a search may want.

    Rows are named by their sequences. It raises what `Rows` does. Without a graph, no row is found by meaning alone.
    """

    def __init__(self, server: Server, scope: str, made: LargeState, size: ScopeSize) -> None:
        self._server = server
        self._scope = scope
        self._made = made
        self.size = size

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A transaction in which nothing changes between two reads. The others are called within it."""
        self._server.see(self._scope)
        with self._server.reading():
            self._set(_PLANNED)
            yield

    def _set(self, settings: Mapping[str, str]) -> None:
        """Set what holds until the transaction ends."""
        calls = ", ".join("set_config(?, ?, true)" for _ in settings)
        self._server.execute(f"select {calls}", list(chain.from_iterable(settings.items())))

    def _rows(self, query: str, *values: object) -> list[Any]:
        rows: list[Any] = self._server.execute(query, values).fetchall()
        return rows

    def _sequences(self, query: str, *values: object) -> list[int]:
        return [row[0] for row in self._rows(query, *values)]

    def counts(self, terms: Sequence[int]) -> Mapping[int, int]:
        """Return how many rows hold each term; those that none holds are left out."""
        query = (
            "select term, sum(rows) from large_word where scope = ? and term = any(cast(? as bigint[])) group by term"
        )
        return dict(self._rows(query, self._scope, list(terms)))

    def postings(self, terms: Sequence[int]) -> Sequence[tuple[int, bytes]]:
        """Return which rows hold each term, in one or more parts a term; see `POSTING`."""
        query = "select term, held from large_word where scope = ? and term = any(cast(? as bigint[]))"
        return self._rows(query, self._scope, list(terms))

    def nearest(self, vector: Sequence[float], limit: int, only: Filter | None) -> Sequence[int]:
        """Return about the rows with the highest products with a vector, of those that pass a filter."""
        home = self._made.home
        if home is None:
            return []
        condition, values = ("true", ()) if only is None else condition_of(only)
        values = values if only is None else (self._scope, *values)
        joined = "" if only is None else "join row r on r.scope = ? and r.sequence = v.sequence"
        query = (
            f"select v.sequence from large_vector_{self._made.number} v {joined} where {condition}"
            f" order by v.vector operator({home}.<#>) ?::{home}.halfvec limit ?"
        )
        self._set({"hnsw.ef_search": str(max(limit + limit // 2, _LOOKED_AT))})
        if only is not None:
            self._set({"hnsw.iterative_scan": "strict_order", "hnsw.max_scan_tuples": str(_SCANNED_WITH_FILTER)})
        return self._sequences(query, *values, text_of(vector), limit)

    def matching(self, only: Filter) -> Sequence[int]:
        """Return all rows that pass a filter."""
        condition, values = condition_of(only)
        query = f"select r.sequence from row r where r.scope = ? and {condition}"
        return self._sequences(query, self._scope, *values)

    def newest(self, limit: int) -> Sequence[int]:
        """Return the newest items, by `at`."""
        query = "select sequence from row where scope = ? and kind = 'item' order by at desc, sequence desc limit ?"
        return self._sequences(query, self._scope, limit)

    def dated(self, start: float, end: float, limit: int) -> Sequence[int]:
        """Return the first rows of a time: start <= at < end."""
        query = "select sequence from row where scope = ? and at >= ? and at < ? order by at, sequence limit ?"
        return self._sequences(query, self._scope, start, end, limit)

    def recent(self) -> Sequence[int]:
        """Return the rows that `postings` or `nearest` may not know yet."""
        scope, made = self._scope, self._made
        rows = "select sequence from row where scope = ? and sequence > ? order by sequence desc limit ?"
        if made.home is None:
            return self._sequences(rows, scope, made.sequence, _RECENT)
        vectors = f"select sequence from {made.vectors} where scope = ? and revision > ? order by revision desc limit ?"
        values = (scope, made.sequence, _RECENT, scope, made.revision, _RECENT)
        return self._sequences(f"({rows}) union ({vectors})", *values)

    def adjacent(self, sequences: Sequence[int]) -> Sequence[tuple[int, int]]:
        """Return pairs of rows that follow each other: of each of these rows, the two before it and the one after."""
        where = "n.scope = ? and n.sequence"
        query = (
            f"select c.sequence, array(select n.sequence from row n where {where} < c.sequence"
            f" order by n.sequence desc limit 2), array(select n.sequence from row n where {where} > c.sequence"
            " order by n.sequence limit 1)"
            " from unnest(cast(? as bigint[])) as c(sequence)"
        )
        pairs: list[tuple[int, int]] = []
        values = (self._scope, self._scope, list(dict.fromkeys(sequences)))
        for sequence, before, after in self._rows(query, *values):
            pairs += pairwise([*reversed(before), sequence, *after])
        return pairs

    def rows(self, sequences: Sequence[int]) -> Sequence[LoadedRow]:
        """Return rows, ascending; unknown ones are left out."""
        query = (
            f"select {LOADED} from {joined(self._made.vectors)}"
            " where r.scope = ? and r.sequence = any(cast(? as bigint[])) order by r.sequence"
        )
        return [LoadedRow._make(row) for row in self._rows(query, self._scope, list(sequences))]


def text_of(vector: Sequence[float]) -> str:
    """Return a vector as pgvector reads it."""
    return f"[{','.join(f'{value:.6g}' for value in vector)}]"
