"""Builds what searches of large scopes need in PostgreSQL, and keeps it up to date, in a thread behind the writers.

Each part is a transaction of its own, under a lock that other processes pass over. It follows rows by their sequence,
and vectors and removals by the scope's revision, so that a part that is lost is simply done again.
"""

from itertools import pairwise
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any, NamedTuple

import numpy as np

from gateway_memory.ground.logs import get_logger
from recall.encoding.vectors import packed_type, unpacked
from recall.ranking.postings import Segment
from recall.rows.postgres_large import text_of
from recall.rows.server import SEE
from recall.rows.sql import Slot, Spaces
from recall.rows.tables import POSTING, STANDING_TERM
from recall.rows.waiting import TimeoutConnection
from recall.text.topics import STANDING

_log = get_logger(__name__)

_ROWS_AT_ONCE = 5_000
_VECTORS_AT_ONCE = 2_000
# Rows behind the last block are read one by one, so that blocks do not become many.
_BLOCK_AT_LEAST = 500
# A graph of millions of vectors takes long.
_TIMEOUT_SECONDS = 86_400.0
_BACKOFF_SECONDS = 10.0
# Of a graph, by pgvector's half vectors.
_LONGEST_VECTOR = 4_000


class _State(NamedTuple):
    """How far a scope is, as in the table `large`."""

    number: int
    sequence: int
    revision: int
    removals: int
    encoder: str
    dimension: int
    vector_sum: bytes
    ready: bool
    graph: bool


