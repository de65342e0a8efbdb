"""Of a scope that is not in memory: which of its rows may be among the best for a message."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recall.index.scope_rows import ScopeRows
from recall.ranking import rank
from recall.rows.tables import POSTING, STANDING_TERM, ScopeSize
from recall.text.questions import Span
from recall.types import Filter

if TYPE_CHECKING:
    from recall.rows.postgres_large import LargeRows


Floats = NDArray[np.float32]


# So many rows by words, and by meaning. With a hundred of each, evidence is lost; the best fifty are ranked.
_CANDIDATES = 400
# The rows whose products are the lowest set the scale of all.
_FARTHEST = 10
# Of the newest items, and of standing preferences. Recency halves every twenty items.
_NEWEST = 200
_IN_SPAN = 400
# So many rows are counted for the terms of a message.
_HELD_AT_MOST = 100_000
_SPANS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a search looks for. weights: of its terms. spans: days that it names. only: which rows may be found.

    toward: returns the vector that rows are compared with, given the sum of all rows' vectors and their number; None
    for words alone. standing: whether standing preferences may apply.
    """

    weights: Mapping[int, float]
    toward: Callable[[Floats, int], Floats] | None = None
    spans: Sequence[Span] = ()
    standing: bool = False
    only: Filter | None = None


class _Sample(ScopeRows):
    """Some rows of a scope, with the counts of all of them."""

    def __init__(self, dimension: int, size: ScopeSize, counts: Mapping[int, int]) -> None:
        super().__init__(dimension, 0)
        self._size = size
        self._counts = counts
        self._follows: NDArray[np.bool_] = np.zeros(0, np.bool_)

    @property
    def total(self) -> int:
        return max(self._size.rows, len(self))

    def average_length(self) -> float:
        return self._size.length / self._size.rows if self._size.rows else super().average_length()

    def counts_of(self, terms: NDArray[np.uint32]) -> NDArray[np.int64]:
        whole = np.array([self._counts.get(term, 0) for term in terms.tolist()], np.int64)
        return np.maximum(whole, super().counts_of(terms))  # those of new rows are not counted yet

    def link(self, pairs: set[tuple[int, int]]) -> None:
        """Say which sequences follow each other in the scope; other neighbours here are none there."""
        sequences = self.sequences.values.tolist()
        self._follows = np.array([pair in pairs for pair in pairwise(sequences)], np.bool_)

    def adjacent(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        one, two = super().adjacent()
        return one & self._follows, two & self._follows[1:] & self._follows[:-1]


def sample(large: "LargeRows", wanted: Wanted, dimension: int) -> ScopeRows:
    """Return the rows that may rank high for a search: by words, by meaning, by time, and their neighbours."""
    size = large.size
    vector_sum = np.frombuffer(size.vector_sum, "<f4")
    if len(vector_sum) != dimension:
        vector_sum = np.zeros(dimension, np.float32)
    with large.reading():
        by_words, counts = _by_words(large, wanted, size)
        near = [*by_words, *large.recent()]
        named = {*_standing(large, wanted), *large.newest(_NEWEST)}
        if wanted.toward is not None:
            vector = wanted.toward(vector_sum, size.vectors).tolist()
            near += large.nearest(vector, _CANDIDATES, wanted.only)
            named.update(large.nearest([-value for value in vector], _FARTHEST, None))
        for span in wanted.spans[:_SPANS]:
            named.update(large.dated(span.start, span.end + rank.LATEST_DATED_SECONDS, _IN_SPAN))
        pairs = set(large.adjacent(near))
        loaded = large.rows(sorted(named.union(near, *pairs)))
    rows = _Sample(dimension, size, counts)
    if loaded:
        rows.take(loaded)
    rows.link(pairs)
    rows.vector_sum, rows.vectors = vector_sum, size.vectors
    return rows


def _standing(large: "LargeRows", wanted: Wanted) -> list[int]:
    """Return the newest standing preferences, where some may apply."""
    if not wanted.standing:
        return []
    postings = b"".join(part for _, part in large.postings([STANDING_TERM]))
    newest: list[int] = np.sort(np.frombuffer(postings, POSTING)["sequence"])[-_NEWEST:].tolist()
    return newest


def _by_words(large: "LargeRows", wanted: Wanted, size: ScopeSize) -> tuple[list[int], Mapping[int, int]]:
    """Return the best rows by BM25 over the rarer terms, and how many rows hold each term."""
    counts = large.counts(list(wanted.weights))
    postings = large.postings(_rarest(counts))
    if not postings:
        return [], counts
    rows_of_terms = [np.frombuffer(part, POSTING) for _, part in postings]
    idf = rank.inverse_document_frequencies(np.array([counts[term] for term, _ in postings]), size.rows)
    weights = idf * np.array([wanted.weights[term] for term, _ in postings], np.float32)
    every = np.concatenate(rows_of_terms)
    norms = rank.length_norms(every["length"].astype(np.float32), size.length / max(size.rows, 1))
    gains = rank.bm25(every["frequency"].astype(np.float32), norms, np.repeat(weights, list(map(len, rows_of_terms))))
    sequences, at = np.unique(every["sequence"], return_inverse=True)
    scores = np.bincount(at, gains)
    if wanted.only is not None:
        scores[~np.isin(sequences, large.matching(wanted.only))] = 0
    best = np.argsort(-scores, kind="stable")[:_CANDIDATES]
    return sequences[best[scores[best] > 0]].tolist(), counts


def _rarest(counts: Mapping[int, int]) -> list[int]:
    """Return the rarest terms that few enough rows hold. A row that holds the others alone is no candidate by words."""
    terms: list[int] = []
    total = 0
    for term, count in sorted(counts.items(), key=lambda each: each[1]):
        total += count
        if terms and total > _HELD_AT_MOST:
            break
        terms.append(term)
    return terms
