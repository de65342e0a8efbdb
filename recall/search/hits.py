"""From the rows that a search has chosen to its hits: a memory and the words it was extracted from are one hit."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall.index.index import Index
from recall.index.scope_rows import REPLIES_BELOW, ScopeRows
from recall.tables import table
from recall.text.words import terms_of, tokens_of
from recall.types import Hit

# A memory and the words of the turn that it was extracted from: they rank together, and are one hit.

Floats = NDArray[np.float32]


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

    coverage: of the message by each row, best row first. The passages represent a memory where they say more
    than the memory (`_says_more`). Where they answer more of the message, neither represents the other: a memory of one
    fact does not hide the others.
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
        if coverage[words] >= coverage[best_memory] + _ANSWERS_MORE:
            continue
        for memory in memories[turn]:
            if _says_more(rows, turn, memory):
                represented_by.setdefault(memory, passages[turn][0])
            else:
                for passage in passages[turn]:
                    represented_by.setdefault(passage, memory)
    return represented_by


def _says_more(rows: ScopeRows, turn: int, memory: int) -> bool:
    """Return whether the user's words contain a memory and much else, as with the rules; a model's is no extract."""
    user = rows.episodes.values & (rows.turns.values == turn) & (rows.importance.values >= REPLIES_BELOW)
    terms_of_user = {term for terms in rows.terms_of(np.flatnonzero(user)) for term in terms.tolist()}
    terms_of_user -= _ASKING.union(rows.speakers.values[user].tolist())
    terms_of_memory = set(rows.terms_of(np.array([memory]))[0].tolist())
    shared = len(terms_of_user & terms_of_memory)
    return shared >= _EXTRACTED_SHARE * len(terms_of_memory) and shared < _WHOLE_SHARE * len(terms_of_user)


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

    Where a memory and the words of its turn are one hit (`representatives`), it has the better place and score of the
    two. A place that no passage takes goes to another memory. Where one of the numbers is 0, only the other kind
    is wanted, and none represents the other.
    """
    if not (limit and episodes):
        candidates = [one for one in candidates if bool(rows.episodes.values[one.row]) == (not limit)]
    represented_by = representatives({one.row: one.coverage for one in candidates}, rows)
    by_row = {one.row: one for one in candidates}
    hits: dict[int, CandidateRow] = {}
    turns: set[int] = set()
    for one in candidates:
        row = represented_by.get(one.row, one.row)
        if row in hits:
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
    index: Index, scope: str, sequences: NDArray[np.int64], candidates: Sequence[CandidateRow]
) -> tuple[Hit, ...]:
    """Return the hits of chosen rows; `sequences`: of all rows. A row that was removed meanwhile is left out."""
    wanted_sequences = [int(sequences[one.row]) for one in candidates]
    stored = index.stored(scope, wanted_sequences)
    hits = []
    for sequence, one in zip(wanted_sequences, candidates, strict=True):
        row = stored.get(sequence)
        if row is None:
            continue
        if one.parts:
            # The term of a row's form contains that of its importance.
            one.parts["importance"] = _IMPORTANCE_WEIGHT * (row.entry.importance - 0.5)
            one.parts["form"] -= one.parts["importance"]
        hits.append(Hit.of(row, one.score, related=one.related, parts=one.parts))
    return tuple(hits)
