"""Execute a plan: write, index, announce. Each step is idempotent, so that a plan can be replayed after a crash."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateway_memory.capture.draft import Draft
from gateway_memory.errors import StoreBusyError
from gateway_memory.runtime.ground import get_logger
from gateway_memory.runtime.runtime import Runtime
from gateway_memory.scope import Scope
from gateway_memory.session import SessionRegistry
from gateway_memory.store.plan import Plan
from gateway_memory.sync.storage import Storage
from notifier import Announcer, Event, MemoryChange, split

if TYPE_CHECKING:
    from gateway_memory.store.documents import Patch

log = get_logger(__name__)


@dataclass(slots=True)
class _Execution:
    """A plan that is being executed, with its number in the journal, its events and the edits of its documents."""

    plan: Plan
    number: int | None = None
    events: Sequence[Event] = ()
    patches: "tuple[Patch, ...]" = ()


class PlanExecutor:
    """Executes plans, and notifies the open sessions.

    interrupted: set when a plan was not completed. It must then be recovered.
    busy: the scopes, by key, whose plans could not be completed at the last recovery, since somebody else holds them.
    """

    def __init__(self, runtime: Runtime, storage: Storage, announcer: Announcer, sessions: SessionRegistry) -> None:
        self._runtime = runtime
        self._storage = storage
        self._announcer = announcer
        self._sessions = sessions
        self.interrupted = asyncio.Event()
        self.busy: frozenset[str] = frozenset()

    async def recover(self) -> int:
        """Execute unfinished plans again, and return their number. See `busy`."""
        replayed = 0
        busy: set[str] = set()
        for number, planned in await self._storage.turns.plans():
            try:
                async with self._storage.documents.writing(planned.target):
                    # Its owner may have completed it meanwhile.
                    plan = dict(await self._storage.turns.plans()).get(number)
                    if plan:
                        await self.execute(plan, number)
                        replayed += 1
            except StoreBusyError as error:
                busy.add(planned.scope)
                self._runtime.on_error("recover", error)
        self.busy = frozenset(busy)
        return replayed

    @asynccontextmanager
    async def writing(self, scope: Scope) -> AsyncIterator[None]:
        """Hold the documents of a scope for a change, once the index knows their newest state."""
        async with self._storage.documents.writing(scope):
            await self._storage.follower.refresh(scope)
            yield

    async def complete(self, draft: Draft) -> None:
        """Execute what a draft has gathered, as of now. Call it only within `writing`."""
        await self.execute(draft.plan(self._runtime.timestamp()))

    async def execute(self, plan: Plan, number: int | None = None) -> None:
        """Execute a plan, or the rest of one. Call it only within the documents' `writing`."""
        await self._execute([_Execution(plan=plan, number=number)])

    async def complete_all(self, drafts: Sequence[Draft]) -> None:
        """Execute drafts of one scope, with one write of each file. Call it only within `writing`.

        Of several drafts, each only adds memories.
        """
        at = self._runtime.timestamp()
        await self._execute([_Execution(plan=draft.plan(at)) for draft in drafts])

    async def _execute(self, executions: Sequence["_Execution"]) -> None:
        is_replay = any(each.number is not None for each in executions)
        try:
            writing = [each for each in executions if each.plan.writes]
            await asyncio.gather(*(self._begin(each) for each in writing))  # calls at the same time share a commit
            if writing:
                await self._write(writing, is_replay=is_replay)
            await asyncio.gather(
                *(self._storage.turns.finish(each.plan, each.number, each.patches) for each in executions)
            )
        except BaseException:
            self.interrupted.set()
            raise
        for each in executions:
            self._finished(each)

    async def _begin(self, execution: "_Execution") -> None:
        if execution.number is None:
            plan = execution.plan
            execution.number, execution.events = await self._storage.turns.save_plan(plan, self._events(plan))
        else:
            execution.events = await self._storage.event_log.planned(execution.number)

    async def _write(self, executions: Sequence["_Execution"], *, is_replay: bool) -> None:
        first, *others = executions
        plan = first.plan
        for each in executions:
            for memory in each.plan.added:
                self._sessions.add_to_context(memory)
        with self._runtime.metrics.timed("ingest.files"):
            own = plan.edits()
            added = tuple(memory for each in others for memory in each.plan.added)
            # An undo of the others removes their lines. Only the first one can have made a file or a heading.
            rest = Plan(scope=plan.scope, folder=plan.folder, stage=plan.stage, at=plan.at, added=added).edits()
            first.patches = (await self._storage.documents.edit(plan.target, [*own, *rest]))[: len(own)]
        for each in executions:
            for event in each.events:  # before indexing: sessions must receive the update, not an edit of the file
                self._announcer.written(event)
        with self._runtime.metrics.timed("ingest.index"):
            before = self._storage.follower.change(plan.target)
            after = await self._storage.follower.refresh(plan.target)
            # Before a replay, the index need not know what others have written.
            if not (is_replay or any(each.plan.retired or each.plan.moved for each in executions)):
                memories = [memory for each in executions for memory in each.plan.added]
                self._sessions.keep_opening(plan.scope, memories, before, after)
        if plan.stage == "undo" or any(item.state in ("forgotten", "undone") for item in plan.retired):
            await self.withhold(plan.target)

    def _finished(self, execution: "_Execution") -> None:
        plan = execution.plan
        if plan.stage == "rules" and plan.turns and not plan.imported:
            self._runtime.metrics.turns_processed(self._runtime.clock(), max(plan.turns))
        for event in execution.events:
            self._announcer.committed(event)
        for outcome in plan.outcomes:
            self._runtime.metrics.count(f"extraction.{plan.stage}.{outcome.action}.{outcome.reason}")
        log.info(
            "ingest.done",
            stage=plan.stage,
            turns=len(plan.turns),
            added=len(plan.added),
            retired=len(plan.retired),
            moved=len(plan.moved),
        )

    async def withhold(self, scope: Scope) -> None:
        """Remove forgotten text from records and openings, and restore text that is no longer forgotten.

        Call it only within the documents' `writing`.
        """
        self._sessions.withhold(scope.key, await self._storage.records.withhold(scope))

    def _events(self, plan: Plan) -> list[Event]:
        """Return the events of a plan: none if nothing changed, or if the sources have `notify` off."""
        if plan.imported or plan.stage in ("import", "link"):  # no news: recall and openings have these memories
            return []
        replaced = {item.replaced_by: item.memory.id for item in plan.retired if item.replaced_by}
        changes = [
            MemoryChange(
                id=memory.id,
                text=memory.text,
                at=memory.at,
                source=memory.session_key,
                replaces=replaced.get(memory.id, ""),
            )
            for memory in plan.added
            if memory.announced
        ]
        changes += [
            MemoryChange(id=item.memory.id, text=item.memory.text, at=plan.at, action="removed")
            for item in plan.retired
            if item.state in ("forgotten", "undone", "retracted") and item.memory.announced
        ]
        changes = [change for change in changes if self._runtime.settings_of(change.source).notify.enabled]
        return list(split(Event(scope=plan.scope, at=plan.at, changes=tuple(changes))))
