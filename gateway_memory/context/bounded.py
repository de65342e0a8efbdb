"""Parts of a reply's context are awaited for so long; a late one goes on behind."""

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from gateway_memory.observability.logger import get_logger
from gateway_memory.runtime import Runtime

__all__ = ["Within"]

log = get_logger(__name__)

T = TypeVar("T")


class Within:
    """Awaits parts with a bound. One that is late goes on, and warms what the next message needs."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._behind: set[asyncio.Future[Any]] = set()

    async def get(self, place: str, seconds: float, work: Awaitable[T]) -> T | None:
        """Return what the work makes; None where it is late, or fails, which is noted."""
        task = asyncio.ensure_future(work)
        with self._runtime.metrics.timed(f"before_reply.{place}"):
            if not task.done():
                await asyncio.wait([task], timeout=seconds)
        if not task.done():
            if task not in self._behind:
                self._behind.add(task)
                task.add_done_callback(self._ended)
            self._runtime.metrics.count(f"late.{place}")
            return None
        error = task.exception()
        if error:
            self.note(place, error)
            return None
        return task.result()

    async def done(self, place: str, seconds: float, work: Awaitable[object]) -> bool:
        """Return whether the work was done within so long."""
        return await self.get(place, seconds, _true(work)) is True

    def note(self, place: str, error: BaseException) -> None:
        """Log a part that failed, and let the status tell of it."""
        log.warning("context.part_failed", part=place, error=type(error).__name__)
        self._runtime.on_error(place, error)

    def _ended(self, task: asyncio.Future[Any]) -> None:
        self._behind.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self._runtime.on_error("late", error)


async def _true(work: Awaitable[object]) -> bool:
    await work
    return True
