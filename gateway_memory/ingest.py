"""One batch of turns: extract → merge → write → index → announce. Each step can be done again: a crash is a replay."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, tzinfo
from typing import Final

import structlog

from extractor import Candidate, ExtractorSettings, Turn, decide, extract_rules, judge
from gateway_memory.clock import day_of
from gateway_memory.draft import Draft, by_scope, drafted, known, read_turn
from gateway_memory.follow import IMPORTANCE, Follower
from gateway_memory.metrics import Metrics
from gateway_memory.plan import Memory, Outcome, Plan, Retired, Stage
from gateway_memory.session import Scope
from gateway_memory.settings import MemorySync
from gateway_memory.store.files import MEMORY_FILE, MarkdownFiles, day_file
from gateway_memory.store.journal import Journal, PendingTurn
from gateway_memory.store.markdown import new_id, one_line
from notifier import Change, Event, split
from recall import Recaller, Stored

__all__ = ["Extract", "Ingest"]

log = structlog.get_logger()

Extract = Callable[[Sequence[Turn], Sequence[Stored]], Awaitable[Sequence[Candidate]]]
"""The debounced stage's model: a batch of turns and the nearest memories in, candidates out."""

_NEAREST: Final = 5
_NEAREST_SECONDS: Final = 0.25
"""How long a merge waits for the encoder before it compares by words alone: other sessions know within a second."""
_LINE_OVERHEAD: Final = 40
"""Bytes that a line takes beside its text: the bullet, the comment, the line end."""


