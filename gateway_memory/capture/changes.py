"""Changes by request: correct, pin, undo, expire, save, approve, reject. Each is one plan."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from heapq import nlargest
from operator import attrgetter
from typing import Final

from extractor import Candidate, Decision, traits_of
from gateway_memory.capture.asking import Answers
from gateway_memory.capture.executor import (
    Draft,
    PlanExecutor,
    decided,
    drafted,
    in_time,
    known,
    record_of_candidate,
    source_of,
)
from gateway_memory.capture.forgetter import Forgetter
from gateway_memory.capture.merger import LINE_OVERHEAD, Changer, Merger
from gateway_memory.capture.reader import NEAREST
from gateway_memory.capture.renamer import Renamer
from gateway_memory.ground.holds import holds_of, plain_of, with_note
from gateway_memory.ground.runtime import Runtime, compute
from gateway_memory.scope import Scope
from gateway_memory.store.documents import MEMORY_FILE
from gateway_memory.store.journal.ledger import UndoEntry
from gateway_memory.store.journal.speakers import NOBODY, Sender, unnamed
from gateway_memory.store.journal.turns import PendingTurn
from gateway_memory.store.markdown import new_id
from gateway_memory.store.plan import (
    EXCHANGE,
    TALK,
    UNWRITTEN,
    MemoryRecord,
    Moved,
    Plan,
    ReceiptLine,
    Retired,
    Review,
    Settled,
)
from gateway_memory.store.report import Rated, Verdict
from gateway_memory.sync.episodes import turn_of
from gateway_memory.sync.storage import Storage
from recall import Near, Stored

# Undo the changes of a receipt. Files are restored byte for byte if nobody has edited them since.


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryState:
    """The state of a memory and its replacement in the journal, and its text in the files ("" if gone)."""

    state: str
    replaced_by: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoRefused:
    """The reason why the newest change is not undone: a person has edited everything that it added.

    edited: (the memory as stored, its current text or "" if deleted).
    earlier: a memory whose change can be undone instead, or None.
    """

    at: float
    edited: tuple[tuple[MemoryRecord, str], ...]
    earlier: MemoryRecord | None = None


def inverse(
    change: UndoEntry,
    states: Mapping[str, MemoryState],
    placed: Mapping[str, MemoryRecord],
    again: tuple[Settled, ...] = (),
    *,
    at: float,
    only: str = "",
) -> Plan | UndoRefused | None:
    """Return the plan that undoes a change, or None if nothing of it is active any more.

    Later edits by hand are kept.

    states: the current states of the change's memories.
    placed: the moved memories, as the files have them.
    again: the candidates that the change settled, and that wait again.
    at: epoch seconds.
    only: restrict the undo to this memory, with its replacement or what it replaced.
    """
    plan = change.plan
    # What an import recorded as replaced was never in these files.
    replaced = () if plan.stage == "import" else plan.retired
    gone = MemoryState(state="")
    present = [memory for memory in plan.added if states.get(memory.id, gone).state in ("active", "deleted")]
    added = [memory for memory in present if states[memory.id].text in (memory.text, "")]
    removed = {memory.id for memory in added}
    retired = [
        item
        for item in replaced
        if (state := states.get(item.memory.id)) and (state.state, state.replaced_by) == (item.state, item.replaced_by)
        if not item.replaced_by or item.replaced_by in removed
    ]
    if only:
        ids = {only} | {item.replaced_by for item in retired if item.memory.id == only}
        # Summaries that contained the forgotten text follow it.
        present = [memory for memory in present if memory.id in ids]
        added = [memory for memory in added if memory.id in ids or memory.type == "S"]
        retired = [
            item
            for item in retired
            if item.memory.id == only or item.replaced_by in ids - {""} or item.memory.type == "S"
        ]
    moved = [
        Moved(memory=replace(now, file=item.source), source=now.file)
        for item in plan.moved
        if (now := placed.get(item.memory.id)) and now.file == item.memory.file and only in ("", now.id)
    ]
    # A memory that was deleted by hand only matters for what it had replaced.
    freed = {item.replaced_by for item in retired}
    added = [memory for memory in added if states[memory.id].text or memory.id in freed]
    # The candidates wait again only if all that the change added is taken back.
    settled = () if only or len(added) < len(plan.added) else again
    if not added and not retired and not moved and not settled:
        edited = tuple((memory, states[memory.id].text) for memory in present)
        return UndoRefused(at=plan.at, edited=edited) if edited else None
    whole = (len(added), len(retired)) == (len(plan.added), len(replaced))
    whole = whole and [item.memory.text for item in moved] == [item.memory.text for item in plan.moved]
    outcomes = [ReceiptLine(turn=0, action="undone", reason="command", id=memory.id) for memory in added]
    outcomes += [ReceiptLine(turn=0, action="restored", reason="command", id=item.memory.id) for item in retired]
    outcomes += [ReceiptLine(turn=0, action="restored", reason="command", id=item.memory.id) for item in moved]
    outcomes += [ReceiptLine(turn=0, action="waits", reason="undone", id=each.id) for each in settled]
    return Plan(
        scope=plan.scope,
        folder=plan.folder,
        stage="undo",
        at=at,
        added=tuple(replace(item.memory) for item in retired if item.memory.category not in UNWRITTEN),
        retired=(
            # What waits for review again is not withheld where it was said.
            *(Retired(memory=memory, state="retracted" if settled else "undone") for memory in added),
            # It was never a memory and becomes none: it is only no longer withheld.
            *(replace(item, state="expired") for item in retired if item.memory.category in UNWRITTEN),
        ),
        moved=tuple(moved),
        outcomes=tuple(outcomes),
        restores=change.patches if whole else (),
        settled=settled,
    )


_DAY_SECONDS: Final = 86400.0
UNDONE_WITHIN: Final = 200
"""The number of newest changes that an undo considers."""


# Facts that agents save: calls for one scope that come together share one write of its files.

_AT_ONCE: Final = 64
_OF_THE_GROUP: Final = "#"
"""Stands for the id of a memory that has none yet."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Save:
    """One call. `source` has the id 0."""

    source: PendingTurn
    candidate: Candidate
    outcome: asyncio.Future[ReceiptLine]


