"""Changes by request: forget, correct, pin, undo, and what agents save."""

from dataclasses import replace
from datetime import date
from typing import Final

from extractor import Candidate, traits_of
from gateway_memory.capture.asking import Answers
from gateway_memory.capture.executor import PlanExecutor, source_of
from gateway_memory.capture.forgetter import Forgetter
from gateway_memory.capture.merger import LINE_OVERHEAD, Changer, Merger
from gateway_memory.capture.renamer import Renamer
from gateway_memory.capture.saves import Saves
from gateway_memory.capture.undoing import MemoryState, UndoRefused, inverse
from gateway_memory.ground.holds import holds_of, plain_of, with_note
from gateway_memory.ground.runtime import Runtime
from gateway_memory.scope import Scope
from gateway_memory.store.documents import MEMORY_FILE
from gateway_memory.store.journal.ledger import UndoEntry
from gateway_memory.store.journal.speakers import NOBODY, Sender, unnamed
from gateway_memory.store.markdown import new_id
from gateway_memory.store.memory_record import EXCHANGE, TALK, UNWRITTEN, MemoryRecord
from gateway_memory.store.plan import Plan, ReceiptLine, Retired
from gateway_memory.store.report import Rated, Verdict
from gateway_memory.store.reviewed import Review, Settled
from gateway_memory.sync.episodes import turn_of
from gateway_memory.sync.storage import Storage
from recall import Stored

_DAY_SECONDS: Final = 86400.0
UNDONE_WITHIN: Final = 200
"""The number of newest changes that an undo considers."""


