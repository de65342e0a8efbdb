"""A plan is carried out: written → indexed → announced. Each step can be done again: a crash is a replay."""

import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from gateway_memory.config.settings import MemorySync
from gateway_memory.observability.logger import get_logger
from gateway_memory.observability.metrics import Metrics
from gateway_memory.scope import Scope
from gateway_memory.store import summaries as session_log
from gateway_memory.store.files import MarkdownFiles
from gateway_memory.store.journal.journal import Journal
from gateway_memory.store.plan import SAID, Memory, Plan
from gateway_memory.store.summaries import SESSIONS_FILE
from gateway_memory.store.withheld import Withheld, withheld
from gateway_memory.sync.follower import Follower
from notifier import Announcer, Event, MemoryChange, split

if TYPE_CHECKING:
    from gateway_memory.store.patch import Patch

__all__ = ["Carrier"]

log = get_logger(__name__)


class Carrier:
    """Does what plans say.

    `hold` tells a session its own words, `hide` a scope's sessions what was forgotten.
    """

    def __init__(
        self,
        *,
        files: MarkdownFiles,
        journal: Journal,
        follower: Follower,
        metrics: Metrics,
        clock: Callable[[], datetime],
        settings_of: Callable[[str], MemorySync],
        announcer: Announcer,
        hold: Callable[[Memory], None],
        hide: Callable[[str, Withheld], None],
    ) -> None:
        self._files = files
        self._journal = journal
        self._follower = follower
        self._metrics = metrics
        self._clock = clock
        self._settings_of = settings_of
        self._announcer = announcer
        self._hold = hold
        self._hide = hide
        self.interrupted: Callable[[], None] = lambda: None
        """Is called when a plan was not carried out to its end, whoever wanted it: it has to be recovered."""

    async def recover(self) -> int:
        """Carry out again what was planned; return how many plans there were."""
        replayed = 0
        for number, _ in await self._journal.plans():
            async with self._files.writing():
                plan = dict(await self._journal.plans()).get(number)  # whoever made it may have done it by now
                if plan:
                    await self.carry_out(plan, number)
                    replayed += 1
        return replayed

    async def carry_out(self, plan: Plan, number: int | None = None) -> None:
        """Do what a plan says, or what is left of it. Call it only within the files' `writing`."""
        try:
            await self._carry_out(plan, number)
        except BaseException:
            self.interrupted()
            raise

    async def _carry_out(self, plan: Plan, number: int | None) -> None:
        events: list[Event] = []
        patches: Sequence[Patch] = ()
        if plan.writes:
            if number is None:
                number, events = await self._journal.begin(plan, self._events(plan))
            else:
                events = await self._journal.event_log.planned(number)
            for memory in plan.added:
                self._hold(memory)
            with self._metrics.timed("ingest.files"):
                patches = await self._files.edit(plan.folder, plan.edits())
            for event in events:  # before the index follows: the other sessions hear an update, not of a changed file
                self._announcer.written(event)
            with self._metrics.timed("ingest.index"):
                await self._follower.refresh(Scope(plan.scope, plan.folder))
            if plan.stage == "undo" or any(item.state in ("forgotten", "undone") for item in plan.retired):
                await self.withhold(Scope(plan.scope, plan.folder))
        await self._journal.finish(plan, number, patches)
        if plan.stage == "rules" and plan.turns:
            self._metrics.turns_processed(self._clock(), max(plan.turns))
        for event in events:
            self._announcer.committed(event)
        for outcome in plan.outcomes:
            self._metrics.count(f"extraction.{plan.stage}.{outcome.action}.{outcome.reason}")
        log.info(
            "ingest.done",
            stage=plan.stage,
            turns=len(plan.turns),
            added=len(plan.added),
            retired=len(plan.retired),
            moved=len(plan.moved),
        )

    async def withhold(self, scope: Scope) -> None:
        """Let records and openings say nothing that was forgotten, and all that is remembered again.

        Call it only within the files' `writing`.
        """

        def work(database: sqlite3.Connection) -> tuple[Withheld, Callable[[bytes | None], bytes | None]]:
            path = self._files.path(scope.folder, SESSIONS_FILE)
            return withheld(database, scope.key), session_log.withhold(database, scope.key, path)

        hidden, change = await self._journal.transact(work)
        self._hide(scope.key, hidden)
        if self._files.path(scope.folder, SESSIONS_FILE).exists():
            await self._files.rewrite(scope.folder, SESSIONS_FILE, change)

    def _events(self, plan: Plan) -> list[Event]:
        """Return what is announced: nothing where nothing changed, or where those who caused it have `notify` off."""
        if plan.stage == "import":  # thousands of lines are no news; recall and openings have them
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
            if memory.type != "S"
        ]
        changes += [
            MemoryChange(id=item.memory.id, text=item.memory.text, at=plan.at, action="removed")
            for item in plan.retired
            if item.state in ("forgotten", "undone") and item.memory.type != "S" and item.memory.category != SAID
        ]
        changes = [change for change in changes if self._settings_of(change.source).notify.enabled]
        return list(split(Event(scope=plan.scope, at=plan.at, changes=tuple(changes))))
