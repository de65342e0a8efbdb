"""Facts that agents save: calls for one scope that come together share one write of its files."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nlargest
from operator import attrgetter
from typing import Final

from extractor import Candidate, Decision
from gateway_memory.capture.executor import Draft, PlanExecutor, decided, drafted, in_time, known, record_of_candidate
from gateway_memory.capture.merger import Merger
from gateway_memory.capture.reader import NEAREST
from gateway_memory.ground.runtime import Runtime
from gateway_memory.ground.threads import compute
from gateway_memory.scope import Scope
from gateway_memory.store.journal.turns import PendingTurn
from gateway_memory.store.plan import ReceiptLine
from recall import Near

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
