"""Plans in the making, and their execution: write, index, announce.

Each step is idempotent, so that a plan can be replayed after a crash.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, tzinfo
from itertools import groupby
from typing import TYPE_CHECKING, Final

from extractor import Candidate, Decision, Known, Turn, concerned, decide, extract_rules, traits_of
from gateway_memory.errors import StoreBusyError
from gateway_memory.ground.holds import Holds, event_in, holds_of, noted_days, plain_of, with_note
from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.runtime import Runtime
from gateway_memory.ground.times import local_time
from gateway_memory.scope import Scope
from gateway_memory.sessions.registry import SessionRegistry
from gateway_memory.store.documents import MEMORY_FILE
from gateway_memory.store.journal.speakers import unnamed
from gateway_memory.store.journal.turns import PendingTurn
from gateway_memory.store.markdown import one_line
from gateway_memory.store.memory_record import MemoryRecord
from gateway_memory.store.plan import Cause, Moved, Plan, ReceiptLine, Renamed, Retired, State
from gateway_memory.store.report import Rated
from gateway_memory.store.reviewed import Review, Settled
from gateway_memory.sync.entries import IMPORTANCE
from gateway_memory.sync.storage import Storage
from notifier import Announcer, Event, MemoryChange, split
from recall import Near, RecallError, text_overlap

if TYPE_CHECKING:
    from gateway_memory.store.patches import Patch

log = get_logger(__name__)


_LISTS: Final = ("added", "retired", "moved", "outcomes", "reviews", "settled", "rated", "renamed")
"""The lists of a draft that its plan has as tuples."""


@dataclass(slots=True)
class Draft:
    """The changes to one scope that a stage or a command gathers.

    Beside the fields of a plan, it has what steers merging:

    room: the bytes by which MEMORY.md may still grow.
    by_rules: the memories that the rules extracted from these turns and that nothing has replaced yet.
    reviewed: whether a person has approved the candidate.
    """

    scope: Scope
    cause: Cause
    turns: Sequence[PendingTurn] = ()
    added: list[MemoryRecord] = field(default_factory=list)
    retired: list[Retired] = field(default_factory=list)
    moved: list[Moved] = field(default_factory=list)
    outcomes: list[ReceiptLine] = field(default_factory=list)
    reviews: list[Review] = field(default_factory=list)
    settled: list[Settled] = field(default_factory=list)
    rated: list[Rated] = field(default_factory=list)
    renamed: list[Renamed] = field(default_factory=list)
    failed: bool = False
    room: int = 0
    by_rules: list[MemoryRecord] = field(default_factory=list)
    reviewed: bool = False

    def note(self, action: str, reason: str, identity: str = "", *, turn: int = 0) -> None:
        """Add a line to the receipt. identity: of the memory or the review; turn: 0 for none."""
        self.outcomes.append(ReceiptLine(turn=turn, action=action, reason=reason, id=identity))

    def retire(self, memory: MemoryRecord, state: State, reason: str, *, action: str = "", turn: int = 0) -> None:
        """Take a memory out of its file. action: of the receipt's line, if it is not the state."""
        self.retired.append(Retired(memory=memory, state=state))
        self.note(action or state, reason, memory.id, turn=turn)

    def move(self, memory: MemoryRecord, file: str, *, reason: str) -> None:
        """Move a memory to another file."""
        self.moved.append(Moved(memory=replace(memory, file=file), source=memory.file))
        self.note("moved", reason, memory.id)

    def plan(self, at: float) -> Plan:
        """Return the plan of these changes. at: epoch seconds."""
        return Plan(
            scope=self.scope.key,
            folder=self.scope.folder,
            stage=self.cause,
            at=at,
            turns=tuple(turn.id for turn in self.turns),
            failed=self.failed,
            imported=any(turn.imported for turn in self.turns),
            **{name: tuple(getattr(self, name)) for name in _LISTS},
        )


def source_of(
    scope: str, session_key: str, session_id: str, at: float, *, turn: int = 0, speaker: str = "", prefix: str = ""
) -> PendingTurn:
    """Return the source of a memory that is not read from a turn: its session, and for a review its turn.

    speaker, prefix: as a turn has them.
    """
    return PendingTurn(
        id=turn, scope=scope, session_key=session_key, session_id=session_id, user="", reply="", at=at, accepted_at=at,
        speaker=speaker, speaker_prefix=prefix,
    )  # fmt: skip


