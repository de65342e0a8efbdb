"""The decisions about a batch of turns so far, and the memories to which its candidates are compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from itertools import groupby

from extractor import Candidate, Decision, Known, Turn
from gateway_memory.runtime.clock import local_time
from gateway_memory.store.documents import MEMORY_FILE
from gateway_memory.store.journal.turns import PendingTurn
from gateway_memory.store.plan import CandidateOutcome, Retired
from gateway_memory.store.record import MemoryRecord
from gateway_memory.store.review import Review, Settled
from gateway_memory.sync.follower import IMPORTANCE
from recall import Near, text_overlap

__all__ = ["Draft", "by_scope", "drafted", "known", "read_turn"]


@dataclass(slots=True)
class Draft:
    """A draft that grows with each candidate. Later candidates are also compared to earlier ones."""

    added: list[MemoryRecord] = field(default_factory=list)
    retired: list[Retired] = field(default_factory=list)
    outcomes: list[CandidateOutcome] = field(default_factory=list)
    by_rules: list[MemoryRecord] = field(default_factory=list)
    """The memories that the rules extracted from these turns and that nothing has replaced yet."""
    reviews: list[Review] = field(default_factory=list)
    """The candidates that wait for a person."""
    closed: list[Settled] = field(default_factory=list)
    """What becomes of candidates that waited before."""
    reviewed: bool = False
    """Whether a person has approved the candidate."""
    settled: Mapping[Candidate, Decision] = field(default_factory=dict)
    """The model's decisions about candidates of which the rules were unsure."""


def by_scope(turns: Sequence[PendingTurn]) -> list[tuple[str, list[PendingTurn]]]:
    """Return the turns of each scope in the order in which they were said, imported ones apart."""
    ordered = sorted(turns, key=lambda turn: (*_kind(turn), turn.at if turn.imported else 0.0, turn.id))
    return [(scope, list(group)) for (scope, _), group in groupby(ordered, key=_kind)]


def _kind(turn: PendingTurn) -> tuple[str, bool]:
    return turn.scope, turn.imported


def read_turn(turn: PendingTurn, zone: tzinfo | None) -> Turn:
    """Return a turn of the journal in the extractor's form."""
    return Turn(id=turn.id, user=turn.user, reply=turn.reply, at=local_time(turn.at, zone))


def known(near: Near) -> Known:
    """Return a memory of the index in the form that merging uses."""
    entry = near.stored.entry
    return Known(
        id=entry.id,
        text=entry.text,
        cosine=near.cosine,
        overlap=near.overlap,
        importance="high" if entry.importance >= IMPORTANCE["high"] else "normal",
        protected=near.stored.file == MEMORY_FILE,
    )


def drafted(memory: MemoryRecord, text: str, turn: int = 0) -> Known:
    """Return a memory of the current batch, which is not indexed yet. It is compared by its words only.

    turn: the turn of the candidate to which it is compared.
    """
    return Known(
        id=memory.id,
        text=memory.text,
        cosine=None,
        overlap=text_overlap(memory.text, text),
        importance=memory.importance,
        told_with=memory.turn == turn > 0,
    )
