"""Ranking: plain functions from numbers of rows to an order and a calibrated score. docs/recall.md has what each gains.

An array named for what it holds has one value a row of the scopes that are searched, one scope after the other. The
weights are those of a listwise logistic fit over five sets of conversations, rounded; docs/recall.md tells of it.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recall.ranking.postings import Segment
from recall.text.dates import Span

__all__ = [
    "beside",
    "bm25_into",
    "calibrated",
    "common_share",
    "covering_alike",
    "dated",
    "evidence",
    "inverse_document_frequencies",
    "length_norms",
    "message_vector",
    "newest_first",
    "scaled",
    "standing",
    "with_neighbours",
]

Floats = NDArray[np.float32]

# BM25 (Robertson & Zaragoza 2009, eq. 3.15). Memories are short, so length says little: b far below the usual .75.
K1 = 0.9
B = 0.3

WORDS_WEIGHT = 1.0
MEANING_WEIGHT = 1.1
# More when the turns before it make the message's vector surer of what is spoken of.
MEANING_WITH_CONTEXT_WEIGHT = 1.4
# A share of the words' score of the row before, the one before that, and the one after, of the same session: what a
# question asked, the next turn answers.
BEFORE_SHARES = (0.65, 0.2)
AFTER_SHARE = 0.2
SPEAKER_WEIGHT = 0.6
QUESTION_WEIGHT = -0.35
LENGTH_WEIGHT = 0.08
RECENCY_WEIGHT = 0.45
RECENCY_HALVING_ROWS = 20.0
DATE_WEIGHT = 1.0
# What was told some days after still speaks of that day.
DATE_HALVING_SECONDS = 3 * 86400.0
TOPIC_WEIGHT = 0.3
IMPORTANCE_WEIGHT = 0.1
# What a row loses for which there is a newer version.
OLDER_VERSION_WEIGHT = 1.0
# The share of the other's coverage that a version must have.
COVERING_ALIKE = 0.5
# What a difference must be to count fully: of cosines, and of words' scores as a share of what all terms could give.
LEAST_MEANING_RANGE = 0.35
LEAST_WORDS_SHARE = 0.2
# Postings: numpy holds Python's lock while it adds them, for a millisecond.
_ADDED_AT_ONCE = 250_000
# A small store is ranked as if it held so many more rows that have nothing to do with the message.
SUPPOSED_ROWS = 20
# How much of the mean of all vectors is taken out of the message's: what all memories have in common tells none apart.
COMMON_SHARE = 0.7
# The preceding turns' vectors beside the message's, and how they fade from one turn to the one before.
CONTEXT_WEIGHT = 0.8
CONTEXT_FADING = 0.6

# The calibration: log-odds of a logistic fit on whether the best three held a labelled memory, against messages that
# no memory answers (filler chats, small talk), in stores of one to seven hundred rows. .5 is where 10 in 100 filler
# messages would get a block.
NO_EVIDENCE = -6.06
LEAD_EVIDENCE = 2.1
FIRST_EVIDENCE = 0.65
MEANING_EVIDENCE = 4.8
BOTH_EVIDENCE = 2.8
SELF_EVIDENCE = 1.5
LEANING_EVIDENCE = 0.9
TASK_EVIDENCE = -1.6
DATE_EVIDENCE = 0.8
QUESTION_EVIDENCE = 1.15
WORDS_ALONE_EVIDENCE = -3.5
COVERAGE_EVIDENCE = 2.5
# What a row ranks at that has nothing to do with the message: its recency and length alone.
UNRELATED_RANK = 0.4
# However sure the best row is, one whose rank is so far behind it is as likely as not useless.
BEHIND_EVIDENCE = 0.3
FARTHEST_BEHIND = 1.0
FOREMOST_EVIDENCE = 3.0
# A standing preference for what the message asks to be made is rather useful, whatever its words are.
APPLIES_EVIDENCE = 0.4


def inverse_document_frequencies(counts: NDArray[np.int64], rows: int) -> Floats:
    """Of terms that `counts` of `rows` rows hold; never negative (Lucene's form).

    As if some more rows held none of them: in a store of one row its words would otherwise say nothing.
    """
    return np.log1p((rows + SUPPOSED_ROWS - counts + 0.5) / (counts + 0.5)).astype(np.float32)


def length_norms(lengths: Floats, average: float) -> Floats:
    """The part of BM25's denominator that depends on the row alone."""
    return (lengths * np.float32(K1 * B / max(average, 1.0)) + np.float32(K1 * (1 - B))).astype(np.float32)


def bm25_into(
    scores: Floats,
    segment: Segment,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    weights: Floats,
    norms: Floats,
) -> None:
    """Add the terms' BM25 to `scores`, given where each term's postings are in the segment, and its weighted idf."""
    counts = ends - starts
    upto = np.cumsum(counts)
    first = done = 0
    while done < upto[-1]:
        last = max(int(np.searchsorted(upto, done + _ADDED_AT_ONCE, side="right")), first + 1)
        part = slice(first, last)
        # The places of these terms' postings, one term's after the other's.
        at = np.arange(done, upto[last - 1]) + np.repeat(ends[part] - upto[part], counts[part])
        rows = segment.rows[at]
        frequencies = segment.frequencies[at]
        gains = np.repeat(weights[part] * np.float32(K1 + 1), counts[part]) * frequencies
        gains /= frequencies + norms[rows]
        np.add.at(scores, rows, gains)
        first, done = last, int(upto[last - 1])


def message_vector(own: Floats, preceding: Sequence[Floats], vector_sum: Floats, vectors: int) -> Floats:
    """The vector to search by: the message's, what was said before (the last turn first), less what all rows share.

    `vector_sum` over `vectors` rows tells what they share; of a few rows it would be what they say.
    """
    vector = own
    if preceding:
        fading = np.array([CONTEXT_FADING**age for age in range(len(preceding))], np.float32)
        context = fading @ np.array(preceding, np.float32)
        vector = vector + context * np.float32(CONTEXT_WEIGHT / max(_length(context), 1e-6))
        vector /= np.float32(max(_length(vector), 1e-6))
    return vector - vector_sum * np.float32(COMMON_SHARE / (vectors + SUPPOSED_ROWS))


def _length(vector: Floats) -> float:
    return math.sqrt(float(vector @ vector))


def common_share(vectors: int) -> float:
    """How much of the mean of so many vectors `message_vector` takes out."""
    return COMMON_SHARE * vectors / (vectors + SUPPOSED_ROWS)


def scaled(values: Floats, among: NDArray[np.bool_] | None, least_range: float) -> Floats:
    """Min-max over the rows of `among` (None: all), 0..1; the others get 0.

    A range below `least_range` is not stretched to 1: of a few rows that all have nothing to do with the message, one
    is always the nearest. And 0, which is what a row with nothing in common gets, is in the range: of one row, too, it
    is told how near it is.
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


def beside(sessions: NDArray[np.uint32]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which rows, from the second on, are of the session of the row before; and from the third, of that before it.

    `sessions`: 0 for a row that belongs to none.
    """
    return (
        (sessions[1:] == sessions[:-1]) & (sessions[1:] != 0),
        (sessions[2:] == sessions[:-2]) & (sessions[2:] != 0),
    )


def with_neighbours(words: Floats, beside: tuple[NDArray[np.bool_], NDArray[np.bool_]]) -> Floats:
    """Words' scores of one scope's rows with shares of those of the rows `beside`."""
    one, two = beside
    spread = words.copy()
    spread[1:] += np.float32(BEFORE_SHARES[0]) * words[:-1] * one
    spread[:-1] += np.float32(AFTER_SHARE) * words[1:] * one
    spread[2:] += np.float32(BEFORE_SHARES[1]) * words[:-2] * two
    return spread


def standing(lengths: Floats, questions: NDArray[np.bool_], importance: Floats) -> Floats:
    """What a row gets whatever the message is: a longer one says more, one that ends asking rarely answers."""
    scores = np.float32(LENGTH_WEIGHT) * np.log1p(np.clip(lengths, 0, 100))
    scores += np.float32(QUESTION_WEIGHT) * questions
    scores += np.float32(IMPORTANCE_WEIGHT) * (importance - np.float32(0.5))
    return scores.astype(np.float32)


def dated(at: NDArray[np.float64], spans: Sequence[Span]) -> Floats:
    """How well each row's time fits the days that the message names, 0..1."""
    best = np.zeros(len(at), np.float32)
    for span in spans:
        late = np.maximum(at - span.end, 0.0)
        fit = span.weight * np.exp2(-late / DATE_HALVING_SECONDS)
        np.maximum(best, np.where((at >= span.start) & (late < 3 * DATE_HALVING_SECONDS), fit, 0), out=best)
    return best


def covering_alike(coverage: Floats) -> NDArray[np.bool_]:
    """Which rows hold about as much of the message as each other, (rows, rows).

    Two lockers' lines differ in a number alone; they are no versions of each other where the message names one.
    """
    more = np.maximum(coverage[:, None], coverage[None, :])
    alike: NDArray[np.bool_] = np.minimum(coverage[:, None], coverage[None, :]) >= COVERING_ALIKE * more
    return alike


def newest_first(
    ranks: Floats, times: NDArray[np.float64], numbers: NDArray[np.int64], alike: NDArray[np.bool_]
) -> Floats:
    """Of rows that say nearly the same the newest gets the best one's rank, and the others make room.

    `ranks` descend; of two rows of one time the one of the higher number is newer. A plan that was changed, a number
    that grew: what was said last holds.
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
        ranks[rows] -= np.float32(OLDER_VERSION_WEIGHT)
        ranks[newest] = best
    return ranks


def evidence(
    *,
    lead: float,
    first: float,
    meaning: float | None,
    both: float,
    selves: int,
    leans: int,
    task: bool,
    dated: float,
    asks: bool,
) -> float:
    """Log-odds that the best few rows hold something useful for the message: 0 is as likely as not.

    lead: how far the best row's rank stands above the tenth's. first: that rank. meaning: mean cosine of the best three
    with the message, None without vectors. both: the most of cosine times coverage among the best ten (coverage alone
    without vectors). selves, leans, task: see `query.Query`. dated: how well the best row fits a day that the message
    names.
    """
    said = SELF_EVIDENCE * math.log1p(selves) + LEANING_EVIDENCE * math.log1p(leans) + TASK_EVIDENCE * task
    said += DATE_EVIDENCE * dated + QUESTION_EVIDENCE * asks + LEAD_EVIDENCE * lead
    if meaning is None:
        return WORDS_ALONE_EVIDENCE + COVERAGE_EVIDENCE * both + said
    return NO_EVIDENCE + FIRST_EVIDENCE * first + MEANING_EVIDENCE * meaning + BOTH_EVIDENCE * both + said


def calibrated(evidence: float, behind: float, *, applies: bool) -> float:
    """A row's score, 0..1, from the evidence and how far its rank is behind the best one's."""
    odds = min(evidence - BEHIND_EVIDENCE * behind, FOREMOST_EVIDENCE * (1 - behind / FARTHEST_BEHIND))
    if applies:
        odds = max(odds, APPLIES_EVIDENCE)
    return 1 / (1 + math.exp(-odds))
