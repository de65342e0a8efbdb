"""A plan in the making, and what a candidate is compared to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from itertools import groupby

from extractor import Candidate, Decision, Known, Turn
from gateway_memory.runtime.ground import local_time
from gateway_memory.scope import Scope
from gateway_memory.store.documents import MEMORY_FILE
from gateway_memory.store.journal.turns import PendingTurn
from gateway_memory.store.markdown import one_line
from gateway_memory.store.plan import CandidateOutcome, Moved, Plan, Retired, Stage
from gateway_memory.store.record import MemoryRecord, Review, Settled
from gateway_memory.store.report import Rated
from gateway_memory.sync.follower import IMPORTANCE
from recall import Near, text_overlap


@dataclass(slots=True)
class Draft:
    """The changes to one scope that a stage or a command gathers.

    Beside the fields of a plan, it has:

    room: the bytes by which MEMORY.md may still grow.
    by_rules: the memories that the rules extracted from these turns and that nothing has replaced yet.
    decided: the model's decisions about candidates of which the rules were unsure.
    reviewed: whether a person has approved the candidate.
    """

    scope: Scope
    stage: Stage
    turns: Sequence[PendingTurn] = ()
    added: list[MemoryRecord] = field(default_factory=list)
    retired: list[Retired] = field(default_factory=list)
    moved: list[Moved] = field(default_factory=list)
    outcomes: list[CandidateOutcome] = field(default_factory=list)
    reviews: list[Review] = field(default_factory=list)
    settled: list[Settled] = field(default_factory=list)
    rated: list[Rated] = field(default_factory=list)
    failed: bool = False
    room: int = 0
    by_rules: list[MemoryRecord] = field(default_factory=list)
    decided: Mapping[Candidate, Decision] = field(default_factory=dict)
    reviewed: bool = False

    def note(self, action: str, reason: str, identity: str = "", *, turn: int = 0) -> None:
        """Add a line to the receipt. identity: of the memory or the review; turn: 0 for none."""
        self.outcomes.append(CandidateOutcome(turn=turn, action=action, reason=reason, id=identity))

    def move(self, memory: MemoryRecord, file: str, *, reason: str) -> None:
        """Move a memory to another file."""
        self.moved.append(Moved(memory=replace(memory, file=file), source=memory.file))
        self.note("moved", reason, memory.id)

    def plan(self, at: float) -> Plan:
        """Return the plan of these changes. at: epoch seconds."""
        return Plan(
            scope=self.scope.key,
            folder=self.scope.folder,
            stage=self.stage,
            at=at,
            turns=tuple(turn.id for turn in self.turns),
            added=tuple(self.added),
            retired=tuple(self.retired),
            moved=tuple(self.moved),
            outcomes=tuple(self.outcomes),
            reviews=tuple(self.reviews),
            settled=tuple(self.settled),
            rated=tuple(self.rated),
            failed=self.failed,
            imported=any(turn.imported for turn in self.turns),
        )


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
        same_message=memory.turn == turn > 0,
    )


def record_of_candidate(candidate: Candidate, turn: PendingTurn, *, identity: str, file: str) -> MemoryRecord:
    """Return a candidate as a memory that comes from a turn."""
    return MemoryRecord(
        id=identity,
        text=one_line(candidate.content),
        file=file,
        at=turn.at,
        session_key=turn.session_key,
        session_id=turn.session_id,
        type=candidate.type,
        category=candidate.category,
        importance=candidate.importance,
        confidence=candidate.confidence,
        entities=candidate.entities,
        turn=turn.id,
        expires=candidate.expires.isoformat() if candidate.expires else "",
        quote=one_line(candidate.quote),
    )
