"""One batch of turns: extract → merge → a plan, which is carried out."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import Final

from extractor import Candidate, Decision, extract_rules, judge, permitted, without_commands
from gateway_memory.capture.draft import Draft, by_scope, read_turn
from gateway_memory.capture.executor import Carrier
from gateway_memory.capture.forgetting import asked_to_forget, named
from gateway_memory.capture.masked import asks_to_keep_masked
from gateway_memory.capture.merger import Merger
from gateway_memory.capture.reader import NEAREST, NEAREST_SECONDS, Reader
from gateway_memory.capture.undo import Refused, Standing, inverse
from gateway_memory.clock import day_of
from gateway_memory.compute import compute
from gateway_memory.config.settings import MemorySync
from gateway_memory.scope import OWNER_KEY, Scope
from gateway_memory.store.files import MarkdownFiles, day_file, is_writable
from gateway_memory.store.journal.journal import PendingTurn
from gateway_memory.store.journal.ledger import Change as Changed
from gateway_memory.store.journal.ledger import Ledger
from gateway_memory.store.markdown import new_id
from gateway_memory.store.plan import SAID, Memory, Outcome, Plan, Retired, Stage
from gateway_memory.store.withheld import Forgotten, Withheld
from gateway_memory.sync.follower import Follower
from recall import Recaller, Stored

__all__ = ["Ingest"]

_UNDONE_WITHIN: Final = 200
"""Changes back from the newest in which an undo looks."""
_REPLY_KEPT: Final = 400
_REPLIES_KEPT: Final = 1000


class Ingest:
    """Carries turns through one stage, and makes plans of what is asked for."""

    def __init__(
        self,
        *,
        files: MarkdownFiles,
        ledger: Ledger,
        recaller: Recaller,
        reader: Reader,
        merger: Merger,
        follower: Follower,
        carrier: Carrier,
        zone: tzinfo | None,
        clock: Callable[[], datetime],
        settings_of: Callable[[str], MemorySync],
        scope_of: Callable[[str], Scope],
    ) -> None:
        self._files = files
        self._ledger = ledger
        self._recaller = recaller
        self._reader = reader
        self._merger = merger
        self._follower = follower
        self._carrier = carrier
        self._zone = zone
        self._clock = clock
        self._settings_of = settings_of
        self._scope_of = scope_of
        # What was replied last, by session: a message tells more where it answers.
        self._replied: dict[str, str] = {}

    async def rules(self, turns: Sequence[PendingTurn]) -> None:
        """The stage at once: what the user plainly said, by rules. One plan a scope."""
        for key, group in by_scope(turns):
            scope = self._scope_of(key)
            found: list[tuple[PendingTurn, Sequence[Candidate]]] = []
            for turn in group:
                what = asked_to_forget(turn.user)
                forgotten = what is not None and await self._forget_named(scope, turn, what)
                candidates = () if forgotten else await compute(extract_rules, read_turn(turn, self._zone))
                found.append((turn, candidates))
            await self._store(scope, "rules", found, empty="nothing_to_keep")

    async def batch(self, turns: Sequence[PendingTurn]) -> None:
        """The debounced stage over one session's turns: the prefilter, and the model where there is one."""
        for key, group in by_scope(turns):
            scope = self._scope_of(key)
            settings = self._settings_of(group[0].session_key).auto_extract
            hidden = await self._ledger.withheld(scope.key)
            read = [read_turn(_without(turn, hidden), self._zone) for turn in group]
            verdict = await compute(judge, read, settings, self._replied.get(group[0].session_id, ""))
            self._replied[group[-1].session_id] = read[-1].reply[-_REPLY_KEPT:]
            if len(self._replied) > _REPLIES_KEPT:
                del self._replied[next(iter(self._replied))]
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
            if stage == "rules" and asks_to_keep_masked(turn.user):
                draft.outcomes.append(Outcome(turn=turn.id, action="masked", reason="secret"))
            read = read_turn(turn, self._zone)
            for candidate in candidates:
                allowed = await compute(permitted, candidate, read, by_owner=scope.key == OWNER_KEY)
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
            await self._carrier.carry_out(replace(plan, outcomes=tuple(draft.outcomes)))
            return
        async with self._files.writing():
            await self._follower.refresh(scope)
            room = await self._merger.room(scope)
            for turn, candidate in kept:
                room -= await self._merger.merge(scope, turn, candidate, draft, room)
            await self._carrier.carry_out(
                replace(
                    plan,
                    added=tuple(draft.added),
                    retired=tuple(draft.retired),
                    outcomes=tuple(draft.outcomes),
                )
            )

    async def _forget_named(self, scope: Scope, turn: PendingTurn, what: str) -> bool:
        """Do what "forget that …" asks; `/memory forget` shows the memories that may be meant, where none is certain.

        What was never a memory may have been said all the same: it is withheld from records and openings.
        """
        await self._follower.refresh(scope)
        found = named(what, await self._recaller.nearest(scope.key, what, NEAREST, timeout_seconds=NEAREST_SECONDS))
        if found.certain:
            await self.forget(scope, found.certain, reason="asked", turn=turn.id)
        elif without_commands(what) == what:  # what commands the machine is no wish of the user's
            await self._withhold_said(scope, turn, what)
        return found.certain is not None

    async def _withhold_said(self, scope: Scope, turn: PendingTurn, what: str) -> None:
        if (await self._ledger.withheld(scope.key)).says(what):  # by the command that was the same message, say
            return
        at = self._clock().timestamp()
        said = Memory(
            id=new_id(),
            text=what,
            file=day_file(day_of(at, self._zone)),
            at=at,
            session_key=turn.session_key,
            category=SAID,
            turn=turn.id,
        )
        plan = Plan(
            scope=scope.key,
            folder=scope.folder,
            stage="command",
            at=at,
            retired=(Retired(memory=said, state="forgotten"),),
            outcomes=(Outcome(turn=turn.id, action="withheld", reason="asked", id=said.id),),
        )
        async with self._files.writing():
            await self._carrier.carry_out(plan)

    async def keep(self, scope: Scope, stage: Stage, memories: Sequence[Memory]) -> None:
        """Write memories as they are, with none of them merged: stage summaries, which stand for a moment each."""
        async with self._files.writing():
            await self._follower.refresh(scope)
            outcomes = [Outcome(turn=0, action="add", reason=stage, id=memory.id) for memory in memories]
            plan = Plan(scope=scope.key, folder=scope.folder, stage=stage, at=self._clock().timestamp())
            await self._carrier.carry_out(replace(plan, added=tuple(memories), outcomes=tuple(outcomes)))

    async def save(self, scope: Scope, source: PendingTurn, candidate: Candidate) -> Outcome:
        """Merge one candidate that the agent itself has named, and return what became of it. `source` has the id 0."""
        async with self._files.writing():
            await self._follower.refresh(scope)
            draft = Draft()
            await self._merger.merge(scope, source, candidate, draft, await self._merger.room(scope))
            plan = Plan(scope=scope.key, folder=scope.folder, stage="save", at=self._clock().timestamp())
            await self._carrier.carry_out(
                replace(
                    plan,
                    added=tuple(draft.added),
                    retired=tuple(draft.retired),
                    outcomes=tuple(draft.outcomes),
                )
            )
        return draft.outcomes[-1]

    async def forget(self, scope: Scope, stored: Stored, *, reason: str = "command", turn: int = 0) -> None:
        """Take a memory out of its file; the journal keeps it, so that an undo can put it back."""
        async with self._files.writing():
            await self._follower.refresh(scope)
            memory = await self._merger.memory(scope, stored)
            stages = await self._without_stages(scope, memory)
            await self._carrier.carry_out(
                Plan(
                    scope=scope.key,
                    folder=scope.folder,
                    stage="command",
                    at=self._clock().timestamp(),
                    added=tuple(new for _, new in stages if new.text),
                    retired=(Retired(memory=memory, state="forgotten"), *(_retired(old, new) for old, new in stages)),
                    outcomes=(Outcome(turn=turn, action="forgotten", reason=reason, id=memory.id),),
                )
            )

    async def _without_stages(self, scope: Scope, forgotten: Memory) -> list[tuple[Memory, Memory]]:
        """Return the stage summaries that say what is being forgotten, each with what takes its place."""
        at = self._clock().timestamp()
        hidden = Withheld(Forgotten(text=words, at=at) for words in (forgotten.text, forgotten.quote))
        return [
            (stage, replace(stage, id=new_id(), text=cut))
            for stage in await self._ledger.stages(scope.key)
            if (cut := hidden.cut(stage.text).strip()) != stage.text
        ]

    async def undo(self, scope: Scope, *, only: str = "") -> tuple[float, Plan] | Refused | None:
        """Take back the newest change that stands, of a scope or of one memory; None where there is none.

        Returns when the change was made, and the plan that took it back.
        """
        refused: Refused | None = None
        async with self._files.writing():
            await self._follower.refresh(scope)
            for change in await self._ledger.changes(scope.key, _UNDONE_WITHIN):
                plan = await self._inverse(scope, change, only)
                if isinstance(plan, Refused):
                    refused = refused or plan
                elif plan and refused:  # an older change is not what was meant
                    earlier = [item.memory for item in plan.retired] + [item.memory for item in plan.moved]
                    return replace(refused, earlier=[*earlier, *plan.added][0])
                elif plan:
                    await self._carrier.carry_out(plan)
                    return change.plan.at, plan
        return refused

    async def _inverse(self, scope: Scope, change: Changed, only: str) -> Plan | Refused | None:
        ids = [memory.id for memory in change.plan.added] + [item.memory.id for item in change.plan.retired]
        moved = [item.memory.id for item in change.plan.moved]
        if only and only not in (*ids, *moved):
            return None
        rows = [await self._recaller.get(scope.key, identity) for identity in moved]
        placed = {row.entry.id: await self._merger.memory(scope, row) for row in rows if row}
        standing: dict[str, Standing] = {}
        for identity, (state, replaced_by) in (await self._ledger.states(scope.key, ids)).items():
            stored = await self._recaller.get(scope.key, identity) if state in ("active", "deleted") else None
            text = stored.entry.text if stored else ""
            standing[identity] = Standing(state=state, replaced_by=replaced_by, text=text)
        return inverse(change, standing, placed, at=self._clock().timestamp(), only=only)

    async def expire(self, scope: Scope) -> int:
        """Take out of the files what held until yesterday, and return how many that were."""
        day = day_of(self._clock().timestamp(), self._zone)
        if not await self._ledger.expired(scope.key, day):
            return 0
        async with self._files.writing():
            await self._follower.refresh(scope)
            ids = await self._ledger.expired(scope.key, day)
            stored = [await self._recaller.get(scope.key, identity) for identity in ids]
            memories = [await self._merger.memory(scope, item) for item in stored if item and is_writable(item.file)]
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
                await self._carrier.carry_out(plan)
        return len(memories)


def _retired(old: Memory, new: Memory) -> Retired:
    if new.text:
        return Retired(memory=old, state="superseded", replaced_by=new.id)
    return Retired(memory=old, state="forgotten")


def _without(turn: PendingTurn, hidden: Withheld) -> PendingTurn:
    """Return a turn without what was forgotten after it: no model reads that, and nothing of it is learnt again."""
    since = turn.accepted_at
    words = hidden.words_of(turn.user, turn.reply, since=since)
    user, reply = (hidden.cut(text, since=since, words=words) for text in (turn.user, turn.reply))
    return replace(turn, user=user, reply=reply)
