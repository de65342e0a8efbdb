"""Let doubtful candidates wait for a person instead of keeping them."""

from collections.abc import Sequence
from dataclasses import replace

from extractor import Candidate, Decision, Doubt, Known, decide, doubt_of
from gateway_memory.capture.draft import Draft
from gateway_memory.runtime.runtime import Runtime
from gateway_memory.runtime.tasks import compute
from gateway_memory.scope import OWNER_KEY, Scope
from gateway_memory.store.documents import day_file
from gateway_memory.store.journal.reviews import Reviews
from gateway_memory.store.journal.turns import PendingTurn
from gateway_memory.store.markdown import new_id, one_line
from gateway_memory.store.plan import CandidateOutcome
from gateway_memory.store.record import MemoryRecord
from gateway_memory.store.review import Review, Settled
from recall import text_overlap

__all__ = ["Doubts", "record_of_candidate"]


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
