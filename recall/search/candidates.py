"""The rows that a search looks at, what they share with the message, and the hits that they become.

A memory and the words it was extracted from are one hit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from recall.encoding.scale import Scale
from recall.index.index import Index
from recall.index.scope_rows import REPLIES_BELOW, ScopeRows
from recall.ranking import rank
from recall.tables import table
from recall.text.words import terms_of, tokens_of
from recall.types import Hit

# The vectors that a search compares the rows with.

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryVector:
    """The vector of the message, and those of the turns before it, the last turn first.

    sought: near which the answer to the message is, by which rows are ranked; None where it asks for nothing.
    """

    vector: Floats
    preceding: Sequence[Floats]
    sought: Floats | None = None

    def alone(self) -> Self:
        """Return the vector of the message without the turns before it."""
        return replace(self, preceding=())

    @property
    def own(self) -> Floats:
        """The vector of what the message seeks, without the turns before it."""
        return self.vector if self.sought is None else self.sought

    def toward(self, vector_sum: Floats, vectors: int) -> Floats:
        """Return the vector to compare with rows, less what all rows have in common, given the sum of their vectors."""
        return rank.message_vector(self.own, self.preceding, vector_sum, vectors)

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
            with np.errstate(invalid="ignore"):  # of rows that may not be found: nobody asks for their terms
                grown = scores - self._last
            self._terms[name] = self._terms.get(name, np.float32(0)) + grown
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
        covered: Floats = np.vecdot(shares, weights)
        return covered

    def cosines(self, vector: Floats) -> Floats:
        """Return each row's cosine with a unit vector; -1 where a row has no vector yet."""
        return np.where(self.embedded, np.vecdot(self.vectors, vector), np.float32(-1))

    def alike(self, scale: Scale) -> NDArray[np.bool_]:
        """Return which rows are near-duplicates, (rows, rows)."""
        known, at = np.unique(self.terms, return_inverse=True)
        has_term = np.zeros((len(self.counts), len(known)), np.float32)
        has_term[self._row_of_each_term(), at] = 1
        both = _products(has_term)
        each = has_term.sum(axis=1)
        overlap = both / np.maximum(each[:, None] + each[None, :] - both, 1)
        near: NDArray[np.bool_] = overlap > _SAME_WORDS
        if np.count_nonzero(near) == np.count_nonzero(near.diagonal()):  # no two rows, as mostly
            return near
        embedded = self.embedded[:, None] & self.embedded[None, :]
        meaning = scale.cosines(_products(self.vectors))
        same: NDArray[np.bool_] = np.where(embedded, near & (meaning > _SAME_MEANING), overlap > _SAME_WORDS_ALONE)
        return same

    def _row_of_each_term(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self.counts)), self.counts)


def _products(rows: Floats) -> Floats:
    """Return the product of each row with each, (rows, rows)."""
    products: Floats = np.vecdot(rows[:, None], rows[None])
    return products


# A memory and the words of the turn that it was extracted from: they rank together, and are one hit.

# The rank of a memory with the words of its turn: this share of the sum of both ranks.
_JOINT_SHARE = 0.6
# The share of a memory's terms that are in the words it was extracted from; and the share of the words' terms that a
# memory has which says all of them.
_EXTRACTED_SHARE = 0.95
_WHOLE_SHARE = 0.75
# How much more of the message's terms, by weight, the words cover than each of their memories, to be a hit beside it.
_ANSWERS_MORE = 0.5
_IMPORTANCE_WEIGHT = table("weights").numbers("rank")["importance"]
# Words that ask to remember are no part of what is to be remembered.
_ASKING = frozenset(terms_of(tokens_of("please remember that 请记住 记住")))