def shared_for(candidate: Candidate, joined: Sequence[Scope]) -> Scope | None:
    """Return the shared scope that a candidate is about, of those that a session has joined; None for none."""
    number = concerned(candidate, [(scope.kind.name, scope.name) for scope in joined])
    return None if number is None else joined[number]


def by_scope(turns: Sequence[PendingTurn]) -> list[tuple[str, list[PendingTurn]]]:
    """Return the turns of each scope in the order in which they were said, imported ones apart."""
    ordered = sorted(turns, key=lambda turn: (*_kind(turn), turn.at if turn.imported else 0.0, turn.id))
    return [(scope, list(group)) for (scope, _), group in groupby(ordered, key=_kind)]


def _kind(turn: PendingTurn) -> tuple[str, bool]:
    return turn.scope, turn.imported


def as_turn(turn: PendingTurn, zone: tzinfo | None) -> Turn:
    """Return a turn of the journal in the extractor's form."""
    at = local_time(turn.at, zone)
    return Turn(id=turn.id, user=turn.user, reply=turn.reply, at=at, speaker=turn.sender.name)


def known(near: Near) -> Known:
    """Return a memory of the index in the form that merging uses."""
    entry = near.stored.entry
    return Known(
        id=entry.id,
        text=plain_of(entry.text),
        cosine=near.cosine,
        overlap=near.overlap,
        importance="high" if entry.importance >= IMPORTANCE["high"] else "normal",
        protected=near.stored.file == MEMORY_FILE,
        on=noted_days(entry.text),
        vectors=near.vectors,
    )


def drafted(memory: MemoryRecord, text: str, turn: int = 0) -> Known:
    """Return a memory of the current batch, which is not indexed yet. It is compared by its words only.

    turn: the turn of the candidate to which it is compared.
    """
    return Known(
        id=memory.id,
        text=(said := plain_of(unnamed(memory.text, memory.speaker))),
        cosine=None,
        overlap=text_overlap(said, text),
        importance=memory.importance,
        same_message=memory.turn == turn > 0,
        on=noted_days(memory.text),
    )


def decided(candidate: Candidate, compared: Sequence[Known]) -> Decision:
    """Decide what to do with a candidate. The same words about another day are news: "dentist tomorrow", a month on."""
    decision = decide(candidate, compared)
    if decision.action not in ("skip", "update") or not (candidate.holds and candidate.holds.on):
        return decision
    target = next((each for each in compared if each.id == decision.target), None)
    if target and target.on and not set(target.on) & set(candidate.holds.on):
        return Decision(action="add", target=None, reason="another_day")
    return decision


def in_time(candidate: Candidate, day: date) -> Candidate:
    """Return a candidate of a day with when it holds: as a host says, by its words, else by the words it comes from.

    A wish beside something that happens on one day is no standing one: "job interview on Monday, don't tell anyone".
    """
    if candidate.holds is not None:
        return candidate
    standing = traits_of(candidate.category).standing
    read = candidate.quote and not candidate.only_as  # then it is what the model calls it
    if standing and not read and (event := event_in(candidate.content, day)) and not _wishes(event):
        candidate, standing = replace(candidate, category="fact"), False
    holds = holds_of(candidate.content, day, standing=standing)
    if holds == Holds(exact=holds.exact) and candidate.quote:
        quoted = holds_of(candidate.quote, day, standing=standing)
        holds = holds if quoted.unsure else quoted
    if candidate.expires and holds.last is None:
        holds = replace(holds, until=candidate.expires, exact=False)
    return replace(candidate, holds=holds)


def _wishes(text: str) -> bool:
    """Return whether a text tells of a standing wish, by the rules."""
    turn = Turn(id=0, user=text, reply="", at=local_time(0, UTC))
    return any(traits_of(each.category).standing for each in extract_rules(turn))


