"""The one owner task: carries accepted turns through the two stages, and takes over the work of a process that died."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_random_exponential

from extractor import Debouncer
from gateway_memory.capture.executor import Carrier
from gateway_memory.capture.ingest import Ingest
from gateway_memory.errors import StoreError, place_of
from gateway_memory.observability.logger import get_logger
from gateway_memory.store.files import MarkdownFiles
from gateway_memory.store.journal.journal import Journal, PendingTurn
from gateway_memory.store.slots import Slot
from recall import Recaller, RecallError

__all__ = ["Worker"]

log = get_logger(__name__)

_BATCH: Final = 64
"""Turns that one run of the rules takes: one file write and one transaction serve them all."""
_GATHER_SECONDS: Final = 0.05
_GATHERINGS: Final = 6
_ADOPT_SECONDS: Final = 5.0
_LONGEST_RETRY_SECONDS: Final = 30.0

TRANSIENT: Final = (OSError, sqlite3.Error, StoreError, RecallError)
"""A full disk, a lock held for too long: the turn waits, and is tried again."""


class Worker:
    """Runs until it is cancelled. `fail` notes a failure by its place; the turn itself stays in the journal."""

    def __init__(
        self,
        *,
        files: MarkdownFiles,
        journal: Journal,
        ingest: Ingest,
        carrier: Carrier,
        recaller: Recaller,
        slot: Slot,
        debouncer: Debouncer[str],
        fail: Callable[[str, BaseException], None],
    ) -> None:
        self._files = files
        self._journal = journal
        self._ingest = ingest
        self._carrier = carrier
        self._recaller = recaller
        self._slot = slot
        self._debouncer = debouncer
        self._fail = fail
        self._wake = asyncio.Event()
        self._wake_batch = asyncio.Event()
        self._caught_up = asyncio.Event()
        self._working = asyncio.Lock()
        carrier.interrupted = self._wake.set

    def wake(self) -> None:
        """Say that a turn was accepted."""
        self._wake.set()

    async def run(self) -> None:
        """Recover, then work until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._recaller.run(), name="gateway-memory-embed")
            group.create_task(self._adopt_loop(), name="gateway-memory-adopt")
            group.create_task(self._rules_loop(), name="gateway-memory-rules")
            group.create_task(self._batch_loop(), name="gateway-memory-batch")

    async def caught_up(self, session_id: str, seconds: float) -> None:
        """Wait until the rules have read what a session has said, for so long at most."""
        try:
            async with asyncio.timeout(seconds):
                while True:
                    self._caught_up.clear()
                    if not await self._journal.pending(0, session_id=session_id, limit=1):
                        return
                    self._wake.set()
                    await self._caught_up.wait()
        except TimeoutError:
            log.warning("worker.behind")

    async def flush(self) -> None:
        """Process everything that this process has waiting, now.

        Raises:
            StoreError, OSError, sqlite3.Error: it could not be written; it waits on in the journal.
        """
        async with self._work():
            while turns := await self._journal.pending(0, limit=_BATCH):
                await self._carefully(self._ingest.rules, turns)
            while turns := await self._journal.pending(1):
                await self._batch_of(turns[0].session_id)

    @asynccontextmanager
    async def _work(self) -> AsyncIterator[None]:
        """Be the only one who works. What was planned comes first: else its turns would be planned again."""
        async with self._working:
            await self._carrier.recover()
            yield

    async def _rules_loop(self) -> None:
        await self._until_it_works("unpark", self._journal.unpark)
        await self._until_it_works("recover", self._recover)
        while True:
            await self._burst()
            await self._until_it_works("rules", self._rules_once)

    async def _burst(self) -> None:
        """Wait for turns, and for those that follow at once: filing a few at a time would slow down the rest."""
        await self._wake.wait()
        for _ in range(_GATHERINGS):
            self._wake.clear()
            await asyncio.sleep(_GATHER_SECONDS)
            if not self._wake.is_set():
                return

    async def _recover(self) -> None:
        await self._files.sweep()
        async with self._work():
            await self._replay()

    async def _replay(self) -> None:
        """Carry out what was planned and not finished, before its turns are looked at again."""
        replayed = await self._carrier.recover()
        for turn in await self._journal.pending(1, limit=100_000):
            self._debouncer.touch(turn.session_id, _now())
        if replayed:
            log.info("worker.recovered", plans=replayed)
        self._wake.set()
        self._wake_batch.set()

    async def _rules_once(self) -> None:
        while True:
            async with self._work():
                turns = await self._journal.pending(0, limit=_BATCH)
                if not turns:
                    self._caught_up.set()
                    return
                await self._carefully(self._ingest.rules, turns)
            for turn in turns:
                self._debouncer.touch(turn.session_id, _now())
            self._wake_batch.set()

    async def _batch_loop(self) -> None:
        while True:
            due_at = self._debouncer.next_due()
            try:
                async with asyncio.timeout(None if due_at is None else max(0.0, due_at - _now())):
                    await self._wake_batch.wait()
                    self._wake_batch.clear()
            except TimeoutError:
                for session_id in self._debouncer.due(_now()):
                    await self._until_it_works("batch", partial(self._batch_once, session_id))

    async def _batch_once(self, session_id: str) -> None:
        async with self._work():
            await self._batch_of(session_id)

    async def _batch_of(self, session_id: str) -> None:
        self._debouncer.drop(session_id)
        if turns := await self._journal.pending(1, session_id=session_id):
            await self._carefully(self._ingest.batch, turns)

    async def _carefully(
        self, stage: Callable[[Sequence[PendingTurn]], Awaitable[None]], turns: Sequence[PendingTurn]
    ) -> None:
        """Run a stage; where something in it breaks, turn by turn, so that one bad turn holds up no other."""
        try:
            await stage(turns)
        except TRANSIENT:
            raise
        except Exception as error:  # noqa: BLE001 - what breaks is tried turn by turn below
            log.error("worker.stage_failed", error=type(error).__name__, place=place_of(error), turns=len(turns))
            self._fail(stage.__name__, error)
            await self._carrier.recover()
            number = 0 if stage.__name__ == "rules" else 1
            waiting = {
                turn.id
                for turn in await self._journal.pending(number, session_id=turns[0].session_id if number else None)
            }
            left = [turn for turn in turns if turn.id in waiting]
            if len(turns) > 1:
                for turn in left:
                    await self._carefully(stage, [turn])
            elif left:
                await self._journal.park(left[0].id)  # it is tried again at the next start
                self._wake.set()

    async def _until_it_works(self, place: str, work: Callable[[], Awaitable[None]]) -> None:
        """Do it, and again while it fails: what was accepted is in the journal, and this task must outlive any disk."""

        def note(state: RetryCallState) -> None:
            error = state.outcome.exception() if state.outcome else None
            if error:
                log.warning("worker.will_retry", place=place, error=type(error).__name__, attempt=state.attempt_number)
                self._fail(place, error)

        waits = wait_random_exponential(multiplier=0.5, max=_LONGEST_RETRY_SECONDS)
        await AsyncRetrying(retry=retry_if_exception_type(Exception), wait=waits, before_sleep=note)(work)

    async def _adopt_loop(self) -> None:
        while True:
            await self._until_it_works("adopt", self._adopt)
            await asyncio.sleep(_ADOPT_SECONDS)

    async def _adopt(self) -> None:
        for number in await self._journal.slots_with_work():
            lock = self._slot.orphan(number)
            if lock is None:
                continue
            try:
                async with self._work():
                    await self._journal.adopt(number)
                    await self._replay()
            finally:
                lock.release()
            log.info("worker.adopted", slot=number)


def _now() -> float:
    return asyncio.get_running_loop().time()
