"""The worker that runs both stages: the rules at once, the model after the debounce."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final

from gateway_memory.capture.batches import BatchStage
from gateway_memory.capture.executor import PlanExecutor, by_scope
from gateway_memory.capture.ruling import RulesStage
from gateway_memory.errors import StoreBusyError, StoreError, place_of
from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.policies import backoff, is_logged, retry
from gateway_memory.ground.runtime import Runtime
from gateway_memory.store.journal.store import Store
from gateway_memory.store.journal.turns import PendingTurn
from recall import RecallError

log = get_logger(__name__)

_RULED_AT_ONCE: Final = 256
"""The number of turns in one run of the rules. They share one file write and one transaction."""
_GATHER_SECONDS, _GATHERINGS = 0.05, 6
_ADOPT_SECONDS: Final = 10.0
_LONGEST_RETRY_SECONDS: Final = 30.0

TRANSIENT: Final = (OSError, StoreError, RecallError)
"""Errors such as a full disk or a lock timeout. The turn waits and is retried."""


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

        def pause(error: Exception, attempt: int) -> float:
            if is_logged(attempt):
                log.warning("worker.will_retry", place=place, error=type(error).__name__, attempt=attempt)
            self._runtime.on_error(place, error)
            return backoff(attempt, longest=_LONGEST_RETRY_SECONDS)

        await retry(work, pause, sleep=sleep)

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
