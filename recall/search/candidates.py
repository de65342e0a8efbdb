"""The candidates of a search: the vectors they are compared with, what they share, and the terms of their ranks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from recall.encoding.encoder import Scale
from recall.index.scope_rows import ScopeRows
from recall.ranking import rank

# The vectors that a search compares the rows with.

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryVector:
    """The vector of the message, and those of the turns before it, the last turn first."""

    vector: Floats
    preceding: Sequence[Floats]

    def alone(self) -> Self:
        """Return the vector of the message without the turns before it."""
        return replace(self, preceding=())

    def toward(self, vector_sum: Floats, vectors: int) -> Floats:
        """Return the vector to compare with rows, less what all rows have in common, given the sum of their vectors."""
        return rank.message_vector(self.vector, self.preceding, vector_sum, vectors)

    def products(self, rows: ScopeRows) -> Floats:
        """Return the product with each row."""
        products: Floats = rows.matrix.products(self.toward(rows.vector_sum, rows.vectors)[None])[0]
        return products


# The terms of the ranks, for an explanation.


class Terms:
    """Each row's terms, as the growth of its sum at each step, so that they always add up to the sum.

    kept: False records and copies nothing.
    """

    def __init__(self, rows: int, *, kept: bool) -> None:
        self.kept = kept
        self._last = np.zeros(rows if kept else 0, np.float32)
        self._terms: dict[str, Floats] = {}

    def added(self, name: str, scores: Floats) -> None:
        """Record what was added since the last step."""
        if self.kept:
            self._terms[name] = self._terms.get(name, np.float32(0)) + (scores - self._last)
            self._last = scores.copy()

    def of(self, row: int) -> dict[str, float]:
        return {name: float(values[row]) for name, values in self._terms.items()}


# Near-duplicates: the Jaccard similarity of their words, and their cosine, are above these; where one has no vector,
# the words must be more similar.
_SAME_WORDS = 0.55
_SAME_MEANING = 0.7
_SAME_WORDS_ALONE = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Some rows of a scope. terms: of all rows, one row after the other; counts: how many each row has.

    vectors: (rows, dimension); those of rows that are not `embedded` are zero.
    """

    terms: NDArray[np.uint32]
    counts: NDArray[np.int64]
    vectors: Floats
    embedded: NDArray[np.bool_]

    @classmethod
    def of(cls, scope: ScopeRows, rows: NDArray[np.int64]) -> Self:
        """Gather rows of a scope by number."""
        terms = scope.terms_of(rows)
        counts = np.array([len(part) for part in terms], np.int64)
        return cls(
            terms=np.concatenate(terms),
            counts=counts,
            vectors=scope.matrix.take(rows),
            embedded=scope.embedded.values[rows],
        )

    def coverage(self, terms: NDArray[np.uint32], weights: Floats) -> Floats:
        """Return the share of the message's own terms, by their weight, that each row holds."""
        whole = float(weights.sum())
        if not whole:
            return np.zeros(len(self.counts), np.float32)
        order = np.argsort(terms)
        terms, weights = terms[order], weights[order]
        at = np.minimum(np.searchsorted(terms, self.terms), len(terms) - 1)
        known = terms[at] == self.terms
        # A repeated term counts once.
        shares = np.zeros((len(self.counts), len(terms)), np.float32)
        shares[self._row_of_each_term()[known], at[known]] = 1 / whole
        covered: Floats = shares @ weights
        return covered

    def cosines(self, vector: Floats) -> Floats:
        """Return each row's cosine with a unit vector; -1 where a row has no vector yet."""
        return np.where(self.embedded, self.vectors @ vector, np.float32(-1))

    def alike(self, scale: Scale) -> NDArray[np.bool_]:
        """Return which rows are near-duplicates, (rows, rows)."""
        known, at = np.unique(self.terms, return_inverse=True)
        has_term = np.zeros((len(self.counts), len(known)), np.float32)
        has_term[self._row_of_each_term(), at] = 1
        both = has_term @ has_term.T
        each = has_term.sum(axis=1)
        overlap = both / np.maximum(each[:, None] + each[None, :] - both, 1)
        near: NDArray[np.bool_] = overlap > _SAME_WORDS
        if np.count_nonzero(near) == np.count_nonzero(near.diagonal()):  # no two rows, as mostly
            return near
        embedded = self.embedded[:, None] & self.embedded[None, :]
        meaning = scale.cosines(self.vectors @ self.vectors.T)
        same: NDArray[np.bool_] = np.where(embedded, near & (meaning > _SAME_MEANING), overlap > _SAME_WORDS_ALONE)
        return same

    def _row_of_each_term(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self.counts)), self.counts)
