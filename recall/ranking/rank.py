"""Ranking: plain functions from numbers of rows to an order and a calibrated score. docs/recall.md has what each gains.

Arrays have one value for each row of the scope. The weights are those of a listwise logistic fit over five sets of
conversations, rounded; see docs/recall.md.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recall.ranking.postings import Segment
from recall.tables import table
from recall.text.questions import Span

Floats = NDArray[np.float32]

# BM25 (Robertson & Zaragoza 2009, eq. 3.15). Memories are short, so length says little: b far below the usual .75.
K1 = 0.9
B = 0.3

WEIGHTS = {name: np.float32(weight) for name, weight in table("weights").numbers("rank").items()}
# Shares of the lexical scores of the row before, the one before that, and the one after, in the same session: the next
# turn answers a question.
BEFORE_SHARES = (0.65, 0.2)
AFTER_SHARE = 0.2
RECENCY_HALVING_ROWS = 20.0
# A search on request is about a subject, and less about what is new.
ASKED_RECENCY_SHARE = 0.45
# What was said some days later may still be about that day.
DATE_HALVING_SECONDS = 3 * 86400.0
LATEST_DATED_SECONDS = 3 * DATE_HALVING_SECONDS
# A reply of so many passages is a lecture, and a scope where so large a share of the replies are is an assistant's log.
LECTURE_PASSAGES = 2
ASSISTED_SHARE = 0.4
ASSISTED_LENGTH = 150.0
# Versions of each other cover the message about equally: the lower coverage is at least this share of the higher.
COVERING_ALIKE = 0.5
# The least range that is scaled to 1: of cosines, and of lexical scores as a share of all terms' weight.
LEAST_MEANING_RANGE = 0.35
LEAST_WORDS_SHARE = 0.2
# Postings are added in batches, since numpy holds the GIL meanwhile.
_ADDED_AT_ONCE = 250_000
# A small scope is ranked as if it had so many more rows, all unrelated to the message.
SUPPOSED_ROWS = 20
# The share of the mean of all vectors that is subtracted from the query vector: what all memories have in common
# distinguishes none of them.
COMMON_SHARE = 0.7
# The weight of the preceding turns' vectors, and how it falls from one turn to the one before.
CONTEXT_WEIGHT = 0.8
CONTEXT_FADING = 0.6


def inverse_document_frequencies(counts: NDArray[np.int64], rows: int) -> Floats:
    """Return the idf of terms that `counts` of `rows` rows hold; never negative (Lucene's form).

    `SUPPOSED_ROWS` more rows hold none of them, or in a scope of one row its words would have no weight.
    """
    return np.log1p((rows + SUPPOSED_ROWS - counts + 0.5) / (counts + 0.5)).astype(np.float32)


def length_norms(lengths: Floats, average: float) -> Floats:
    """Return the part of BM25's denominator that depends on the row alone. A removed row's length is -1."""
    return (lengths * np.float32(K1 * B / max(average, 1.0)) + np.float32(K1 * (1 - B))).astype(np.float32)


def bm25(frequencies: Floats, norms: Floats, weights: Floats) -> Floats:
    """Return what postings add to the scores of their rows. weights: the weighted idf of their terms."""
    gains = weights * np.float32(K1 + 1) * frequencies
    gains /= frequencies + norms
    return gains


def bm25_into(
    scores: Floats,
    segment: Segment,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    weights: Floats,
    norms: Floats,
) -> None:
    """Add the terms' BM25 to `scores`, given each term's range of postings in the segment, and its weighted idf."""
    counts = ends - starts
    upto = np.cumsum(counts)
    first = done = 0
    while done < upto[-1]:
        last = max(int(np.searchsorted(upto, done + _ADDED_AT_ONCE, side="right")), first + 1)
        part = slice(first, last)
        # The positions of these terms' postings, one term after the other.
        at = np.arange(done, upto[last - 1]) + np.repeat(ends[part] - upto[part], counts[part])
        rows = segment.rows[at]
        frequencies = segment.frequencies[at]
        np.add.at(scores, rows, bm25(frequencies, norms[rows], np.repeat(weights[part], counts[part])))
        first, done = last, int(upto[last - 1])


def message_vector(own: Floats, preceding: Sequence[Floats], vector_sum: Floats, vectors: int) -> Floats:
    """Return the query vector: the message's plus those of the turns before (the last first), less the rows' mean.

    vector_sum: of `vectors` rows. The mean of few rows is not what all memories share, so it counts less.
    """
    vector = own
    if preceding:
        fading = np.array([CONTEXT_FADING**age for age in range(len(preceding))], np.float32)
        context = np.vecdot(np.array(preceding, np.float32).T, fading)
        vector = vector + context * np.float32(CONTEXT_WEIGHT / max(_length(context), 1e-6))
        vector /= np.float32(max(_length(vector), 1e-6))
    return vector - vector_sum * np.float32(COMMON_SHARE / (vectors + SUPPOSED_ROWS))


def _length(vector: Floats) -> float:
    return math.sqrt(float(np.vecdot(vector, vector)))


def common_share(vectors: int) -> float:
    """Return the share of the mean of so many vectors that `message_vector` subtracts."""
    return COMMON_SHARE * vectors / (vectors + SUPPOSED_ROWS)


def scaled(values: Floats, among: NDArray[np.bool_] | None, least_range: float) -> Floats:
    """Return min-max scaled values, 0 to 1, over the rows of `among` (None: all); the others get 0.

    A range below `least_range` is not stretched to 1, since among unrelated rows, too, one is the nearest. The range
    includes 0, the value of a row with nothing in common, so that a single row is not scaled to 0.
    """
    chosen = values if among is None else values[among]
    low, high = (min(float(chosen.min()), 0.0), float(chosen.max())) if len(chosen) else (0.0, 0.0)
    if high <= low:
        return np.zeros_like(values)
    result = values - np.float32(low)
    result /= np.float32(max(high - low, least_range))
    if among is not None:
        result[~among] = 0
    return result


def recency(at: NDArray[np.float64], episodes: NDArray[np.bool_]) -> Floats:
    """Return what each memory gets for being new, by how many memories are newer (by `at`, then by insertion).

    Episodes get nothing: what was said last year answers as well as what was said today.
    """
    scores = np.zeros(len(at), np.float32)
    rows = np.flatnonzero(~episodes)
    rows = rows[np.argsort(at[rows], kind="stable")]
    newer = np.arange(len(rows) - 1, -1, -1, dtype=np.float32)
    scores[rows] = WEIGHTS["recency"] * np.exp2(-newer / np.float32(RECENCY_HALVING_ROWS))
    return scores


def adjacent(sessions: NDArray[np.uint32]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which rows, from the second on, are of the previous row's session; and from the third, of the one before.

    sessions: 0 for a row without a session.
    """
    return (
        (sessions[1:] == sessions[:-1]) & (sessions[1:] != 0),
        (sessions[2:] == sessions[:-2]) & (sessions[2:] != 0),
    )


def with_adjacent(words: Floats, adjacent: tuple[NDArray[np.bool_], NDArray[np.bool_]]) -> Floats:
    """Return lexical scores plus shares of those of the `adjacent` rows."""
    one, two = adjacent
    spread = words.copy()
    spread[1:] += np.float32(BEFORE_SHARES[0]) * words[:-1] * one
    spread[:-1] += np.float32(AFTER_SHARE) * words[1:] * one
    spread[2:] += np.float32(BEFORE_SHARES[1]) * words[:-2] * two
    return spread


def standing(lengths: Floats, questions: NDArray[np.bool_], importance: Floats, replies: NDArray[np.bool_]) -> Floats:
    """Return the scores of rows that do not depend on the message: longer rows say more, questions rarely answer.

    replies: what the assistant said, which tells less of the user.
    """
    scores = WEIGHTS["length"] * np.log1p(np.clip(lengths, 0, 100))
    scores += WEIGHTS["question"] * questions
    scores += WEIGHTS["reply"] * replies
    scores += WEIGHTS["importance"] * (importance - np.float32(0.5))
    return scores.astype(np.float32)


def lectures(
    turns: NDArray[np.int64], replies: NDArray[np.bool_], average_length: float
) -> tuple[NDArray[np.bool_], bool]:
    """Return which rows are parts of long replies, and whether a scope is the log of an assistant, which gives many.

    turns: of each row. replies: which rows are what the assistant said. average_length: of the rows, in terms; whole
    exchanges that are memories are long. Between people, replies are short.
    """
    whose, at, counts = np.unique(turns[replies], return_inverse=True, return_counts=True)
    long = np.zeros(len(turns), bool)
    long[replies] = counts[at] >= LECTURE_PASSAGES
    many = np.count_nonzero(counts >= LECTURE_PASSAGES) > ASSISTED_SHARE * len(whose)
    return long, bool(many) or average_length >= ASSISTED_LENGTH


def dated(at: NDArray[np.float64], spans: Sequence[Span]) -> Floats:
    """Return how well each row's time fits the days that the message names, 0 to 1."""
    best = np.zeros(len(at), np.float32)
    for span in spans:
        late = np.maximum(at - span.end, 0.0)
        fit = span.weight * np.exp2(-late / DATE_HALVING_SECONDS)
        np.maximum(best, np.where((at >= span.start) & (late < LATEST_DATED_SECONDS), fit, 0), out=best)
    return best


def covering_alike(coverage: Floats) -> NDArray[np.bool_]:
    """Return which rows cover the message about equally, (rows, rows).

    The lines of two lockers differ by a number alone; where the message names one, they are not versions of each other.
    """
    more = np.maximum(coverage[:, None], coverage[None, :])
    alike: NDArray[np.bool_] = np.minimum(coverage[:, None], coverage[None, :]) >= COVERING_ALIKE * more
    return alike


def newest_first(
    ranks: Floats, times: NDArray[np.float64], numbers: NDArray[np.int64], alike: NDArray[np.bool_]
) -> Floats:
    """Give the newest of near-duplicates the rank of their best, and penalize the others: what was said last holds.

    ranks: descending. Of two rows of one time, the one with the higher number is newer.
    """
    earlier = np.tril(alike, -1)
    later = np.flatnonzero(earlier.any(axis=1)).tolist()
    if not later:
        return ranks
    ranks = ranks.copy()
    heads = np.ones(len(ranks), bool)
    versions: dict[int, list[int]] = {}
    for row in later:
        near = np.flatnonzero(earlier[row] & heads)
        if len(near):
            heads[row] = False
            versions.setdefault(int(near[0]), [int(near[0])]).append(row)
    for rows in versions.values():
        best = ranks[rows[0]]
        newest = max(rows, key=lambda row: (times[row], numbers[row]))
        ranks[rows] += WEIGHTS["older version"]
        ranks[newest] = best
    return ranks
