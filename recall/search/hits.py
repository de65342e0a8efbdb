"""From the rows that a search has chosen to its hits."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall.index.index import Index
from recall.index.scope_rows import ScopeRows
from recall.ranking import rank
from recall.types import Hit

__all__ = ["CandidateRow", "chosen", "hits_of"]


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

    A memory and the turn that it was extracted from are one hit: the memory, at the better place of the two.
    """
    is_episode, turn_of = rows.episodes.values, rows.turns.values
    of_turn: dict[int, CandidateRow] = {}
    for one in found:
        if not is_episode[one.row]:
            of_turn.setdefault(int(turn_of[one.row]), one)
    of_turn.pop(0, None)
    memories: list[CandidateRow] = []
    passages: list[CandidateRow] = []
    place: dict[int, int] = {}
    turns: set[int] = set()
    for at, one in enumerate(found):
        turn = int(turn_of[one.row])
        kept = one
        if is_episode[one.row]:
            if turn in turns:
                continue
            turns.add(turn)
            kept = of_turn.get(turn, one)
        if kept.row not in place:
            place[kept.row] = at
            (passages if is_episode[kept.row] else memories).append(kept)
    best = [*_with_a_preference(memories, limit), *passages[:episodes]]
    return sorted(best, key=lambda one: place[one.row])


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
