"""The index in its own thread: damaged rows are replaced, locked ones tried again."""

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.policies import retry
from recall.rows.sql import Rows
from recall.types import RecallError, RowsBusyError, RowsDamagedError

if TYPE_CHECKING:
    from recall.index.index import Index
from recall.threads import WRITE, PriorityThread

_log = get_logger(__name__)

T = TypeVar("T")


# What a job raises where rows hold unexpected values.
_DAMAGED = (RowsDamagedError, ValueError, TypeError, LookupError, OverflowError, MemoryError)
# A job that finds another process writing tries again after so long, so that searches go between.
_LOCK_RETRY_SECONDS = 0.05
_LOCK_TIMEOUT_SECONDS = 30.0
_OPEN_TIMEOUT_SECONDS = 5.0


class IndexThread:
    """Runs jobs on an index, one at a time. numpy is imported in its thread, never on the event loop."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._thread = PriorityThread("recall-index")
        self.index: Index | None = None
        """While it is open."""

    async def open(self) -> bool:
        """Start the thread and open the index; return True if it was made anew.

        Raises:
            RecallError: it cannot be opened, or another process has it locked for some seconds.
        """

        def job() -> "tuple[Index, bool]":
            from recall.index.index import Index

            index = Index(self._rows)
            return index, index.open()

        self._thread.start()
        try:
            self.index, made = await self._retry(job, WRITE, _OPEN_TIMEOUT_SECONDS)
        except RecallError:
            await self._thread.close()
            raise
        return made

    async def close(self) -> None:
        """Close the index and end the thread; what waits raises RecallError."""
        index, self.index = self.index, None
        if index is not None:
            await self._thread.close(index.close)

    def opened(self) -> "Index":
        """Return the index. Raises RecallError where it is not open."""
        if self.index is None:
            raise RecallError("recall is not open")
        return self.index

    async def run(
        self, job: "Callable[[Index], T]", priority: int = WRITE, *, timeout_seconds: float | None = None
    ) -> T:
        """Run a job in the thread. Damaged rows are replaced by none, and the job done again.

        While another process has the rows locked, the job is tried again; others go between.

        Raises:
            RecallError: the index is not open, cannot be read or written, or was locked for so long (by default 30 s).
        """
        seconds = _LOCK_TIMEOUT_SECONDS if timeout_seconds is None else timeout_seconds
        return await self._retry(partial(_guarded, job, self.opened()), priority, seconds)

    async def _retry(self, job: Callable[[], T], priority: int, seconds: float) -> T:
        """Run a job in the thread, again and again while another process has the rows locked."""
        until = time.monotonic() + seconds

        def pause(error: Exception, _: int) -> float | None:
            return _LOCK_RETRY_SECONDS if isinstance(error, RowsBusyError) and time.monotonic() < until else None

        return await retry(lambda: self._thread.submit(job, priority), pause)


def _guarded(job: "Callable[[Index], T]", index: "Index") -> T:
    with suppress(*_DAMAGED):
        return job(index)
    try:  # again, since another process may just have changed the encoder of the vectors
        index.follow()
        return job(index)
    except _DAMAGED as error:
        _log.error("recall.index_damaged", error=type(error).__name__)
    index.replace()
    return job(index)
