"""From the rows that a search has chosen to its hits."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall.index.index import Index
from recall.index.scope_rows import ScopeRows
from recall.ranking import rank
from recall.search.same_turn import standing_for
from recall.types import Hit

__all__ = ["CandidateRow", "chosen", "hits_of"]


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


def chosen(found: Sequence[CandidateRow], rows: ScopeRows, limit: int, episodes: int) -> list[CandidateRow]:
    """Return at most `limit` memories and `episodes` passages, in the order of `found`, one passage a turn.

    Where a memory and the words of its turn are one hit (`same_turn.standing_for`), it has the better place and score
    of the two. A place that no passage takes goes to another memory. Where one of the numbers is 0, only the other kind
    is wanted, and none stands for the other.
    """
    if not (limit and episodes):
        found = [one for one in found if bool(rows.episodes.values[one.row]) == (not limit)]
    stands = standing_for({one.row: one.coverage for one in found}, rows)
    by_row = {one.row: one for one in found}
    hits: dict[int, CandidateRow] = {}
    turns: set[int] = set()
    for one in found:
        row = stands.get(one.row, one.row)
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


def _with_a_preference(found: list[CandidateRow], limit: int) -> list[CandidateRow]:
    """Return the first `limit`. A preference that applies to the task takes the last place if none is among them."""
    chosen, rest = found[:limit], found[limit:]
    if chosen and not any(one.applies for one in chosen):
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