def rank_with_words(scores: Floats, rows: ScopeRows, best: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rank memories together with the words of their turns, in place, and return the candidates with such memories.

    scores: of every row, -inf for one that may not be found. best: the candidates' rows.
    """
    turns, is_episode = rows.turns.values, rows.episodes.values
    turns_of_best = np.unique(turns[best])
    of_turns = np.flatnonzero(np.isin(turns, turns_of_best[turns_of_best > 0]) & np.isfinite(scores))
    memories, passages = of_turns[~is_episode[of_turns]], of_turns[is_episode[of_turns]]
    if not len(memories) or not len(passages):
        return best
    same = turns[memories][:, None] == turns[passages][None, :]
    words = np.where(same, scores[passages][None, :], -np.inf).max(axis=1)
    has_words = np.isfinite(words)
    memories = memories[has_words]
    scores[memories] = np.float32(_JOINT_SHARE) * (scores[memories] + words[has_words])
    return np.union1d(best, memories)


def representatives(coverage: Mapping[int, float], rows: ScopeRows) -> dict[int, int]:
    """Return, by row, the other row that represents it: a memory for its turn's passages, or a passage for the memory.

    coverage: of the message by each row, best row first. The passages represent a memory that is an extract of them
    where they say much else, or answer more of the message: a memory of one fact does not hide the others. They
    represent none that has other words, and where they answer more, no memory represents them.
    """
    memories: dict[int, list[int]] = {}
    passages: dict[int, list[int]] = {}
    for row in coverage:
        if turn := int(rows.turns.values[row]):
            (passages if rows.episodes.values[row] else memories).setdefault(turn, []).append(row)
    represented_by: dict[int, int] = {}
    for turn in memories.keys() & passages.keys():
        best_memory = max(memories[turn], key=coverage.__getitem__)
        words = max(passages[turn], key=coverage.__getitem__)
        answer_more = coverage[words] >= coverage[best_memory] + _ANSWERS_MORE
        for memory in memories[turn]:
            extracted = _extracted(rows, turn, memory)
            if extracted and (answer_more or extracted < _WHOLE_SHARE):
                represented_by.setdefault(memory, passages[turn][0])
            elif not answer_more:
                for passage in passages[turn]:
                    represented_by.setdefault(passage, memory)
    return represented_by


def _extracted(rows: ScopeRows, turn: int, memory: int) -> float:
    """Return the share of a turn's terms that a memory has; 0 where the user's words lack some of its own.

    A memory that a model wrote is no extract.
    """
    said = rows.episodes.values & (rows.turns.values == turn)
    user = said & (rows.importance.values >= REPLIES_BELOW)
    no_words = _ASKING.union(rows.speakers.values[said].tolist())
    terms_of_user, terms_of_turn = (_own_terms(rows, np.flatnonzero(each)) - no_words for each in (user, said))
    terms_of_memory = _own_terms(rows, np.array([memory]))
    shared = len(terms_of_user & terms_of_memory)
    return shared / max(1, len(terms_of_turn)) if shared >= _EXTRACTED_SHARE * len(terms_of_memory) else 0.0


def _own_terms(rows: ScopeRows, of: NDArray[np.int64]) -> set[int]:
    """Return the terms of some rows without what stands behind them, such as the note of a memory's days."""
    lengths = rows.lengths.values[of].astype(int).tolist()
    return {term for terms, length in zip(rows.terms_of(of), lengths, strict=True) for term in terms[:length].tolist()}


class CandidateRow(NamedTuple):
    """A chosen row: its number and score; `related` and `parts` as in `Hit`.

    applies: whether it is a standing preference for what the message asks to be made. coverage: the share of the
    message's terms, by weight, that it has.
    """

    row: int
    score: float
    coverage: float
    related: bool
    applies: bool
    parts: dict[str, float]


def chosen(candidates: Sequence[CandidateRow], rows: ScopeRows, limit: int, episodes: int) -> list[CandidateRow]:
    """Return at most `limit` memories and `episodes` passages, in the order of `found`, one passage a turn.

    Where a memory stands for the words of its turn (`representatives`), it has their place, and the better score of
    both. An extract for which the words stand makes them no better. A short line is near to many a message: how near
    the whole turn is tells more. A place that no passage takes goes to another memory. Where one of the numbers is 0,
    only the other kind is wanted, and none represents the other.
    """
    if not (limit and episodes):
        candidates = [one for one in candidates if bool(rows.episodes.values[one.row]) == (not limit)]
    represented_by = representatives({one.row: one.coverage for one in candidates}, rows)
    by_row = {one.row: one for one in candidates}
    placed = set(represented_by.values()) - represented_by.keys()
    """Those whose places are those of the rows that they represent."""
    hits: dict[int, CandidateRow] = {}
    turns: set[int] = set()
    for one in candidates:
        row = represented_by.get(one.row, one.row)
        is_memory = not rows.episodes.values[one.row]
        if row in hits or (is_memory and (row in placed if row == one.row else row not in represented_by)):
            continue
        if rows.episodes.values[row]:
            turn = int(rows.turns.values[row])
            if turn in turns:
                continue
            turns.add(turn)
        hits[row] = by_row[row]._replace(score=max(one.score, by_row[row].score))
    order = {row: place for place, row in enumerate(hits)}
    memories = _with_a_preference([one for one in hits.values() if not rows.episodes.values[one.row]], limit)
    first = {one.row for one in memories}
    others = [one for one in hits.values() if one.row not in first][:episodes]
    return sorted([*memories, *others], key=lambda one: order[one.row])


def _with_a_preference(memories: list[CandidateRow], limit: int) -> list[CandidateRow]:
    """Return the first `limit`. A preference that applies to the task takes the last place if none is among them."""
    chosen, rest = memories[:limit], memories[limit:]
    if chosen and not any(one.applies for one in chosen):
        chosen[len(chosen) - 1 :] = [*(one for one in rest if one.applies), *chosen[-1:]][:1]
    return chosen


def hits_of(
    index: Index, scope: str, sequences: NDArray[np.int64], *groups: Sequence[CandidateRow]
) -> list[tuple[Hit, ...]]:
    """Return the hits of each group of chosen rows, in one read; `sequences`: of all rows.

    A row that was removed meanwhile is left out.
    """
    stored = index.stored(scope, [int(sequences[one.row]) for group in groups for one in group])
    hits = []
    for group in groups:
        found = []
        for one in group:
            row = stored.get(int(sequences[one.row]))
            if row is None:
                continue
            if one.parts:
                # The term of a row's form contains that of its importance.
                one.parts["importance"] = _IMPORTANCE_WEIGHT * (row.entry.importance - 0.5)
                one.parts["form"] -= one.parts["importance"]
            found.append(Hit.of(row, one.score, related=one.related, parts=one.parts))
        hits.append(tuple(found))
    return hits