class LargeScopes:
    """A thread that works on requested scopes. home: the schema of pgvector."""

    def __init__(self, dsn: str, arguments: dict[str, Any], home: str) -> None:
        self._dsn = dsn
        self._arguments = arguments
        self._home = home
        self._requests: SimpleQueue[str | None] = SimpleQueue()
        self._waiting: set[str] = set()
        self._closing = Event()
        self._thread: Thread | None = None

    def request(self, scope: str) -> None:
        """Let a scope be brought up to date soon. It returns at once."""
        if scope not in self._waiting:
            self._waiting.add(scope)
            self._requests.put(scope)
        if self._thread is None:
            self._thread = Thread(target=self._run, name="recall-large", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Begin no further part. One that runs is left behind."""
        self._closing.set()
        self._requests.put(None)

    def _run(self) -> None:
        while (scope := self._requests.get()) is not None:
            self._waiting.discard(scope)
            try:
                with TimeoutConnection.connect(self._dsn, **self._arguments) as connection:
                    connection.timeout_seconds = _TIMEOUT_SECONDS
                    while not self._closing.is_set() and _Part(connection, self._home, scope).done():
                        pass
            except Exception as error:  # noqa: BLE001 - the next search asks again
                _log.warning("recall.large_scope_failed", error=type(error).__name__)
                self._closing.wait(_BACKOFF_SECONDS)


class _Part:
    """One transaction over a scope."""

    def __init__(self, connection: TimeoutConnection, home: str, scope: str) -> None:
        self._connection = connection
        self._home = home
        self._scope = scope

    def _rows(self, query: str, *values: Any) -> list[Any]:
        return self._connection.execute(query, values).fetchall()

    def done(self) -> bool:
        """Do some of what is to be done; return whether there is more."""
        with self._connection.transaction():
            self._rows(SEE, self._connection.search_path, [self._scope])
            spaces = Spaces.of(dict(self._rows("select key, value from meta")))
            query = f"select {', '.join(_State._fields)} from large where scope = %s for update skip locked"
            states = self._rows(query, self._scope)
            # What is committed after this look has a higher revision, and is done next time.
            scopes = self._rows("select revision, forgotten from scope where key = %s", self._scope)
            if not scopes:
                return False
            ((revision, forgotten),) = scopes
            state = _State(*states[0]) if states else None
            if state is not None and state.removals < forgotten:
                # It is no longer known what was removed: all is made anew.
                self._connection.execute("delete from large where scope = %s", (self._scope,))
                return True
            slot = spaces.find((state.encoder, state.dimension)) if state else None
            if state is not None and slot is not None:
                return self._followed(state, revision, slot)
            newest = spaces.read_by(None)
            if newest is None or not 0 < newest.space.dimension <= _LONGEST_VECTOR:
                return False
            return self._begun(revision, newest) if state is None else self._begin_again(newest)

    def _begun(self, revision: int, slot: Slot) -> bool:
        """Make room for a scope's vectors; False where another process works on the scope."""
        query = (
            "insert into large (scope, removals, encoder, dimension) values (%s, %s, %s, %s)"
            " on conflict do nothing returning number"
        )
        if not (begun := self._rows(query, self._scope, revision, *slot.encoder)):
            return False
        self._rows("select add_large_vectors(%s, %s)", begun[0][0], slot.space.dimension)
        return True

    def _begin_again(self, slot: Slot) -> bool:
        """Make room for vectors of another encoder, since those of the graph no longer serve; words stay."""
        query = (
            "update large set graph = false, revision = 0, encoder = %s, dimension = %s, vectors = 0, vector_sum = ''"
            " where scope = %s returning number"
        )
        ((number,),) = self._rows(query, *slot.encoder, self._scope)
        self._rows("select add_large_vectors(%s, %s)", number, slot.space.dimension)
        return True

    def _followed(self, state: _State, current: int, slot: Slot) -> bool:
        last = self._block_after(state.sequence, 1 if not state.ready else _BLOCK_AT_LEAST)
        vectors = self._rows(
            f"select sequence, revision, vector from {slot.table} where scope = %s and revision > %s and revision <= %s"
            " order by revision fetch first %s rows with ties",
            self._scope, state.revision, current, _VECTORS_AT_ONCE,
        )  # fmt: skip
        upto = vectors[-1][1] if len(vectors) >= _VECTORS_AT_ONCE else current
        vector_sum = self._put_vectors(state, vectors)
        self._remove(state, current)
        more = last is not None or upto < current
        if not more and not (state.ready and state.graph):
            self._rows("select add_vector_graph(%s)", state.number)
        self._rows(
            "update large set sequence = %s, revision = %s, removals = %s, vectors = vectors + %s, vector_sum = %s,"
            " ready = ready or %s, graph = graph or %s where scope = %s returning scope",
            state.sequence if last is None else last, upto, current, len(vectors), vector_sum, not more, not more,
            self._scope,
        )  # fmt: skip
        return more

    def _block_after(self, first: int, least: int) -> int | None:
        """Index the words of the rows behind a sequence; return the last one's, None where they are too few."""
        query = 'select sequence from "row" where scope = %s and sequence > %s order by sequence limit %s'
        rows = self._rows(query, self._scope, first, _ROWS_AT_ONCE)
        if len(rows) < least:
            return None
        last = int(rows[-1][0])
        self._index(first, last)
        return last

    def _index(self, first: int, last: int) -> None:
        """Make the lists of a block: of the rows with first < sequence <= last."""
        query = (
            'select sequence, length, traits, terms from "row" where scope = %s and sequence > %s and sequence <= %s'
            " order by sequence"
        )
        rows = self._rows(query, self._scope, first, last)
        sequences = np.array([row[0] for row in rows], np.int64)
        lengths = np.array([row[1] for row in rows], np.int64)
        standing = np.flatnonzero(np.array([row[2] for row in rows], np.int64) & STANDING)
        postings = {STANDING_TERM: _held(sequences[standing], np.ones(len(standing)), lengths[standing])}
        if rows:
            offsets = np.append(0, np.cumsum([len(row[3]) // 4 for row in rows]))
            words = Segment.build(np.frombuffer(b"".join(row[3] for row in rows), "<u4"), offsets, 0, len(rows))
            for term, (start, end) in zip(words.terms.tolist(), pairwise(words.starts.tolist()), strict=True):
                places = words.rows[start:end]
                postings[term] = _held(sequences[places], words.frequencies[start:end], lengths[places])
        terms = [term for term, found in postings.items() if found]
        self._connection.execute(
            "insert into large_word (scope, term, block, rows, held)"
            " select %s, term, %s, length(held) / %s, held from unnest(%s::bigint[], %s::bytea[]) as t(term, held)",
            (self._scope, last, np.dtype(POSTING).itemsize, terms, [postings[term] for term in terms]),
        )
        query = "insert into large_block (scope, block, rows, length) values (%s, %s, %s, %s)"
        self._connection.execute(query, (self._scope, last, len(rows), int(lengths.sum())))

    def _put_vectors(self, state: _State, vectors: list[Any]) -> bytes:
        """Put vectors into the graph; return the sum of all."""
        if not vectors:
            return state.vector_sum
        blobs = [vector for _, _, vector in vectors]
        floats = unpacked(np.frombuffer(b"".join(blobs), packed_type(state.dimension)))
        query = (
            f"insert into large_vector_{state.number} (sequence, vector) values (%s, %s::{self._home}.halfvec)"
            " on conflict (sequence) do update set vector = excluded.vector"
        )
        rows = [(sequence, text_of(vector)) for (sequence, _, _), vector in zip(vectors, floats.tolist(), strict=True)]
        self._connection.cursor().executemany(query, rows)
        before = np.frombuffer(state.vector_sum, "<f4") if state.vector_sum else np.float32(0)
        total: bytes = (before + floats.sum(axis=0)).astype("<f4").tobytes()
        return total

    def _remove(self, state: _State, current: int) -> None:
        """Take removed rows out of the graph, and make the lists of their blocks anew."""
        query = "select sequence from removed where scope = %s and revision > %s and revision <= %s"
        removed = [row[0] for row in self._rows(query, self._scope, state.removals, current)]
        if not removed:
            return
        self._connection.execute(f"delete from large_vector_{state.number} where sequence = any(%s)", (removed,))
        query = "select block from large_block where scope = %s and block <= %s order by block"
        blocks = [0, *(row[0] for row in self._rows(query, self._scope, state.sequence))]
        touched = set(np.searchsorted(blocks, removed).tolist())
        for place in sorted(place for place in touched if 0 < place < len(blocks)):
            for table in ("large_word", "large_block"):
                query = f"delete from {table} where scope = %s and block = %s"
                self._connection.execute(query, (self._scope, blocks[place]))
            self._index(blocks[place - 1], blocks[place])


def _held(sequences: Any, frequencies: Any, lengths: Any) -> bytes:
    """Return rows that hold a term as bytes; see `POSTING`."""
    postings = np.empty(len(sequences), POSTING)
    postings["sequence"], postings["frequency"] = sequences, frequencies
    postings["length"] = np.minimum(lengths, 65535)
    return postings.tobytes()
