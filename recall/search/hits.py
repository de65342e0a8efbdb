"""From the rows that a search has chosen to its hits."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall.index.index import Index
from recall.index.scope_rows import REPLIES_BELOW, ScopeRows
from recall.ranking import rank
from recall.text.words import terms_of, tokens_of
from recall.types import Hit

__all__ = ["CandidateRow", "chosen", "hits_of"]

# The share of a memory's terms that are in the words it was extracted from; and the share of the words' terms that a
# memory has which says all of them.
_EXTRACTED_SHARE = 0.8
_WHOLE_SHARE = 0.75
# Words that ask to remember are no part of what is to be remembered.
_ASKING = frozenset(terms_of(tokens_of("please remember that 请记住 记住")))


class CandidateRow(NamedTuple):
    """A chosen row: its number and score; `related` and `parts` as in `Hit`.

    applies: whether it is a standing preference for what the message asks to be made.
    """

    row: int
    score: float
    related: bool
    applies: bool
    parts: dict[str, float]


def chosen(found: Sequence[CandidateRow], rows: ScopeRows, limit: int, episodes: int) -> list[CandidateRow]:
    """Return at most `limit` memories and `episodes` passages, in the order of `found`, one passage a turn.

    A memory and the user's words that it was extracted from are one hit, at the better place of the two: see
    `_says_more`.
    """
    stands = _standing_for(found, rows)
    memories: list[CandidateRow] = []
    passages: list[CandidateRow] = []
    place: dict[int, int] = {}
    turns: set[int] = set()
    for at, one in enumerate(found):
        kept = stands.get(one.row, one)
        if kept.row in place:
            continue
        if rows.episodes.values[kept.row]:
            turn = int(rows.turns.values[kept.row])
            if turn in turns:
                continue
            turns.add(turn)
            passages.append(kept)
        else:
            memories.append(kept)
        place[kept.row] = at
    best = [*_with_a_preference(memories, limit), *passages[:episodes]]
    return sorted(best, key=lambda one: place[one.row])


def _standing_for(found: Sequence[CandidateRow], rows: ScopeRows) -> dict[int, CandidateRow]:
    """Return, by row, which other candidate stands for it: a memory for its turn's passages, or they for the memory."""
    memories: dict[int, list[CandidateRow]] = {}
    passages: dict[int, list[CandidateRow]] = {}
    for one in found:
        if turn := int(rows.turns.values[one.row]):
            (passages if rows.episodes.values[one.row] else memories).setdefault(turn, []).append(one)
    stands: dict[int, CandidateRow] = {}
    for turn in memories.keys() & passages.keys():
        words = passages[turn]
        for memory in memories[turn]:
            extract = _says_more(rows, turn, memory.row)
            stood_for = [memory, words[0]] if extract else [memory, *words]
            # Both say it, so the better score is that of the hit.
            hit = (words[0] if extract else memory)._replace(score=max(one.score for one in stood_for))
            stands |= {one.row: hit for one in stood_for if one.row not in stands}
    return stands


def _says_more(rows: ScopeRows, turn: int, memory: int) -> bool:
    """Return whether the user's words contain a memory and much else, as with the rules; a model's is no extract."""
    user = rows.episodes.values & (rows.turns.values == turn) & (rows.importance.values >= REPLIES_BELOW)
    said = {term for terms in rows.terms_of(np.flatnonzero(user)) for term in terms.tolist()}
    said -= _ASKING.union(rows.speakers.values[user].tolist())
    kept = set(rows.terms_of(np.array([memory]))[0].tolist())
    shared = len(said & kept)
    return shared >= _EXTRACTED_SHARE * len(kept) and shared < _WHOLE_SHARE * len(said)


def _with_a_preference(found: list[CandidateRow], limit: int) -> list[CandidateRow]:
    """Return the first `limit`. A preference that applies to the task takes the last place if none is among them."""
    chosen, rest = found[:limit], found[limit:]
    if not any(one.applies for one in chosen):
        chosen[len(chosen) - 1 :] = [*(one for one in rest if one.applies), *chosen[-1:]][:1]
    return chosen


def hits_of(index: Index, scope: str, sequences: NDArray[np.int64], found: Sequence[CandidateRow]) -> tuple[Hit, ...]:
    """Return the hits of chosen rows; `sequences`: of all rows. A row that was removed meanwhile is left out."""
    wanted = [int(sequences[one.row]) for one in found]
    stored = index.stored(scope, wanted)
    hits = []
    for sequence, one in zip(wanted, found, strict=True):
        row = stored.get(sequence)
        if row is None:
            continue
        if one.parts:
            # The term of a row's form contains that of its importance.
            one.parts["importance"] = rank.IMPORTANCE_WEIGHT * (row.entry.importance - 0.5)
            one.parts["form"] -= one.parts["importance"]
        hits.append(Hit.of(row, one.score, related=one.related, parts=one.parts))
    return tuple(hits)