class MemoryChanges(Changer):
    """Changes the memories of any scope, and settles what waits for a person.

    saves: merges facts that agents save. forgetter: forgets. renamer: follows names. answers: settles whether an
    older line still holds.
    """

    def __init__(self, runtime: Runtime, storage: Storage, merger: Merger, executor: PlanExecutor) -> None:
        super().__init__(runtime, storage, merger, executor)
        self.saves = Saves(runtime, merger, executor)
        self.forgetter = Forgetter(runtime, storage, merger, executor)
        self.renamer = Renamer(runtime, storage, merger, executor)
        self.answers = Answers(runtime, storage, merger, executor)

    async def keep_summary(self, scope: Scope, summary: MemoryRecord) -> None:
        """Write a stage summary without merging it: each describes one moment."""
        async with self._executor.drafting(scope, "summary") as draft:
            draft.added.append(summary)
            draft.note("add", "summary", summary.id)

    async def correct(self, scope: Scope, stored: Stored, text: str) -> MemoryRecord:
        """Replace the text of a memory by a person's own words, and return the new memory.

        The old one stays in the history, and an undo brings it back.
        """
        async with self._executor.drafting(scope, "command") as draft:
            memory = await self._merger.memory(scope, stored)
            today = self._runtime.date_of(self._runtime.timestamp())
            holds = holds_of(text, today, standing=traits_of(memory.category).standing)
            text = text if holds.exact else with_note(text, holds)
            text = memory.text.removesuffix(unnamed(memory.text, memory.speaker)) + unnamed(text, memory.speaker)
            expires = holds.last.isoformat() if holds.last else ""
            new = replace(memory, id=new_id(), text=text, quote="", confidence=1.0, expires=expires)
            draft.added.append(new)
            draft.retired.append(Retired(memory=memory, state="superseded", replaced_by=new.id))
            draft.note("update", "corrected", new.id)
        return new

    async def pin(self, scope: Scope, stored: Stored) -> bool:
        """Move a memory to MEMORY.md, which each session opens with; return False if that file is full."""
        async with self._executor.drafting(scope, "command") as draft:
            memory = await self._merger.memory(scope, stored)
            if len(memory.text.encode("utf-8", "replace")) + LINE_OVERHEAD > await self._merger.room(scope):
                return False
            draft.move(memory, MEMORY_FILE, reason="pinned")
        return True

    async def rate(self, scope: Scope, turn: int, memory: str, verdict: Verdict) -> None:
        """Record what a person says of a memory in the reply of a turn; memory "" is the reply as a whole.

        It changes no memory and no ranking, and takes the place of an earlier verdict.
        """
        async with self._executor.drafting(scope, "feedback") as draft:
            draft.rated.append(Rated(turn=turn, memory=memory, verdict=verdict))
            draft.note(verdict, "command", memory, turn=turn)
        self._runtime.metrics.count(f"feedback.{verdict}")

    async def undo(
        self, scope: Scope, *, only: str = "", sender: Sender = NOBODY
    ) -> tuple[float, Plan] | UndoRefused | None:
        """Undo the newest active change of a scope or of one memory; return None if there is none.

        sender: who asks for it in a room; what changes the lines of others is not theirs to undo.

        Returns the time of the change, and the plan that undid it.
        """
        refused: UndoRefused | None = None
        async with self._executor.writing(scope):
            for change in await self._storage.ledger.undoable(scope.key, UNDONE_WITHIN):
                if scope.kind.is_shared and not _is_theirs(change.plan, sender):
                    continue
                plan = await self._inverse(scope, change, only)
                if isinstance(plan, UndoRefused):
                    refused = refused or plan
                elif plan and refused:  # the user did not mean an older change
                    earlier = [item.memory for item in plan.retired] + [item.memory for item in plan.moved]
                    return replace(refused, earlier=[*earlier, *plan.added][0])
                elif plan:
                    await self._executor.execute(plan)
                    return change.plan.at, plan
        return refused

    async def _inverse(self, scope: Scope, change: UndoEntry, only: str) -> Plan | UndoRefused | None:
        reviewed = {each.id for each in change.plan.settled}
        only = "" if only in reviewed or _names(change.plan, only) else only
        change = await self._as_told(scope, await self._without_forgotten(scope, change))
        ids = [memory.id for memory in change.plan.added] + [item.memory.id for item in change.plan.retired]
        moved = [item.memory.id for item in change.plan.moved]
        if only and only not in (*ids, *moved):
            return None
        rows = [await self._storage.recaller.get(scope.key, identity) for identity in moved]
        placed = {row.entry.id: await self._merger.memory(scope, row) for row in rows if row}
        states: dict[str, MemoryState] = {}
        for identity, (state, replaced_by) in (await self._storage.ledger.states(scope.key, ids)).items():
            stored = await self._storage.recaller.get(scope.key, identity) if state in ("active", "deleted") else None
            text = stored.entry.text if stored else ""
            states[identity] = MemoryState(state=state, replaced_by=replaced_by, text=text)
        reviews = await self._storage.reviews.states(scope.key, sorted(reviewed))
        again = tuple(
            Settled(id=each.id, state="waiting", was=each.state)
            for each in change.plan.settled
            if each.state != "replaced" and reviews.get(each.id) == each.state
        )
        return inverse(change, states, placed, again, at=self._runtime.timestamp(), only=only)

    async def _as_told(self, scope: Scope, change: UndoEntry) -> UndoEntry:
        """Return a change with each memory under the name that whoever said it has now."""
        plan = change.plan
        before = [*plan.added, *(item.memory for item in plan.retired)]
        now = await self.renamer.told(scope, before)
        if now == before:
            return change
        added, retired = now[: len(plan.added)], now[len(plan.added) :]
        items = tuple(replace(item, memory=memory) for item, memory in zip(plan.retired, retired, strict=True))
        return replace(change, plan=replace(plan, added=tuple(added), retired=items), patches=())

    async def _without_forgotten(self, scope: Scope, change: UndoEntry) -> UndoEntry:
        """Return a change without the memories that were forgotten otherwise too: they stay gone."""
        retired = change.plan.retired
        of_change = [item.memory.id for item in retired if item.state in ("forgotten", "deleted")]
        hidden = await self._storage.ledger.withheld(scope.key, undone=False, besides=of_change)
        kept = tuple(
            item
            for item in retired
            if item.memory.type == "S" or item.memory.category in UNWRITTEN or not hidden.says(item.memory.text)
        )
        if len(kept) == len(retired):
            return change
        return replace(change, plan=replace(change.plan, retired=kept), patches=())

    # What a person decides about a candidate that waits. Each decision is a plan of its own.

    async def approve(self, scope: Scope, identity: str, *, text: str = "") -> ReceiptLine | None:
        """Merge a candidate with the memories as they are now; return None if it does not wait any more.

        Returns what merging did: "skipped" if the memory has it already. Its id and its text are those of the memory
        that holds it now.

        text: a person's words in the place of the candidate's, cleaned; "" for none.

        Raises:
            StoreError, RecallError: it could not be written, and still waits.
        """
        async with self._executor.drafting(scope, "review") as draft:
            review = await self._waiting(scope, identity)
            if review is None:
                return None
            (memory,) = await self.renamer.told(scope, [review.memory])
            candidate = _candidate(review, text, self._runtime.date_of(memory.at))
            by = {"speaker": memory.speaker, "prefix": memory.text.removesuffix(unnamed(memory.text, memory.speaker))}
            source = source_of(scope.key, memory.session_key, memory.session_id, memory.at, turn=memory.turn, **by)
            draft.settled.append(Settled(id=identity, state="approved"))
            draft.reviewed, draft.room = True, await self._merger.room(scope)
            (near,) = await self._merger.near(scope, [candidate], [memory.speaker])
            await self._merger.draft_candidate(source, candidate, near, draft)
            (outcome,) = draft.outcomes
            texts = {each.stored.entry.id: each.stored.entry.text for each in near}
            texts |= {memory.id: memory.text for memory in draft.added}
        return replace(outcome, text=texts.get(outcome.id) or candidate.content)

    async def reject(self, scope: Scope, identity: str, *, for_good: bool = False) -> Review | None:
        """Reject a candidate; return None if it does not wait any more.

        for_good: nothing alike is asked about again.
        """
        async with self._executor.drafting(scope, "review") as draft:
            review = await self._waiting(scope, identity)
            if review:
                draft.settled.append(Settled(id=identity, state="never" if for_good else "rejected"))
                draft.note("rejected", "for_good" if for_good else "command", identity, turn=review.memory.turn)
        return review

    async def expire(self, scope: Scope) -> None:
        """Let candidates expire that have waited too long or whose last day is past."""
        days = self._runtime.settings.review.expire_days
        before = self._runtime.timestamp() - days * _DAY_SECONDS if days else 0.0
        for identity in await self._storage.reviews.due(scope.key, before=before, day=self._runtime.today()):
            async with self._executor.drafting(scope, "review") as draft:
                if await self._waiting(scope, identity):
                    draft.settled.append(Settled(id=identity, state="expired"))
                    draft.note("expired", "review", identity)

    async def _waiting(self, scope: Scope, identity: str) -> Review | None:
        review = await self._storage.reviews.find(scope.key, identity)
        return review if review and review.state == "waiting" else None


