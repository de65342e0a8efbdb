"""Changes by request: forget, undo, expire, save. Each builds a plan and executes it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from extractor import Candidate, without_commands
from gateway_memory.capture.executor import PlanExecutor
from gateway_memory.capture.forgetting import named
from gateway_memory.capture.merger import LINE_OVERHEAD, Merger
from gateway_memory.capture.reader import NEAREST, NEAREST_SECONDS
from gateway_memory.capture.reviewing import Reviewing
from gateway_memory.capture.saves import Saves
from gateway_memory.capture.undo import Refused, Standing, inverse
from gateway_memory.runtime.runtime import Runtime
from gateway_memory.scope import Scope
from gateway_memory.store.documents import MEMORY_FILE, day_file, is_writable
from gateway_memory.store.markdown import new_id
from gateway_memory.store.plan import CandidateOutcome, Moved, Plan, Retired, Stage
from gateway_memory.store.ports.ledger import UndoEntry
from gateway_memory.store.ports.turns import PendingTurn
from gateway_memory.store.record import EXCHANGE, SAID, MemoryRecord
from gateway_memory.store.report import Rated, Verdict
from gateway_memory.store.review import Settled
from gateway_memory.store.withheld import Forgotten, Withheld
from gateway_memory.sync.storage import Storage
from recall import Stored

__all__ = ["MemoryChanges"]

_UNDONE_WITHIN: Final = 200
"""The number of newest changes that an undo considers."""


class MemoryChanges:
    """Changes the memories of any scope. reviewing: settles what waits for a person."""

    def __init__(self, runtime: Runtime, storage: Storage, merger: Merger, executor: PlanExecutor) -> None:
        self._runtime = runtime
        self._storage = storage
        self._merger = merger
        self._executor = executor
        self._saves = Saves(runtime, storage, merger, executor)
        self.reviewing = Reviewing(runtime, storage, merger, executor)

    async def keep(self, scope: Scope, stage: Stage, memories: Sequence[MemoryRecord]) -> None:
        """Write memories without merging them. Stage summaries each describe one moment."""
        async with self._storage.documents.writing(scope):
            await self._storage.follower.refresh(scope)
            outcomes = [CandidateOutcome(turn=0, action="add", reason=stage, id=memory.id) for memory in memories]
            plan = Plan(scope=scope.key, folder=scope.folder, stage=stage, at=self._runtime.timestamp())
            await self._executor.execute(replace(plan, added=tuple(memories), outcomes=tuple(outcomes)))

    async def save(self, scope: Scope, source: PendingTurn, candidate: Candidate) -> CandidateOutcome:
        """Merge one candidate from the agent itself, and return the outcome. `source` has the id 0."""
        return await self._saves.save(scope, source, candidate)

    async def forget(self, scope: Scope, stored: Stored, *, reason: str = "command", turn: int = 0) -> None:
        """Remove a memory from its file. The journal keeps it, so that an undo can restore it."""
        async with self._storage.documents.writing(scope):
            await self._storage.follower.refresh(scope)
            memory = await self._merger.memory(scope, stored)
            stages = await self._without_stages(scope, memory)
            outcome = CandidateOutcome(turn=turn, action="forgotten", reason=reason, id=memory.id)
            await self._executor.execute(
                replace(
                    self._commanded(scope, outcome),
                    added=tuple(new for _, new in stages if new.text),
                    retired=(Retired(memory=memory, state="forgotten"), *(_retired(old, new) for old, new in stages)),
                )
            )

    async def correct(self, scope: Scope, stored: Stored, text: str) -> MemoryRecord:
        """Replace the text of a memory by a person's own words, and return the new memory.

        The old one stays in the history, and an undo brings it back.
        """
        async with self._storage.documents.writing(scope):
            await self._storage.follower.refresh(scope)
            memory = await self._merger.memory(scope, stored)
            new = replace(memory, id=new_id(), text=text, quote="", confidence=1.0)
            await self._executor.execute(
                replace(
                    self._commanded(scope, CandidateOutcome(turn=0, action="update", reason="corrected", id=new.id)),
                    added=(new,),
                    retired=(Retired(memory=memory, state="superseded", replaced_by=new.id),),
                )
            )
        return new

    async def pin(self, scope: Scope, stored: Stored) -> bool:
        """Move a memory to MEMORY.md, which each session opens with; return False if that file is full."""
        async with self._storage.documents.writing(scope):
            await self._storage.follower.refresh(scope)
            memory = await self._merger.memory(scope, stored)
            if len(memory.text.encode("utf-8", "replace")) + LINE_OVERHEAD > await self._merger.room(scope):
                return False
            moved = Moved(memory=replace(memory, file=MEMORY_FILE), source=memory.file)
            outcome = CandidateOutcome(turn=0, action="moved", reason="pinned", id=memory.id)
            await self._executor.execute(replace(self._commanded(scope, outcome), moved=(moved,)))
        return True

    async def forget_exchange(self, scope: Scope, turn: int) -> str | None:
        """Forget what was said in a turn, and what was learnt from it; return what the user said.

        Return None if there is no such exchange, or if it was forgotten before.
        """
        told = await self._storage.episodes.told(scope.key, [turn])
        sides = told.sides(turn, past=True)
        if sides is None:
            return None
        episode = told.episodes[turn]
        async with self._storage.documents.writing(scope):
            await self._storage.follower.refresh(scope)
            learnt = await self._storage.ledger.of_turns(scope.key, [turn])
            # The words themselves are not withheld: others may have said the same. The turn as a whole is not told.
            said = MemoryRecord(
                id=new_id(),
                text=f"e{turn} {self._runtime.day_of(episode.at)}",
                file=day_file(self._runtime.day_of(episode.at)),
                at=episode.at,
                session_key=episode.session_key,
                category=EXCHANGE,
                turn=turn,
            )
            gone = [memory for memory in learnt if is_writable(memory.file)] + [said]
            asked = [review for review in await self._storage.reviews.waiting(scope.key) if review.memory.turn == turn]
            outcomes = tuple(
                CandidateOutcome(turn=turn, action="forgotten", reason="command", id=memory.id) for memory in gone
            )
            retired = tuple(Retired(memory=memory, state="forgotten") for memory in gone)
            settled = tuple(Settled(id=review.memory.id, state="forgotten") for review in asked)
            plan = self._commanded(scope, *outcomes)
            await self._executor.execute(replace(plan, retired=retired, settled=settled))
        return sides[0] or sides[1]

    async def rate(self, scope: Scope, turn: int, memory: str, verdict: Verdict) -> None:
        """Record what a person says of a memory in the reply of a turn; memory "" is the reply as a whole.

        It changes no memory and no ranking, and takes the place of an earlier verdict.
        """
        outcome = CandidateOutcome(turn=turn, action=verdict, reason="command", id=memory)
        plan = replace(self._commanded(scope, outcome), stage="feedback")
        async with self._storage.documents.writing(scope):
            rated = (Rated(turn=turn, memory=memory, verdict=verdict),)
            await self._executor.execute(replace(plan, rated=rated))
        self._runtime.metrics.count(f"feedback.{verdict}")

    def _commanded(self, scope: Scope, *outcomes: CandidateOutcome) -> Plan:
        """Return the plan of a command, without its changes."""
        at = self._runtime.timestamp()
        return Plan(scope=scope.key, folder=scope.folder, stage="command", at=at, outcomes=outcomes)

    async def _without_stages(self, scope: Scope, forgotten: MemoryRecord) -> list[tuple[MemoryRecord, MemoryRecord]]:
        """Return the stage summaries that contain the forgotten text, each with its replacement."""
        at = self._runtime.timestamp()
        hidden = Withheld(Forgotten(text=words, at=at) for words in (forgotten.text, forgotten.quote))
        return [
            (stage, replace(stage, id=new_id(), text=cut))
            for stage in await self._storage.ledger.stages(scope.key)
            if (cut := hidden.cut(stage.text).strip()) != stage.text
        ]

    async def undo(self, scope: Scope, *, only: str = "") -> tuple[float, Plan] | Refused | None:
        """Undo the newest active change of a scope or of one memory; return None if there is none.

        Returns the time of the change, and the plan that undid it.
        """
        refused: Refused | None = None
        async with self._storage.documents.writing(scope):
            await self._storage.follower.refresh(scope)
            for change in await self._storage.ledger.undoable(scope.key, _UNDONE_WITHIN):
                plan = await self._inverse(scope, change, only)
                if isinstance(plan, Refused):
                    refused = refused or plan
                elif plan and refused:  # the user did not mean an older change
                    earlier = [item.memory for item in plan.retired] + [item.memory for item in plan.moved]
                    return replace(refused, earlier=[*earlier, *plan.added][0])
                elif plan:
                    await self._executor.execute(plan)
                    return change.plan.at, plan
        return refused

    async def _inverse(self, scope: Scope, change: UndoEntry, only: str) -> Plan | Refused | None:
        asked = {each.id for each in change.plan.settled}
        only = "" if only in asked else only
        ids = [memory.id for memory in change.plan.added] + [item.memory.id for item in change.plan.retired]
        moved = [item.memory.id for item in change.plan.moved]
        if only and only not in (*ids, *moved):
            return None
        rows = [await self._storage.recaller.get(scope.key, identity) for identity in moved]
        placed = {row.entry.id: await self._merger.memory(scope, row) for row in rows if row}
        standing: dict[str, Standing] = {}
        for identity, (state, replaced_by) in (await self._storage.ledger.states(scope.key, ids)).items():
            stored = await self._storage.recaller.get(scope.key, identity) if state in ("active", "deleted") else None
            text = stored.entry.text if stored else ""
            standing[identity] = Standing(state=state, replaced_by=replaced_by, text=text)
        reviews = await self._storage.reviews.states(scope.key, sorted(asked))
        again = tuple(
            Settled(id=each.id, state="waiting", was=each.state)
            for each in change.plan.settled
            if each.state != "replaced" and reviews.get(each.id) == each.state
        )
        return inverse(change, standing, placed, again, at=self._runtime.timestamp(), only=only)

    async def expire(self, scope: Scope) -> int:
        """Remove expired memories from the files, and candidates that waited too long; return the memories' number."""
        await self.reviewing.expire(scope)
        day = self._runtime.today()
        if not await self._storage.ledger.expired(scope.key, day):
            return 0
        async with self._storage.documents.writing(scope):
            await self._storage.follower.refresh(scope)
            ids = await self._storage.ledger.expired(scope.key, day)
            stored = [await self._storage.recaller.get(scope.key, identity) for identity in ids]
            memories = [await self._merger.memory(scope, item) for item in stored if item and is_writable(item.file)]
            if memories:
                plan = Plan(
                    scope=scope.key,
                    folder=scope.folder,
                    stage="expiry",
                    at=self._runtime.timestamp(),
                    retired=tuple(Retired(memory=memory, state="expired") for memory in memories),
                    outcomes=tuple(
                        CandidateOutcome(turn=0, action="expired", reason="date", id=memory.id) for memory in memories
                    ),
                )
                await self._executor.execute(plan)
        return len(memories)

    async def forget_named(self, scope: Scope, turn: PendingTurn, what: str) -> bool:
        """Execute a request "forget that …", and return whether a memory was certain to be meant.

        If none is certain, `/memory forget` shows the candidates. Text that was never a memory may still have been
        said, so it is withheld from records and openings.
        """
        await self._storage.follower.refresh(scope)
        found = named(
            what, await self._storage.recaller.nearest(scope.key, what, NEAREST, timeout_seconds=NEAREST_SECONDS)
        )
        if found.certain:
            await self.forget(scope, found.certain, reason="asked", turn=turn.id)
        elif without_commands(what) == what:  # a command to the machine is not a wish of the user
            await self._withhold_said(scope, turn, what)
        return found.certain is not None

    async def _withhold_said(self, scope: Scope, turn: PendingTurn, what: str) -> None:
        if (await self._storage.ledger.withheld(scope.key)).says(what):  # e.g. by a command in the same message
            return
        at = self._runtime.timestamp()
        said = MemoryRecord(
            id=new_id(),
            text=what,
            file=day_file(self._runtime.day_of(at)),
            at=at,
            session_key=turn.session_key,
            category=SAID,
            turn=turn.id,
        )
        outcome = CandidateOutcome(turn=turn.id, action="withheld", reason="asked", id=said.id)
        plan = replace(self._commanded(scope, outcome), retired=(Retired(memory=said, state="forgotten"),))
        async with self._storage.documents.writing(scope):
            await self._executor.execute(plan)


def _retired(old: MemoryRecord, new: MemoryRecord) -> Retired:
    if new.text:
        return Retired(memory=old, state="superseded", replaced_by=new.id)
    return Retired(memory=old, state="forgotten")
