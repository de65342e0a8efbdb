"""The word index of one scope: numpy postings in a few segments, added to without rebuilding.

A segment covers a range of rows. New rows become a segment at the next search, and segments of about one size are
merged, as in a log-structured merge tree: there are about log2(rows) segments.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

_ROWS_AT_ONCE = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Postings of the rows `first` <= row < `end`, grouped by term.

    terms: (t,) uint32, ascending and unique; starts: (t + 1,) int64 into rows; rows: (p,) int32, ascending within a
    term; frequencies: (p,) float32, how often the row holds the term.
    """

    first: int
    end: int
    terms: NDArray[np.uint32]
    starts: NDArray[np.int64]
    rows: NDArray[np.int32]
    frequencies: NDArray[np.float32]

    @classmethod
    def build(cls, terms: NDArray[np.uint32], offsets: NDArray[np.int64], first: int, end: int) -> Self:
        """Build a segment. terms: of all rows, one row after the other, with repeats; row r's end at offsets[r + 1]."""
        # One sort of (term, row) as a single number; equal neighbours are then repeats within a row.
        keys = terms[offsets[first] : offsets[end]].astype(np.uint64)
        keys <<= np.uint64(32)
        for start in range(first, end, _ROWS_AT_ONCE):  # `repeat` holds the GIL
            stop = min(start + _ROWS_AT_ONCE, end)
            part = slice(int(offsets[start] - offsets[first]), int(offsets[stop] - offsets[first]))
            keys[part] |= np.repeat(np.arange(start, stop, dtype=np.uint64), np.diff(offsets[start : stop + 1]))
        keys.sort()
        heads = _heads(keys)
        frequencies = np.diff(np.append(heads, len(keys))).astype(np.float32)
        keys = keys[heads]
        term_of = (keys >> np.uint64(32)).astype(np.uint32)
        starts = _heads(term_of)
        return cls(
            first=first,
            end=end,
            terms=term_of[starts],
            starts=np.append(starts, len(keys)).astype(np.int64),
            rows=(keys & np.uint64(0xFFFFFFFF)).astype(np.int32),
            frequencies=frequencies,
        )

    def find(self, wanted: NDArray[np.uint32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return start and end of each wanted term's postings; those of an unknown term are equal."""
        places = np.searchsorted(self.terms, wanted)
        known = np.minimum(places, max(len(self.terms) - 1, 0))
        found = self.terms[known] == wanted if len(self.terms) else np.zeros(len(wanted), bool)
        return np.where(found, self.starts[known], 0), np.where(
            found, self.starts[np.minimum(known + 1, len(self.starts) - 1)], 0
        )


def _heads(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return where each run of equal values begins."""
    if not len(values):
        return np.empty(0, np.int64)
    return np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))


class Postings:
    """Segments over rows 0 <= row < `end`."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []

    @property
    def end(self) -> int:
        return self.segments[-1].end if self.segments else 0

    def extend(self, terms: NDArray[np.uint32], offsets: NDArray[np.int64], end: int) -> None:
        """Add the rows up to `end`; `terms` and `offsets` as in `Segment.build`, of all rows from 0 on."""
        first = self.end
        if end == first:
            return
        while self.segments and self.segments[-1].end - self.segments[-1].first <= 2 * (end - first):
            first = self.segments.pop().first
        self.segments.append(Segment.build(terms, offsets, first, end))