def _is_theirs(plan: Plan, sender: Sender) -> bool:
    """Return whether somebody may undo a change of a room."""
    changed = [*plan.added, *(item.memory for item in plan.retired), *(item.memory for item in plan.moved)]
    return all(sender.may_change(memory.speaker) for memory in changed)


def _names(plan: Plan, identity: str) -> bool:
    """Return whether an id is that of the exchange or the session that the plan has forgotten."""
    removed = [item.memory for item in plan.retired]
    talks = [each.text.lower() for each in removed if each.category == TALK]
    turn = turn_of(identity)
    return identity in talks or (not talks and any(each.category == EXCHANGE and each.turn == turn for each in removed))


def _candidate(review: Review, text: str, day: date) -> Candidate:
    """Return a review's candidate as one that its person asked to remember. day: on which it was said."""
    memory = review.memory
    return Candidate(
        content=text or plain_of(unnamed(memory.text, memory.speaker)),
        category=memory.category,
        type=memory.type if memory.type in ("B", "O") else "W",
        importance=memory.importance,
        confidence=1.0,
        entities=memory.entities,
        cues=() if text else memory.cues,
        explicit=True,
        supersedes=(*((review.against,) if review.against else ()), *review.supersedes),
        holds=None if text else holds_of(memory.text, day, standing=traits_of(memory.category).standing),
        turn=memory.turn,
        quote="" if text else memory.quote,
    )