class Ingest:
    """Carries turns through one stage.

    `publish` hands an event to the sessions of this process, `announce` to the other processes once it is all on disk;
    `hold` tells a session its own words.
    """

    def __init__(
        self,
        *,
        files: MarkdownFiles,
        journal: Journal,
        recaller: Recaller,
        follower: Follower,
        metrics: Metrics,
        zone: tzinfo | None,
        clock: Callable[[], datetime],
        settings_of: Callable[[str], MemorySync],
        scope_of: Callable[[str], Scope],
        publish: Callable[[Event], None],
        announce: Callable[[Event], None],
        hold: Callable[[Memory], None],
        extract: Extract | None = None,
    ) -> None:
        self._files = files
        self._journal = journal
        self._recaller = recaller
        self._follower = follower
        self._metrics = metrics
        self._zone = zone
        self._clock = clock
        self._settings_of = settings_of
        self._scope_of = scope_of
        self._publish = publish
        self._announce = announce
        self._hold = hold
        self._extract = extract

    async def rules(self, turns: Sequence[PendingTurn]) -> None:
        """The stage at once: what the user plainly said, by rules. One plan a scope."""
        for key, group in by_scope(turns):
            found = [(turn, extract_rules(read_turn(turn, self._zone))) for turn in group]
            await self._store(self._scope_of(key), "rules", found, empty="nothing_to_keep")

    async def batch(self, turns: Sequence[PendingTurn]) -> None:
        """The debounced stage over one session's turns: the prefilter, and the model where there is one."""
        for key, group in by_scope(turns):
            scope = self._scope_of(key)
            settings = self._settings_of(group[0].session_key).auto_extract
            read = [read_turn(turn, self._zone) for turn in group]
            verdict = judge(read, settings)
            if not verdict.keep:
                await self._store(scope, "batch", [(turn, ()) for turn in group], empty=verdict.reason)
                continue
            candidates, reason = await self._ask(scope, settings, read)
            # The batch is one piece of evidence: its memories are filed under its last turn.
            found = [(turn, candidates if turn is group[-1] else ()) for turn in group]
            await self._store(scope, "batch", found, empty=reason)

    async def _ask(
        self, scope: Scope, settings: ExtractorSettings, turns: Sequence[Turn]
    ) -> tuple[Sequence[Candidate], str]:
        if self._extract is None:
            return (), "rules_only"
        day = day_of(self._clock().timestamp(), self._zone)
        if not await self._journal.count_extraction(day, settings.max_daily_extractions):
            return (), "daily_limit"
        near = await self._recaller.nearest(scope.key, turns[-1].user, _NEAREST, timeout_seconds=_NEAREST_SECONDS)
        self._metrics.last_extraction = self._clock()
        return await self._extract(turns, [item.stored for item in near]), "nothing_to_keep"

    async def _store(
        self, scope: Scope, stage: Stage, found: Sequence[tuple[PendingTurn, Sequence[Candidate]]], *, empty: str
    ) -> None:
        draft = Draft()
        for turn, candidates in found:
            if not candidates:
                draft.outcomes.append(Outcome(turn=turn.id, action="skipped", reason=empty))
        turns = tuple(turn.id for turn, _ in found)
        now = self._clock().timestamp()
        if len(draft.outcomes) == len(found):
            plan = Plan(
                scope=scope.key, folder=scope.folder, stage=stage, at=now, turns=turns, outcomes=tuple(draft.outcomes)
            )
            await self._carry_out(plan)
            return
        async with self._files.writing():
            await self._follower.refresh(scope)
            room = await self._room(scope)
            for turn, candidates in found:
                for candidate in candidates:
                    room -= await self._merge(scope, turn, candidate, draft, room)
            await self._carry_out(
                Plan(
                    scope=scope.key,
                    folder=scope.folder,
                    stage=stage,
                    at=now,
                    turns=turns,
                    added=tuple(draft.added),
                    retired=tuple(draft.retired),
                    outcomes=tuple(draft.outcomes),
                )
            )

    async def _merge(self, scope: Scope, turn: PendingTurn, candidate: Candidate, draft: Draft, room: int) -> int:
        """Decide about one candidate, note it in the draft, and return the bytes that it takes of MEMORY.md."""
        text = one_line(candidate.content)
        near = {
            item.stored.entry.id: item
            for item in await self._recaller.nearest(scope.key, text, _NEAREST, timeout_seconds=_NEAREST_SECONDS)
        }
        gone = {item.memory.id for item in draft.retired}
        compared = [known(item) for identity, item in near.items() if identity not in gone]
        compared += [drafted(memory, text) for memory in draft.added]
        decision = decide(candidate, compared)
        if decision.action == "skip":
            draft.outcomes.append(
                Outcome(turn=turn.id, action="skipped", reason=decision.reason, id=decision.target or "")
            )
            return 0
        settings = self._settings_of(turn.session_key).auto_extract
        identity = new_id()
        replaced = next((memory for memory in draft.added if memory.id == decision.target), None)
        curated = candidate.importance == "high" or settings.memory_md_threshold == "normal"
        if replaced:  # said and corrected within one batch: the first never reaches a file
            draft.added.remove(replaced)
        elif decision.target:
            old = await self._memory(scope, near[decision.target].stored)
            curated = curated or old.file == MEMORY_FILE
            draft.retired.append(Retired(memory=old, state="superseded", replaced_by=identity))
        size = len(text.encode()) + _LINE_OVERHEAD
        if curated and size > room:
            self._metrics.count("store.memory_md_full")
            await self._journal.mark(scope.key, "memory_md_full")
            curated = False
        draft.added.append(
            Memory(
                id=identity,
                text=text,
                file=MEMORY_FILE if curated else day_file(day_of(turn.at, self._zone)),
                at=turn.at,
                session_key=turn.session_key,
                session_id=turn.session_id,
                type=candidate.type,
                category=candidate.category,
                importance=candidate.importance,
                confidence=candidate.confidence,
                entities=candidate.entities,
            )
        )
        draft.outcomes.append(Outcome(turn=turn.id, action=decision.action, reason=decision.reason, id=identity))
        return size if curated else 0

    async def forget(self, scope: Scope, stored: Stored) -> None:
        """Take a memory out of its file, for good; the journal keeps that it was there."""
        async with self._files.writing():
            await self._follower.refresh(scope)
            memory = await self._memory(scope, stored)
            await self._carry_out(
                Plan(
                    scope=scope.key,
                    folder=scope.folder,
                    stage="command",
                    at=self._clock().timestamp(),
                    retired=(Retired(memory=memory, state="forgotten"),),
                    outcomes=(Outcome(turn=0, action="forgotten", reason="command", id=memory.id),),
                )
            )

    async def recover(self) -> int:
        """Carry out again what was planned; return how many plans there were."""
        plans = await self._journal.plans()
        for number, plan in plans:
            async with self._files.writing():
                await self._carry_out(plan, number)
        return len(plans)

    async def _carry_out(self, plan: Plan, number: int | None = None) -> None:
        events: list[Event] = []
        if plan.writes:
            if number is None:
                number, events = await self._journal.begin(plan, self._events(plan))
            else:
                events = await self._journal.event_log.planned(number)
            for memory in plan.added:
                self._hold(memory)
            with self._metrics.timed("ingest.files"):
                await self._files.edit(plan.folder, plan.edits())
            for event in events:  # before the index follows: the other sessions hear an update, not of a changed file
                if event.origin == self._journal.event_log.instance:
                    self._publish(event)
            with self._metrics.timed("ingest.index"):
                await self._follower.refresh(Scope(plan.scope, plan.folder))
        await self._journal.finish(plan, number)
        if plan.stage == "rules" and plan.turns:
            self._metrics.turns_processed(self._clock(), max(plan.turns))
        for event in events:
            self._announce(event)
        for outcome in plan.outcomes:
            self._metrics.count(f"extraction.{plan.stage}.{outcome.action}.{outcome.reason}")
        log.info(
            "ingest.done", stage=plan.stage, turns=len(plan.turns), added=len(plan.added), retired=len(plan.retired)
        )

    def _events(self, plan: Plan) -> list[Event]:
        """Return what is announced: nothing where nothing changed, or where those who caused it have `notify` off."""
        replaced = {item.replaced_by: item.memory.id for item in plan.retired if item.replaced_by}
        changes = [
            Change(
                id=memory.id,
                text=memory.text,
                at=memory.at,
                source=memory.session_key,
                replaces=replaced.get(memory.id, ""),
            )
            for memory in plan.added
        ]
        changes += [
            Change(id=item.memory.id, text=item.memory.text, at=plan.at, action="removed")
            for item in plan.retired
            if item.state == "forgotten"
        ]
        changes = [change for change in changes if self._settings_of(change.source).notify.enabled]
        return list(split(Event(scope=plan.scope, at=plan.at, changes=tuple(changes))))

    async def _room(self, scope: Scope) -> int:
        """Return how many bytes MEMORY.md may still grow by."""
        _, size = (await self._files.scan(scope.folder)).get(MEMORY_FILE, (0, 0))
        room = self._settings_of("").store.max_memory_md_bytes - size
        if room > _LINE_OVERHEAD:
            await self._journal.unmark(scope.key, "memory_md_full")
        return room

    async def _memory(self, scope: Scope, stored: Stored) -> Memory:
        """Return a memory with what the journal knows of it, in its words and at its place of today."""
        entry = stored.entry
        journaled = (await self._journal.memories(scope.key, [entry.id])).get(entry.id)
        return Memory(
            id=entry.id,
            text=entry.text,
            file=stored.file,
            at=entry.at,
            session_key=journaled.session_key if journaled else "",
            type=entry.type,
            category=entry.category,
            importance="high" if entry.importance >= IMPORTANCE["high"] else "normal",
            confidence=entry.confidence,
            entities=journaled.entities if journaled else (),
        )
