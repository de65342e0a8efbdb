"""Ranking: plain functions from numbers of rows to an order and a calibrated score. docs/recall.md has what each gains.

Arrays named alike have one value a row of the scopes that are searched, one scope after the other.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recall.postings import Segment

__all__ = ["bm25_into", "calibrated", "fused", "inverse_document_frequencies", "length_norms", "near_duplicates", "scaled", "with_neighbours"]

Floats = NDArray[np.float32]

# BM25 (Robertson & Zaragoza 2009, eq. 3.15). Memories are short, so length says little: b far below the usual .75.
K1 = 0.9
B = 0.3

WORDS_WEIGHT = 0.5
MEANING_WEIGHT = 0.5
RECENCY_WEIGHT = 0.1
IMPORTANCE_WEIGHT = 0.05
TOPIC_WEIGHT = 1.0
# Of the scores of the row before and after, within a file.
NEIGHBOUR_SHARES = (0.15, 0.05)
# Recency halves with so many newer rows.
HALVING_ROWS = 20.0


def inverse_document_frequencies(counts: NDArray[np.int64], rows: int) -> Floats:
    """Of terms that `counts` of `rows` rows hold; never negative (Lucene's form)."""
    return np.log1p((rows - counts + 0.5) / (counts + 0.5)).astype(np.float32)


def length_norms(lengths: Floats, average: float) -> Floats:
    """The part of BM25's denominator that depends on the row alone."""
    return (K1 * (1 - B) + (K1 * B / max(average, 1.0)) * lengths).astype(np.float32)


def bm25_into(scores: Floats, segment: Segment, starts: Sequence[int], ends: Sequence[int], weights: Sequence[float], norms: Floats) -> None:
    """Add the terms' BM25 to `scores`, given each term's postings in the segment and its weighted idf."""
    for start, end, weight in zip(starts, ends, weights, strict=True):
        if start == end:
            continue
        rows = segment.rows[start:end]
        frequencies = segment.frequencies[start:end]
        # Rows are distinct within a term, so the plain indexed sum is right.
        scores[rows] += weight * (K1 + 1) * frequencies / (frequencies + norms[rows])


def scaled(values: Floats, among: NDArray[np.bool_]) -> Floats:
    """Min-max over the searchable rows, 0..1."""
    chosen = values[among]
    if not len(chosen):
        return np.zeros_like(values)
    low, high = float(chosen.min()), float(chosen.max())
    return (values - low) / (high - low) if high > low else np.zeros_like(values)


def fused(words: Floats | None, cosines: Floats | None, among: NDArray[np.bool_]) -> Floats:
    """Weighted sum of min-max scores. A part that is missing gives its weight to the other."""
    if cosines is None:
        assert words is not None
        return scaled(words, among)
    meaning = scaled(cosines, among)
    if words is None:
        return meaning
    return WORDS_WEIGHT * scaled(words, among) + MEANING_WEIGHT * meaning


def with_neighbours(scores: Floats, groups: NDArray[np.uint32]) -> Floats:
    """Each row's score and a share of those of the rows beside it that are of the same group."""
    spread = scores.copy()
    for distance, share in enumerate(NEIGHBOUR_SHARES, start=1):
        if len(scores) <= distance:
            break
        same = groups[distance:] == groups[:-distance]
        spread[distance:] += share * scores[:-distance] * same
        spread[:-distance] += share * scores[distance:] * same
    return spread


def near_duplicates(vectors: Floats, limit: int, most: float = 0.95) -> list[int]:
    """Of rows in order of rank, those that stay when each row too near to a better one goes behind; `limit` of them."""
    chosen: list[int] = []
    behind: list[int] = []
    for place in range(len(vectors)):
        if len(chosen) == limit:
            break
        if chosen and float(np.max(vectors[chosen] @ vectors[place])) > most:
            behind.append(place)
        else:
            chosen.append(place)
    return [*chosen, *behind][:limit]


def calibrated(fused_score: float, cosine: float, coverage: float, applies: bool) -> float:
    """How likely a row is useful, 0..1: a logistic fit."""
    if applies:
        return 0.75
    return float(1 / (1 + np.exp(-(-6.0 + 2.0 * fused_score + 6.0 * cosine + 3.0 * coverage))))