def record_of_candidate(candidate: Candidate, turn: PendingTurn, *, identity: str, file: str) -> MemoryRecord:
    """Return a candidate as a memory that comes from a turn. Its line tells when it holds (see `in_time`)."""
    holds = candidate.holds or Holds(exact=True)
    text = candidate.content if holds.exact else with_note(candidate.content, holds)
    return MemoryRecord(
        id=identity,
        text=one_line(turn.speaker_prefix + text),
        file=file,
        at=turn.at,
        session_key=turn.session_key,
        session_id=turn.session_id,
        type=candidate.type,
        category=candidate.category,
        importance=candidate.importance,
        confidence=candidate.confidence,
        entities=candidate.entities,
        cues=candidate.cues,
        turn=turn.id,
        expires=holds.last.isoformat() if holds.last else "",
        quote=one_line(candidate.quote),
        speaker=turn.speaker,
    )


@dataclass(slots=True)
class _Execution:
    """A plan that is being executed, with its number in the journal, its events and the edits of its documents."""

    plan: Plan
    number: int | None = None
    events: Sequence[Event] = ()
    patches: "tuple[Patch, ...]" = ()


class PlanExecutor:
    """Executes plans, and notifies the open sessions.

    wake: wakes the processor of turns; set when a plan was not completed, so that it is recovered.
    busy: the keys of the scopes whose plans wait, since at the last `recover` another process held them, or their index
        was away.
    """

    def __init__(self, runtime: Runtime, storage: Storage, announcer: Announcer, sessions: SessionRegistry) -> None:
        self._runtime = runtime
        self._storage = storage
        self._announcer = announcer
        self._sessions = sessions
        self.wake = asyncio.Event()
        self.busy: frozenset[str] = frozenset()

    async def recover(self) -> int:
        """Execute unfinished plans again, and return their number. See `busy`."""
        replayed = 0
        busy: set[str] = set()
        for number, planned in await self._storage.turns.plans():
            try:
                async with self._storage.documents.writing(planned.target):
                    # Another process may have completed it meanwhile.
                    plan = dict(await self._storage.turns.plans()).get(number)
                    if plan:
                        await self.execute(plan, number)
                        replayed += 1
            except (StoreBusyError, RecallError) as error:
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

    @asynccontextmanager
    async def drafting(self, scope: Scope, cause: Cause) -> AsyncIterator[Draft]:
        """Hold a scope as `writing` does, and execute the draft at the end, unless its receipt is empty."""
        async with self.writing(scope):
            draft = Draft(scope, cause)
            yield draft
            if draft.outcomes:
                await self.complete(draft)

    async def complete(self, *drafts: Draft) -> None:
        """Execute drafts of one scope, with one write of each file. Call it only within `writing`.

        If there are several, each may only add memories.
        """
        at = self._runtime.timestamp()
        await self._execute([_Execution(plan=draft.plan(at)) for draft in drafts])

    async def execute(self, plan: Plan, number: int | None = None) -> None:
        """Execute a plan, or the rest of one. Call it only within the documents' `writing`."""
        await self._execute([_Execution(plan=plan, number=number)])

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
            self.wake.set()
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
            # Only the first draft needs patches. The others only add lines, which an undo removes by id.
            rest = Plan(scope=plan.scope, folder=plan.folder, stage=plan.stage, at=plan.at, added=added).edits()
            first.patches = (await self._storage.documents.edit(plan.target, [*own, *rest]))[: len(own)]
        for each in executions:
            # Announced before indexing, so that sessions get it as an update, and not as a new line of the file.
            for event in each.events:
                self._announcer.written(event)
        with self._runtime.metrics.timed("ingest.index"):
            before = self._storage.follower.last_change(plan.target)
            after = await self._storage.follower.refresh(plan.target)
            # A replay begins without a refresh, so that `before` may be older than what others wrote.
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
        counts = {name: len(getattr(plan, name)) for name in ("turns", "added", "retired", "moved")}
        log.info("ingest.done", stage=plan.stage, **counts)

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
            MemoryChange(id=item.memory.id, text="", at=plan.at, action="removed")
            for item in plan.retired
            if item.state in ("forgotten", "undone", "retracted") and item.memory.announced
        ]
        changes = [change for change in changes if self._runtime.settings_of(change.source).notify.enabled]
        return list(split(Event(scope=plan.scope, at=plan.at, changes=tuple(changes))))
