"""Process accepted turns in two stages, the rules at once and then a model, and adopt those of dead processes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Final

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_random_exponential

from extractor import (
    Candidate,
    Turn,
    judge,
)
from gateway_memory.capture.executor import Draft, PlanExecutor, as_turn, by_scope
from gateway_memory.capture.filing import Filing
from gateway_memory.capture.reader import OVER_BUDGET, Reader, Reading
from gateway_memory.capture.requests import request_in
from gateway_memory.capture.ruling import RulesStage
from gateway_memory.errors import StoreBusyError, StoreError, place_of
from gateway_memory.ground import get_logger
from gateway_memory.ground.runtime import Runtime, compute
from gateway_memory.scope import Scope
from gateway_memory.store.journal.store import Store
from gateway_memory.store.journal.turns import PendingTurn, TurnState
from gateway_memory.store.withheld import Withheld
from gateway_memory.sync.storage import Storage
from recall import RecallError

log = get_logger(__name__)

_RULED_AT_ONCE: Final = 256
"""The number of turns in one run of the rules. They share one file write and one transaction."""
_GATHER_SECONDS, _GATHERINGS = 0.05, 6
_ADOPT_SECONDS: Final = 10.0
_LONGEST_RETRY_SECONDS: Final = 30.0

TRANSIENT: Final = (OSError, StoreError, RecallError)
"""Errors such as a full disk or a lock timeout. The turn waits and is retried."""


_REPLY_READ: Final = 400
_OF_ITS_TEXT: Final = frozenset({"model_unreadable", "model_truncated", "model_refused"})
_TURNS_KEPT, _TEXT_KEPT, _SESSIONS_KEPT = 4, 1000, 1000


class BatchStage:
    """The debounced stage over the turns of one session: the prefilter, and the model if there is one.

    debouncer: says which sessions are due.
    """

    name = "batch"
    state: TurnState = "ruled"

    def __init__(self, runtime: Runtime, store: Storage, filing: Filing, reader: Reader) -> None:
        timing = runtime.settings.auto_extract
        self.debouncer = Debouncer(timing.debounce_seconds, timing.max_wait_seconds)
        self._runtime = runtime
        self._store = store
        self._filing = filing
        self._reader = reader
        self._failed = True  # what an earlier process left behind is read again, too
        self._again: set[int] = set()
        self._unread: set[int] = set()
        self._earlier: dict[str, list[PendingTurn]] = {}
        """The last turns, shortened, by session. Later messages answer them, and refer to names and facts in them."""

    async def run(self, turns: Sequence[PendingTurn]) -> None:
        """Judge whether the turns contain anything to remember, and if so read them."""
        for key, group in by_scope(turns):
            scope = Scope.parse(key)
            earlier = [turn for turn in self._earlier.get(group[0].session_id, []) if turn.scope == key]
            # What has failed before is read by itself, so that the rest does not fail with it.
            again = [turn for turn in group if turn.id in self._again]
            for part in (again, [turn for turn in group if turn.id not in self._again]):
                while part and not await self._read(scope, part, earlier):
                    log.info("batch.read_again", turns=len(part))
            if shown := [turn for turn in (*earlier, *group) if turn.id not in self._unread]:
                self._keep(shown)

    async def _read(self, scope: Scope, group: Sequence[PendingTurn], before: Sequence[PendingTurn]) -> bool:
        """Read the turns of a session, and file the result. Return False if text of theirs was forgotten meanwhile.

        before: the last turns before them, shortened.
        """
        settings = self._runtime.settings_of(group[0].session_key).auto_extract

        async def readable() -> list[list[PendingTurn]]:
            withheld = await self._store.ledger.withheld(scope.key)
            return [[_without(turn, withheld) for turn in part] for part in (before, group)]

        parts = await readable()
        earlier, turns = ([as_turn(turn, self._runtime.zone) for turn in part] for part in parts)
        verdict = await compute(judge, turns, settings, earlier[-1].reply[-_REPLY_READ:] if earlier else "")
        draft = Draft(scope, "batch", group)
        draft.by_rules = list(await self._store.ledger.of_turns(scope.key, [turn.id for turn in group]))
        if not (draft.by_rules or await self._reader.is_worth_reading(turns, earlier, verdict)):
            reason = "uninformative" if verdict.keep else verdict.reason
            return await self._filing.file(draft, [()] * len(group), empty=reason)
        turns, earlier = [await self._without_requests(part) for part in (turns, earlier)]
        reading = await self._reader.read(scope, settings, turns, draft.by_rules, earlier=earlier)
        draft.failed = reading.failed or (group[0].imported and reading.reason == OVER_BUDGET)
        # The model need not say which turn a candidate is from. It is then filed under the last one.
        ids = {turn.id for turn in group}
        of_turn: dict[int, list[Candidate]] = {turn.id: [] for turn in group}
        for candidate in reading.candidates:
            of_turn[candidate.turn if candidate.turn in ids else group[-1].id].append(candidate)

        async def holds() -> bool:
            return parts == await readable()

        extracted = [of_turn[turn.id] for turn in group]
        filed = await self._filing.file(
            draft, extracted, empty=reading.reason, retracted=reading.retracted, holds=holds
        )
        if filed:
            await self._note(reading, [turn.id for turn in group])
        return filed

    async def _note(self, reading: Reading, turns: Sequence[int]) -> None:
        """When the model answers again, put the turns on which it had failed back to the batch stage, each once."""
        if reading.reason in _OF_ITS_TEXT:  # shown beside others, it would fail them too
            self._unread.update(turns)
        if reading.failed:
            self._failed = self._failed or not self._again.issuperset(turns)
        elif reading.answered and self._failed:
            self._failed = False
            for session_id in await self._store.turns.retry():
                waiting = await self._store.turns.waiting("ruled", session_id=session_id)
                self._again.update(turn.id for turn in waiting)
                self.debouncer.touch(session_id, asyncio.get_running_loop().time())

    async def _without_requests(self, turns: Sequence[Turn]) -> list[Turn]:
        """Return turns without those that ask something of the memory itself."""
        asked = [await request_in(self._store.recaller, turn.user) for turn in turns]
        return [turn for turn, request in zip(turns, asked, strict=True) if not (request and request.only_asks)]

    def _keep(self, turns: Sequence[PendingTurn]) -> None:
        self._earlier[turns[-1].session_id] = [
            replace(turn, user=turn.user[:_TEXT_KEPT], reply=turn.reply[-_TEXT_KEPT:]) for turn in turns[-_TURNS_KEPT:]
        ]
        if len(self._earlier) > _SESSIONS_KEPT:
            del self._earlier[next(iter(self._earlier))]


def _without(turn: PendingTurn, withheld: Withheld) -> PendingTurn:
    """Return a turn without text that was forgotten since. No model reads that text, so it is not learned again."""
    since = turn.accepted_at
    words = withheld.words_of(turn.user, turn.reply, since=since)
    user, reply = (withheld.cut(text, since=since, words=words) for text in (turn.user, turn.reply))
    return replace(turn, user=user, reply=reply)


# The worker that runs both stages.


class Debouncer:
    """A key becomes due when it was not touched for a while, or at the latest after the longest wait. Sans I/O.

    Times are seconds of one monotonic clock. It is not thread-safe.
    """

    def __init__(self, debounce_seconds: float, max_wait_seconds: float) -> None:
        self._quiet_seconds = debounce_seconds
        self._max_wait_seconds = max(debounce_seconds, max_wait_seconds)
        self._spans: dict[str, tuple[float, float]] = {}  # key -> (first touch, last touch) since it was last due

    def touch(self, key: str, now: float) -> None:
        """Note new work for a key."""
        first, last = self._spans.get(key, (now, now))
        self._spans[key] = (first, max(last, now))

    def due(self, now: float) -> list[str]:
        """Return the due keys, the longest waiting first, and forget them."""
        ready = sorted(
            (due_at, order, key)
            for order, (key, span) in enumerate(self._spans.items())
            if (due_at := self._due_at(span)) <= now
        )
        for _, _, key in ready:
            del self._spans[key]
        return [key for _, _, key in ready]

    def next_due(self) -> float | None:
        """Return the time at which the next key is due; None while nothing waits."""
        return min(map(self._due_at, self._spans.values()), default=None)

    def drop(self, key: str) -> None:
        """Forget a key whose work was done otherwise (a flush, the session's end)."""
        self._spans.pop(key, None)

    def _due_at(self, span: tuple[float, float]) -> float:
        first, last = span
        return min(last + self._quiet_seconds, first + self._max_wait_seconds)


class TurnProcessor:
    """A background worker, which runs until it is cancelled. A turn on which a stage fails stays in the store.

    A model is asked under the batch lock alone, so that the rules never wait for it.
    rules: processes accepted turns at once.
    batch: processes the turns of one session after the debounce.
    """

    def __init__(
        self, runtime: Runtime, store: Store, executor: PlanExecutor, rules: RulesStage, batch: BatchStage
    ) -> None:
        self._runtime = runtime
        self._store = store
        self._executor = executor
        self._rules = rules
        self._batch = batch
        self._debouncer = batch.debouncer
        self._wake = executor.wake
        self._wake_batch = asyncio.Event()
        self._caught_up = asyncio.Event()
        self._plan_lock = asyncio.Lock()
        self._batch_lock = asyncio.Lock()

    def wake(self) -> None:
        """Report that a turn was accepted."""
        self._wake.set()

    async def run(self) -> None:
        """Recover unfinished plans, then process turns until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._adopt_loop(), name="gateway-memory-adopt")
            group.create_task(self._rules_loop(), name="gateway-memory-rules")
            group.create_task(self._batch_loop(), name="gateway-memory-batch")

    async def caught_up(self, session_id: str, seconds: float) -> None:
        """Wait until the rules have processed the turns of a session, for at most `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                while True:
                    self._caught_up.clear()
                    if not await self._store.turns.waiting("accepted", session_id=session_id, limit=1):
                        return
                    self._wake.set()
                    await self._caught_up.wait()
        except TimeoutError:
            log.warning("worker.behind")

    async def adopt(self) -> None:
        """Take over the turns of dead processes and of hooks, which wait for whoever has the workspace open.

        Raises:
            StoreError: the store could not be read or written. The turns wait.
        """
        async with self._plan_lock:
            adopted = await self._store.turns.adopt(self._wake.set)
            if adopted:
                await self._replay()
                log.info("worker.adopted", processes=adopted)

    async def flush(self) -> None:
        """Process all waiting turns of this process now.

        Raises:
            StoreError: something could not be written. It stays in the store.
        """
        await self._rule()
        async with self._batch_lock:
            while turns := await self._store.turns.waiting("ruled", limit=1):
                await self._batch_of(turns[0].session_id)

    async def read(self, session_id: str) -> None:
        """Process the waiting turns of a session now, after the batches that are due before it.

        Raises:
            StoreError: something could not be written. It stays in the store.
        """
        if await self._store.turns.waiting("accepted", session_id=session_id, limit=1):
            try:
                await self._rule()
            except (StoreBusyError, RecallError):
                if await self._store.turns.waiting("accepted", session_id=session_id, limit=1):
                    raise  # else the scopes are those of others
        await self._batch_once(session_id)

    @asynccontextmanager
    async def _work(self) -> AsyncIterator[None]:
        """Hold the plan lock. Recover plans first, since their turns would otherwise be planned again."""
        async with self._plan_lock:
            await self._executor.recover()
            yield

    async def _rules_loop(self) -> None:
        await self._until_it_works("unpark", self._store.turns.unpark)
        await self._until_it_works("recover", self._recover)
        while True:
            await self._burst()
            await self._until_it_works("rules", self._rule, sleep=self._pause)

    async def _burst(self) -> None:
        """Wait for a turn, and then up to 0.3 s for more, since one run of many is faster than many runs."""
        await self._wake.wait()
        for _ in range(_GATHERINGS):
            self._wake.clear()
            await asyncio.sleep(_GATHER_SECONDS)
            if not self._wake.is_set():
                return

    async def _recover(self) -> None:
        await self._store.documents.sweep()
        async with self._work():
            await self._replay()

    async def _replay(self) -> None:
        """Execute unfinished plans before their turns are processed again."""
        replayed = await self._executor.recover()
        for turn in await self._store.turns.waiting("ruled", limit=100_000):
            self._debouncer.touch(turn.session_id, _now())
        if replayed:
            log.info("worker.recovered", plans=replayed)
        self._wake.set()
        self._wake_batch.set()

    async def _rule(self) -> None:
        """Run the rules over all accepted turns.

        Raises at the end if the turns of some scopes had to be left: StoreBusyError where somebody else holds them,
        RecallError where their index is away.
        """
        busy: set[str] = set()
        away: RecallError | None = None
        while True:
            async with self._work():
                busy |= self._executor.busy
                turns = await self._store.turns.waiting("accepted", limit=_RULED_AT_ONCE, besides=sorted(busy))
                for scope, group in by_scope(turns):
                    try:
                        await self._carefully(self._rules, group)
                    except StoreBusyError:
                        busy.add(scope)
                    except RecallError as error:
                        busy.add(scope)
                        away = error
            if not turns:
                break
            for turn in turns:
                if turn.scope not in busy:
                    self._debouncer.touch(turn.session_id, _now())
            self._wake_batch.set()
        self._caught_up.set()
        if away:
            raise away
        if busy:
            raise StoreBusyError(f"somebody else holds {len(busy)} scopes; their turns wait")

    async def _batch_loop(self) -> None:
        while True:
            due_at = self._debouncer.next_due()
            try:
                async with asyncio.timeout(None if due_at is None else max(0.0, due_at - _now())):
                    await self._wake_batch.wait()
                    self._wake_batch.clear()
            except TimeoutError:
                for session_id in self._debouncer.due(_now()):
                    await self._until_it_works("batch", partial(self._batch_due, session_id))

    async def _batch_due(self, session_id: str) -> None:
        try:
            await self._batch_once(session_id)
        except (StoreBusyError, RecallError) as error:  # its turns are due again; those of others are read meanwhile
            self._runtime.on_error("batch", error)

    async def _batch_once(self, session_id: str) -> None:
        async with self._batch_lock:
            await self._batch_of(session_id)

    async def _batch_of(self, session_id: str) -> None:
        self._debouncer.drop(session_id)
        try:
            async with self._work():  # plans first: their turns are not to be read again
                turns = await self._store.turns.waiting("ruled", session_id=session_id)
            if any(turn.scope in self._executor.busy for turn in turns):  # a plan of it could not be completed
                why = "somebody else holds the scope of a session; its turns wait"
                raise StoreBusyError(why)  # noqa: TRY301 - then the turns are due again, as after any error
            if turns:
                await self._carefully(self._batch, turns)
        except BaseException:  # also a cancelled flush: the turns are due again
            self._debouncer.touch(session_id, _now())
            raise
        finally:
            self._wake_batch.set()

    async def _carefully(self, stage: RulesStage | BatchStage, turns: Sequence[PendingTurn]) -> None:
        """Run a stage. On an error, run it turn by turn, so that one bad turn does not block the others."""
        try:
            await stage.run(turns)
        except TRANSIENT:
            raise
        except Exception as error:  # noqa: BLE001 - a failed batch is retried turn by turn below
            log.error("worker.stage_failed", error=type(error).__name__, place=place_of(error), turns=len(turns))
            self._runtime.on_error(stage.name, error)
            await self._executor.recover()
            session_id = None if stage is self._rules else turns[0].session_id
            waiting = {turn.id for turn in await self._store.turns.waiting(stage.state, session_id=session_id)}
            remaining = [turn for turn in turns if turn.id in waiting]
            if len(turns) > 1:
                for turn in remaining:
                    await self._carefully(stage, [turn])
            elif remaining:
                await self._store.turns.park(remaining[0].id)  # it is retried at the next start
                self._wake.set()

    async def _until_it_works(
        self,
        place: str,
        work: Callable[[], Awaitable[None]],
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Retry until it succeeds. Accepted turns are stored, and this task must survive any failure of the disk."""

        def note(state: RetryCallState) -> None:
            error = state.outcome.exception() if state.outcome else None
            if error is None:
                return
            if state.attempt_number & (state.attempt_number - 1) == 0:  # attempts 1, 2, 4, 8, ...
                log.warning("worker.will_retry", place=place, error=type(error).__name__, attempt=state.attempt_number)
            self._runtime.on_error(place, error)

        waits = wait_random_exponential(multiplier=0.5, max=_LONGEST_RETRY_SECONDS)
        retrying = retry_if_exception_type(Exception)
        await AsyncRetrying(retry=retrying, wait=waits, before_sleep=note, sleep=sleep)(work)

    async def _pause(self, seconds: float) -> None:
        """Sleep, but wake when a turn comes: the store may be back."""
        self._wake.clear()  # what it stands for is claimed by the next try
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()

    async def _adopt_loop(self) -> None:
        while True:
            await self._until_it_works("adopt", self.adopt)
            await asyncio.sleep(_ADOPT_SECONDS)


def _now() -> float:
    return asyncio.get_running_loop().time()
