"""One batch of turns: extract → merge → write → index → announce. Each step can be done again: a crash is a replay."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Final

import structlog

from extractor import Candidate, Decision, Known, decide, extract_rules, judge, permitted, same_words
from gateway_memory.clock import day_of
from gateway_memory.compute import compute
from gateway_memory.draft import Draft, by_scope, drafted, known, read_turn
from gateway_memory.follow import IMPORTANCE, Follower
from gateway_memory.forgetting import asked_to_forget, named
from gateway_memory.metrics import Metrics
from gateway_memory.plan import Memory, Outcome, Plan, Retired, Stage
from gateway_memory.reading import NEAREST, NEAREST_SECONDS, Reader
from gateway_memory.session import OWNER_KEY, Scope
from gateway_memory.settings import MemorySync
from gateway_memory.store.files import MEMORY_FILE, MarkdownFiles, day_file, is_writable
from gateway_memory.store.journal import Journal, PendingTurn
from gateway_memory.store.ledger import Change as Changed
from gateway_memory.store.ledger import Ledger
from gateway_memory.store.markdown import new_id, one_line
from gateway_memory.undo import inverse
from notifier import Change, Event, split
from recall import Recaller, Stored

if TYPE_CHECKING:
    from gateway_memory.store.patch import Patch

__all__ = ["Ingest"]

log = structlog.get_logger()

_UNDONE_WITHIN: Final = 200
"""Changes back from the newest in which an undo looks."""
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
        ledger: Ledger,
        recaller: Recaller,
        reader: Reader,
        follower: Follower,
        metrics: Metrics,
        zone: tzinfo | None,
        clock: Callable[[], datetime],
        settings_of: Callable[[str], MemorySync],
        scope_of: Callable[[str], Scope],
        publish: Callable[[Event], None],
        announce: Callable[[Event], None],
        hold: Callable[[Memory], None],
    ) -> None:
        self._files = files
        self._journal = journal
        self._ledger = ledger
        self._recaller = recaller
        self._reader = reader
        self._follower = follower
        self._metrics = metrics
        self._zone = zone
        self._clock = clock
        self._settings_of = settings_of
        self._scope_of = scope_of
        self._publish = publish
        self._announce = announce
        self._hold = hold

    async def rules(self, turns: Sequence[PendingTurn]) -> None:
        """The stage at once: what the user plainly said, by rules. One plan a scope."""
        for key, group in by_scope(turns):
            scope = self._scope_of(key)
            found: list[tuple[PendingTurn, Sequence[Candidate]]] = []
            for turn in group:
                if what := asked_to_forget(turn.user):
                    await self._forget_named(scope, turn, what)
                candidates = () if what else await compute(extract_rules, read_turn(turn, self._zone))
                found.append((turn, candidates))
            await self._store(scope, "rules", found, empty="nothing_to_keep")

    async def batch(self, turns: Sequence[PendingTurn]) -> None:
        """The debounced stage over one session's turns: the prefilter, and the model where there is one."""
        for key, group in by_scope(turns):
            scope = self._scope_of(key)
            settings = self._settings_of(group[0].session_key).auto_extract
            read = [read_turn(turn, self._zone) for turn in group]
            verdict = await compute(judge, read, settings)
            if not verdict.keep:
                await self._store(scope, "batch", [(turn, ()) for turn in group], empty=verdict.reason)
                continue
            by_rules = await self._ledger.of_turns(scope.key, [turn.id for turn in group])
            asked = [turn for turn in read if not asked_to_forget(turn.user)]
            reading = await self._reader.read(scope, settings, asked, frozenset(memory.id for memory in by_rules))
            # A candidate that names no turn is filed under the batch's last one: the batch is one piece of evidence.
            ids = {turn.id for turn in group}
            of_turn: dict[int, list[Candidate]] = {turn.id: [] for turn in group}
            for candidate in reading.candidates:
                of_turn[candidate.turn if candidate.turn in ids else group[-1].id].append(candidate)
            found = [(turn, of_turn[turn.id]) for turn in group]
            await self._store(
                scope,
                "batch",
                found,
                empty=reading.reason,
                failed=reading.failed,
                by_rules=by_rules,
                settled=reading.settled,
            )

    async def _store(
        self,
        scope: Scope,
        stage: Stage,
        found: Sequence[tuple[PendingTurn, Sequence[Candidate]]],
        *,
        empty: str,
        failed: bool = False,
        by_rules: Collection[Memory] = (),
        settled: Mapping[Candidate, Decision] | None = None,
    ) -> None:
        draft = Draft(by_rules=list(by_rules), settled=settled or {})
        kept: list[tuple[PendingTurn, Candidate]] = []
        for turn, candidates in found:
            if not candidates:
                draft.outcomes.append(Outcome(turn=turn.id, action="skipped", reason=empty))
            read = read_turn(turn, self._zone)
            for candidate in candidates:
                allowed = permitted(candidate, read, by_owner=scope.key == OWNER_KEY)
                if allowed is None:
                    draft.outcomes.append(Outcome(turn=turn.id, action="skipped", reason="not_permitted"))
                else:
                    kept.append((turn, allowed))
        plan = Plan(
            scope=scope.key,
            folder=scope.folder,
            stage=stage,
            at=self._clock().timestamp(),
            turns=tuple(turn.id for turn, _ in found),
            failed=failed,
        )
        if not kept:
            await self._carry_out(replace(plan, outcomes=tuple(draft.outcomes)))
            return
        async with self._files.writing():
            await self._follower.refresh(scope)
            room = await self._room(scope)
            for turn, candidate in kept:
                room -= await self._merge(scope, turn, candidate, draft, room)
            await self._carry_out(
                replace(
                    plan,
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
            for item in await self._recaller.nearest(scope.key, text, NEAREST, timeout_seconds=NEAREST_SECONDS)
        }
        reworded = [memory for memory in draft.by_rules if self._rewords(candidate, turn, memory)]
        gone = {item.memory.id for item in draft.retired} | {memory.id for memory in reworded}
        compared = [known(item) for identity, item in near.items() if identity not in gone]
        compared += [drafted(memory, text) for memory in draft.added]
        decision = self._decision(candidate, compared, reworded, draft)
        if decision.action == "skip":
            draft.outcomes.append(
                Outcome(turn=turn.id, action="skipped", reason=decision.reason, id=decision.target or "")
            )
            return 0
        settings = self._settings_of(turn.session_key).auto_extract
        identity = new_id()
        drafted_before = next((memory for memory in draft.added if memory.id == decision.target), None)
        curated = candidate.importance == "high" or settings.memory_md_threshold == "normal"
        if drafted_before:  # said and corrected within one batch: the first never reaches a file
            draft.added.remove(drafted_before)
        elif decision.target in near:
            stored = near[decision.target].stored
            if not is_writable(stored.file):  # a person's own note stays as they wrote it
                decision = Decision(action="add", target=None, reason="not_ours")
            else:
                old = await self._memory(scope, stored)
                curated = curated or old.file == MEMORY_FILE
                draft.retired.append(Retired(memory=old, state="superseded", replaced_by=identity))
        for memory in reworded:
            curated = curated or memory.file == MEMORY_FILE
            draft.by_rules.remove(memory)
            draft.retired.append(Retired(memory=memory, state="superseded", replaced_by=identity))
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
                turn=turn.id,
                expires=candidate.expires.isoformat() if candidate.expires else "",
            )
        )
        action, reason = decision.action, decision.reason
        if reworded and action == "add":
            action, reason = "update", "reworded"
        draft.outcomes.append(Outcome(turn=turn.id, action=action, reason=reason, id=identity))
        return size if curated else 0

    @staticmethod
    def _rewords(candidate: Candidate, turn: PendingTurn, memory: Memory) -> bool:
        """Return whether the model read out of a turn what the rules had kept of it already, in their words."""
        return bool(candidate.quote) and memory.turn == turn.id and same_words(candidate.quote, memory.text)

    @staticmethod
    def _decision(
        candidate: Candidate, compared: Sequence[Known], reworded: Sequence[Memory], draft: Draft
    ) -> Decision:
        """Return what is done with a candidate: the rules decide, and the model where they were unsure."""
        if reworded and candidate.importance != "high" and any(memory.file == MEMORY_FILE for memory in reworded):
            return Decision(action="skip", target=reworded[0].id, reason="protected")
        decision = decide(candidate, compared)
        asked = draft.settled.get(candidate)
        if asked is None or decision.reason != "new":
            return decision
        standing = {memory.id for memory in compared}
        return asked if asked.target is None or asked.target in standing else decision

    async def _forget_named(self, scope: Scope, turn: PendingTurn, what: str) -> None:
        """Do what "forget that …" asks, where it is certain which memory is meant; else `/memory forget` shows them."""
        await self._follower.refresh(scope)
        found = named(what, await self._recaller.nearest(scope.key, what, NEAREST, timeout_seconds=NEAREST_SECONDS))
        if found.certain:
            await self.forget(scope, found.certain, reason="asked", turn=turn.id)

    async def forget(self, scope: Scope, stored: Stored, *, reason: str = "command", turn: int = 0) -> None:
        """Take a memory out of its file; the journal keeps it, so that an undo can put it back."""
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
                    outcomes=(Outcome(turn=turn, action="forgotten", reason=reason, id=memory.id),),
                )
            )

    async def undo(self, scope: Scope, *, only: str = "") -> Plan | None:
        """Take back the newest change that stands, of a scope or of one memory; None where there is none."""
        async with self._files.writing():
            await self._follower.refresh(scope)
            for change in await self._ledger.changes(scope.key, _UNDONE_WITHIN):
                plan = await self._inverse(scope, change, only)
                if plan:
                    await self._carry_out(plan)
                    return plan
        return None

    async def _inverse(self, scope: Scope, change: Changed, only: str) -> Plan | None:
        ids = [memory.id for memory in change.plan.added] + [item.memory.id for item in change.plan.retired]
        if only and only not in ids:
            return None
        states = await self._ledger.states(scope.key, ids)
        return inverse(change, states, at=self._clock().timestamp(), only=only)

    async def expire(self, scope: Scope) -> int:
        """Take out of the files what held until yesterday, and return how many that were."""
        day = day_of(self._clock().timestamp(), self._zone)
        if not await self._ledger.expired(scope.key, day):
            return 0
        async with self._files.writing():
            await self._follower.refresh(scope)
            ids = await self._ledger.expired(scope.key, day)
            stored = [await self._recaller.get(scope.key, identity) for identity in ids]
            memories = [await self._memory(scope, item) for item in stored if item and is_writable(item.file)]
            if memories:
                plan = Plan(
                    scope=scope.key,
                    folder=scope.folder,
                    stage="expiry",
                    at=self._clock().timestamp(),
                    retired=tuple(Retired(memory=memory, state="expired") for memory in memories),
                    outcomes=tuple(
                        Outcome(turn=0, action="expired", reason="date", id=memory.id) for memory in memories
                    ),
                )
                await self._carry_out(plan)
        return len(memories)

    async def recover(self) -> int:
        """Carry out again what was planned; return how many plans there were."""
        plans = await self._journal.plans()
        for number, plan in plans:
            async with self._files.writing():
                await self._carry_out(plan, number)
        return len(plans)

    async def _carry_out(self, plan: Plan, number: int | None = None) -> None:
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
                if event.origin == self._journal.event_log.instance:
                    self._publish(event)
            with self._metrics.timed("ingest.index"):
                await self._follower.refresh(Scope(plan.scope, plan.folder))
        await self._journal.finish(plan, number, patches)
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
            if item.state in ("forgotten", "undone")
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
        now = Memory(
            id=entry.id,
            text=entry.text,
            file=stored.file,
            at=entry.at,
            type=entry.type,
            category=entry.category,
            importance="high" if entry.importance >= IMPORTANCE["high"] else "normal",
            confidence=entry.confidence,
        )
        if journaled is None:
            return now
        return replace(
            now,
            session_key=journaled.session_key,
            entities=journaled.entities,
            turn=journaled.turn,
            expires=journaled.expires,
        )
