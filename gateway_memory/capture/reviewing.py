"""What a person decides about a candidate that waits: approve it, in other words if need be, or reject it."""

from dataclasses import dataclass
from datetime import date
from typing import Final, Literal

from extractor import Candidate
from gateway_memory.capture.executor import Draft, PlanExecutor
from gateway_memory.capture.merger import Merger
from gateway_memory.runtime.runtime import Runtime
from gateway_memory.scope import Scope
from gateway_memory.store.journal.turns import PendingTurn
from gateway_memory.store.record import Review, Settled
from gateway_memory.sync.follower import Storage

_DAY_SECONDS: Final = 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Approved:
    """What merging did with an approved candidate: "skipped" if the memory has it already.

    id, text: of the memory that holds it now.
    """

    action: str
    id: str
    text: str


class Reviewing:
    """Settles reviews. Each decision is a plan of its own, with a receipt and an undo."""

    def __init__(self, runtime: Runtime, storage: Storage, merger: Merger, executor: PlanExecutor) -> None:
        self._runtime = runtime
        self._storage = storage
        self._merger = merger
        self._executor = executor

    async def approve(self, scope: Scope, identity: str, *, text: str = "") -> Approved | None:
        """Merge a candidate with the memories as they are now; return None if it does not wait any more.

        text: a person's words in the place of the candidate's, cleaned; "" for none.

        Raises:
            StoreError, RecallError: it could not be written, and still waits.
        """
        async with self._executor.writing(scope):
            review = await self._waiting(scope, identity)
            if review is None:
                return None
            candidate, settled = _candidate(review, text), Settled(id=identity, state="approved")
            draft = Draft(scope, "review", settled=[settled], reviewed=True, room=await self._merger.room(scope))
            (near,) = await self._merger.near(scope, [candidate])
            await self._merger.merge(_source(review), candidate, near, draft)
            (outcome,) = draft.outcomes
            await self._executor.complete(draft)
            added = next((memory.text for memory in draft.added if memory.id == outcome.id), "")
            known = next((each.stored.entry.text for each in near if each.stored.entry.id == outcome.id), "")
        return Approved(action=outcome.action, id=outcome.id, text=added or known or candidate.content)

    async def reject(self, scope: Scope, identity: str, *, for_good: bool = False) -> Review | None:
        """Reject a candidate; return None if it does not wait any more.

        for_good: nothing alike is asked about again.
        """
        async with self._storage.documents.writing(scope):
            review = await self._waiting(scope, identity)
            if review is None:
                return None
            settled = Settled(id=identity, state="never" if for_good else "rejected")
            draft = Draft(scope, "review", settled=[settled])
            draft.note("rejected", "for_good" if for_good else "command", identity, turn=review.memory.turn)
            await self._executor.complete(draft)
        return review

    async def expire(self, scope: Scope) -> int:
        """Let candidates expire that have waited too long or whose last day is past, and return their number."""
        days = self._runtime.settings.review.expire_days
        before = self._runtime.timestamp() - days * _DAY_SECONDS if days else 0.0
        if not await self._storage.reviews.due(scope.key, before=before, day=self._runtime.today()):
            return 0
        async with self._storage.documents.writing(scope):
            due = await self._storage.reviews.due(scope.key, before=before, day=self._runtime.today())
            for identity in due:
                draft = Draft(scope, "review", settled=[Settled(id=identity, state="expired")])
                draft.note("expired", "review", identity)
                await self._executor.complete(draft)
        return len(due)

    async def _waiting(self, scope: Scope, identity: str) -> Review | None:
        review = await self._storage.reviews.find(scope.key, identity)
        return review if review and review.state == "waiting" else None


def _candidate(review: Review, text: str) -> Candidate:
    """Return a review's candidate as one that its person asked to remember."""
    memory = review.memory
    return Candidate(
        content=text or memory.text,
        category=memory.category,
        type=_type(memory.type),
        importance=memory.importance,
        confidence=1.0,
        entities=memory.entities,
        explicit=True,
        supersedes=(*((review.against,) if review.against else ()), *review.supersedes),
        expires=date.fromisoformat(memory.expires) if memory.expires else None,
        turn=memory.turn,
        quote="" if text else memory.quote,
    )


def _type(kind: str) -> Literal["W", "B", "O"]:
    return "B" if kind == "B" else "O" if kind == "O" else "W"


def _source(review: Review) -> PendingTurn:
    memory = review.memory
    return PendingTurn(
        id=memory.turn,
        scope=review.scope,
        session_key=memory.session_key,
        session_id=memory.session_id,
        user="",
        reply="",
        at=memory.at,
        accepted_at=memory.at,
    )