class Saves:
    """Merges candidates from agents. Each call has a plan, and so a receipt and an undo, of its own.

    A call that is cancelled while it waits saves nothing. One whose group has begun is completed.
    """

    def __init__(self, runtime: Runtime, merger: Merger, executor: PlanExecutor) -> None:
        self._runtime = runtime
        self._merger = merger
        self._executor = executor
        self._waiting: dict[str, deque[_Save]] = {}
        self._working: set[asyncio.Task[None]] = set()

    async def save(self, scope: Scope, source: PendingTurn, candidate: Candidate) -> ReceiptLine:
        """Merge one candidate, and return the outcome.

        Raises:
            StoreError, RecallError: it could not be written.
        """
        candidate = in_time(candidate, self._runtime.date_of(source.at))
        save = _Save(source=source, candidate=candidate, outcome=asyncio.get_running_loop().create_future())
        self._merger.expect(candidate)  # beside the group that is being written
        if scope.key not in self._waiting:
            self._waiting[scope.key] = deque()
            working = asyncio.create_task(self._work(scope), name="gateway-memory-saves")
            self._working.add(working)
            working.add_done_callback(self._working.discard)
        self._waiting[scope.key].append(save)
        return await save.outcome

    async def _work(self, scope: Scope) -> None:
        """Save what waits for a scope, group by group."""
        waiting = self._waiting[scope.key]
        group: list[_Save] = []
        try:
            while waiting:
                try:
                    async with self._executor.writing(scope):
                        group = [waiting.popleft() for _ in range(min(_AT_ONCE, len(waiting)))]
                        group = [save for save in group if not save.outcome.cancelled()]
                        rest = await self._save(scope, group)
                    waiting.extendleft(reversed(rest))
                except Exception as error:  # noqa: BLE001 - it belongs to the callers
                    for save in group or [*waiting]:
                        _fail(save, error)
                    if not group:
                        waiting.clear()
                group = []
        finally:
            del self._waiting[scope.key]
            for save in (*group, *waiting):
                save.outcome.cancel()

    async def _save(self, scope: Scope, group: Sequence[_Save]) -> Sequence[_Save]:
        """Save the first calls of a group that do not touch each other's memories; return the others."""
        near = await self._merger.near(
            scope, [save.candidate for save in group], [save.source.speaker for save in group]
        )
        decisions = await compute(_decisions, group, near)
        room = await self._merger.room(scope)
        drafts: dict[_Save, Draft] = {}
        for save, nearest, decision in zip(group, near, decisions, strict=True):
            replaces = decision is None or decision.action in ("update", "supersede")
            if decision is None or (replaces and drafts):
                break
            draft, by_id = Draft(scope, "save", room=room), {each.stored.entry.id: each for each in nearest}
            try:
                await self._merger.draft_decision(save.source, save.candidate, decision, by_id, draft)
            except Exception as error:  # noqa: BLE001 - it belongs to this caller alone
                _fail(save, error)
                continue
            room, drafts[save] = draft.room, draft
            if replaces:  # its undo restores the file exactly, so it is written alone
                break
        await self._executor.complete(*drafts.values())
        for save, draft in drafts.items():
            if not save.outcome.done():
                save.outcome.set_result(draft.outcomes[-1])
        return [save for save in group if not save.outcome.done()]


def _decisions(group: Sequence[_Save], near: Sequence[Sequence[Near]]) -> list[Decision | None]:
    """Decide about each candidate of a group; None for one that concerns an earlier one of the group."""
    decisions: list[Decision | None] = []
    drafts = [record_of_candidate(save.candidate, save.source, identity=_OF_THE_GROUP, file="") for save in group]
    for number, (save, nearest) in enumerate(zip(group, near, strict=True)):
        earlier = (drafted(memory, save.candidate.content) for memory in drafts[:number])
        compared = [known(each) for each in nearest] + nlargest(NEAREST, earlier, key=attrgetter("overlap"))
        decision = decided(save.candidate, compared)
        decisions.append(None if _OF_THE_GROUP in (decision.target, decision.outdates) else decision)
    return decisions


def _fail(save: _Save, error: BaseException) -> None:
    if not save.outcome.done():
        save.outcome.set_exception(error)


# Changes by request.


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
