"""Background tasks of an open memory."""

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import Any, Final

from gateway_memory.errors import place_of
from gateway_memory.observability.logger import get_logger

__all__ = ["run_beside"]

log = get_logger(__name__)

_CANCEL_SECONDS: Final = 1.0


def run_beside(stack: AsyncExitStack, work: Coroutine[Any, Any, None], name: str) -> None:
    """Run a coroutine as a task until the stack is closed."""
    running = asyncio.create_task(work, name=f"gateway-memory-{name}")
    stack.push_async_callback(_stop, running, name)


async def _stop(running: asyncio.Task[None], name: str) -> None:
    while not running.done():
        running.cancel()  # again: wait_for and a failing TaskGroup can swallow a cancel
        await asyncio.wait([running], timeout=_CANCEL_SECONDS)
    if not running.cancelled() and (failure := running.exception()):
        log.error("memory.task_died", task=name, error=type(failure).__name__, place=place_of(failure))
