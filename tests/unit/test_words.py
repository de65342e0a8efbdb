"""BM25 over postings is what its formula says, however many segments the rows are in."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recall.ranking import rank
from recall.ranking.postings import Postings
from recall.search.candidates import Candidates

Rows = st.lists(st.lists(st.integers(1, 12), min_size=1, max_size=9), min_size=1, max_size=40)


def postings_of(rows: list[list[int]], cuts: list[int]) -> Postings:
    terms = np.array([term for row in rows for term in row], np.uint32)
    offsets = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    postings = Postings()
    for end in sorted({min(cut, len(rows)) for cut in cuts} | {len(rows)}):
        postings.extend(terms, offsets, end)
    return postings


@given(rows=Rows, cuts=st.lists(st.integers(1, 40), max_size=3), asked=st.sets(st.integers(1, 15), min_size=1))
def test_every_row_gets_the_sum_over_the_terms(rows: list[list[int]], cuts: list[int], asked: set[int]) -> None:
    wanted = np.array(sorted(asked), np.uint32)
    weights = np.array([0.5 + term / 10 for term in wanted], np.float32)
    lengths = np.array([len(row) for row in rows], np.float32)
    average = float(lengths.mean())
    norms = rank.length_norms(lengths, average)
    scores = np.zeros(len(rows), np.float32)
    for segment in postings_of(rows, cuts).segments:
        rank.bm25_into(scores, segment, *segment.find(wanted), weights, norms)
    for row, score in zip(rows, scores.tolist(), strict=True):
        length_part = rank.K1 * (1 - rank.B + rank.B * len(row) / max(average, 1.0))
        expected = sum(
            weight * row.count(term) * (rank.K1 + 1) / (row.count(term) + length_part)
            for term, weight in zip(wanted.tolist(), weights.tolist(), strict=True)
        )
        assert math.isclose(score, expected, rel_tol=1e-4, abs_tol=1e-5)


@given(rows=Rows, asked=st.sets(st.integers(1, 15), min_size=1))
def test_a_row_covers_each_of_the_terms_that_it_holds_once(rows: list[list[int]], asked: set[int]) -> None:
    terms = np.array(sorted(asked), np.uint32)
    weights = np.array([1 + term / 10 for term in sorted(asked)], np.float32)
    none = np.zeros((len(rows), 4), np.float32)
    near = Candidates(
        terms=np.array([term for row in rows for term in row], np.uint32),
        counts=np.array([len(row) for row in rows], np.int64),
        vectors=none,
        embedded=np.zeros(len(rows), bool),
    )
    for row, covered in zip(rows, near.coverage(terms, weights).tolist(), strict=True):
        held = sum(weight for term, weight in zip(sorted(asked), weights.tolist(), strict=True) if term in row)
        assert math.isclose(covered, held / float(weights.sum()), rel_tol=1e-4, abs_tol=1e-6)


Sessions = st.lists(st.integers(0, 2), min_size=0, max_size=12)


@given(sessions=Sessions, seed=st.integers(0, 99))
def test_a_row_gets_shares_of_those_beside_it_in_its_session(sessions: list[int], seed: int) -> None:
    words = np.random.default_rng(seed).random(len(sessions), dtype=np.float32)
    spread = rank.with_adjacent(words, rank.adjacent(np.array(sessions, np.uint32)))
    for row, score in enumerate(spread.tolist()):
        shares = {row - 1: rank.BEFORE_SHARES[0], row - 2: rank.BEFORE_SHARES[1], row + 1: rank.AFTER_SHARE}
        expected = float(words[row]) + sum(
            share * float(words[other])
            for other, share in shares.items()
            if 0 <= other < len(sessions) and sessions[other] == sessions[row] != 0
        )
        assert math.isclose(score, expected, rel_tol=1e-5, abs_tol=1e-6)
