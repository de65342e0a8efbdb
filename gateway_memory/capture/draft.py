"""The decisions about a batch of turns so far: what its candidates are compared to, and which wait for a person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from itertools import groupby

from extractor import Candidate, Decision, Doubt, Known, Turn, decide, doubt_of
from gateway_memory.runtime.clock import local_time
from gateway_memory.runtime.runtime import Runtime, compute
from gateway_memory.scope import OWNER_KEY, Scope
from gateway_memory.store.documents import MEMORY_FILE, day_file
from gateway_memory.store.journal.reviews import Reviews
from gateway_memory.store.journal.turns import PendingTurn
from gateway_memory.store.markdown import new_id, one_line
from gateway_memory.store.plan import CandidateOutcome, Retired
from gateway_memory.store.record import MemoryRecord, Review, Settled
from gateway_memory.sync.follower import IMPORTANCE
from recall import Near, text_overlap

__all__ = ["Doubts", "Draft", "by_scope", "drafted", "known", "read_turn", "record_of_candidate"]


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
        same_message=memory.turn == turn > 0,
    )


# Let doubtful candidates wait for a person instead of keeping them.


class Doubts:
    """Decides which candidates wait. It writes only to the draft."""

    def __init__(self, runtime: Runtime, reviews: Reviews) -> None:
        self._runtime = runtime
        self._reviews = reviews

    async def hold(
        self, scope: Scope, turn: PendingTurn, candidate: Candidate, decision: Decision, draft: Draft
    ) -> bool:
        """Let a candidate wait if it is doubtful, and return whether it is, so that it must not be kept.

        One that repeats what waits already, or what was refused for good, is only recorded in the receipt.
        """
        if draft.reviewed or decision.action == "skip":
            return False
        settings = self._runtime.settings_of(turn.session_key).review
        if settings.mode == "off" and candidate.doubt:
            draft.outcomes.append(CandidateOutcome(turn=turn.id, action="skipped", reason=candidate.doubt))
            return True
        doubt = await compute(
            lambda: doubt_of(
                candidate,
                decision,
                mode=settings.mode,
                min_confidence=settings.min_confidence,
                of_guest=scope.key != OWNER_KEY,
                owner_names=settings.owner_names,
            )
        )
        if turn.imported and settings.mode != "off":
            doubt = doubt or "imported"
        if doubt:
            await self.wait(scope, turn, candidate, doubt, draft, against=decision.against)
        return bool(doubt)

    async def wait(
        self, scope: Scope, turn: PendingTurn, candidate: Candidate, doubt: Doubt, draft: Draft, *, against: str = ""
    ) -> None:
        """Let a candidate wait for a person."""
        text = one_line(candidate.content)
        refused = await self._reviews.declined(scope.key)
        waiting = [*await self._reviews.waiting(scope.key), *draft.reviews]
        gone = {each.id for each in draft.closed}
        waiting = [review for review in waiting if review.memory.id not in gone]
        found = await compute(_alike, candidate, refused)
        if found.action in ("skip", "update"):
            reason = "rejected_before"
        else:
            found = await compute(_alike, candidate, waiting)
            reason = "waits_already" if found.action == "skip" else ""
        if reason:
            draft.outcomes.append(
                CandidateOutcome(turn=turn.id, action="skipped", reason=reason, id=found.target or "")
            )
            return
        if found.target:  # a better or newer version of what waits
            draft.reviews = [review for review in draft.reviews if review.memory.id != found.target]
            draft.closed.append(Settled(id=found.target, state="replaced"))
        memory = record_of_candidate(candidate, turn, identity=new_id(), file=day_file(self._runtime.day_of(turn.at)))
        draft.reviews.append(
            Review(
                scope=scope.key,
                memory=replace(memory, text=text),
                reason=doubt,
                at=self._runtime.timestamp(),
                against=against,
                supersedes=candidate.supersedes,
            )
        )
        draft.outcomes.append(CandidateOutcome(turn=turn.id, action="waits", reason=doubt, id=memory.id))


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


def _alike(candidate: Candidate, reviews: Sequence[Review]) -> Decision:
    """Return what merging would do with a candidate if the reviews were memories."""
    return decide(
        replace(candidate, supersedes=()),
        [
            Known(
                id=review.memory.id,
                text=review.memory.text,
                cosine=None,
                overlap=text_overlap(review.memory.text, candidate.content),
                importance=review.memory.importance,
            )
            for review in reviews
        ],
    )
