"""Runs each part of a reply's context with a timeout. Also compares the files, since a disk may hang."""

import asyncio
from collections.abc import Awaitable
from typing import Any, Final, TypeVar

from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.runtime import Runtime

log = get_logger(__name__)

T = TypeVar("T")

_NAMED_WHEN_LATE: Final = frozenset({"rerank"})
"""Parts of other packages: the status names them if they are late, since whoever installed them can mend it."""


class DeadlineRunner:
    """Runs parts with a timeout. A part that times out keeps running in the background, for the next message."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._behind: set[asyncio.Future[Any]] = set()

    async def run(self, part: str, seconds: float, work: Awaitable[T]) -> T | None:
        """Return the result of the work; None where it takes longer than `seconds`, or fails, which is logged."""
        task = asyncio.ensure_future(work)
        with self._runtime.metrics.timed(f"part.{part}"):
            if not task.done():
                await asyncio.wait([task], timeout=seconds)
        if not task.done():
            if task not in self._behind:
                self._behind.add(task)
                task.add_done_callback(self._ended)
            self._runtime.metrics.count(f"late.{part}")
            if part in _NAMED_WHEN_LATE:
                self.note(part, TimeoutError())
            return None
        error = task.exception()
        if error:
            self.note(part, error)
            return None
        return task.result()

    async def completes(self, part: str, seconds: float, work: Awaitable[object]) -> bool:
        """Return whether the work was done within `seconds`."""
        return await self.run(part, seconds, _true(work)) is True

    def note(self, part: str, error: BaseException) -> None:
        """Log a part that failed, and report it in the status."""
        log.warning("context.part_failed", part=part, error=type(error).__name__)
        self._runtime.on_error(part, error)

    def _ended(self, task: asyncio.Future[Any]) -> None:
        self._behind.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self._runtime.on_error("late", error)


async def _true(work: Awaitable[object]) -> bool:
    await work
    return True
