"""Background tasks, and a thread pool of our own, so that the host's default executor stays free."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from typing import Any, Final, ParamSpec, TypeVar

from gateway_memory.errors import place_of
from gateway_memory.observability.logger import get_logger

__all__ = ["compute", "compute_threads", "run_beside"]

log = get_logger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

_THREADS: Final = 4
_CANCEL_SECONDS: Final = 1.0


class _SharedPool:
    """A thread pool that all memories of the process share. It exists while somebody holds it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._pool: ThreadPoolExecutor | None = None

    @contextmanager
    def held(self) -> Iterator[ThreadPoolExecutor]:
        with self._lock:
            self._holders += 1
            pool = self._pool = self._pool or ThreadPoolExecutor(_THREADS, thread_name_prefix="gateway-memory-compute")
        try:
            yield pool
        finally:
            with self._lock:
                self._holders -= 1
                if self._holders == 0:
                    self._pool = None
                    pool.shutdown(wait=False, cancel_futures=True)


_POOL: Final = _SharedPool()


@contextmanager
def compute_threads() -> Iterator[None]:
    """Keep the threads of `compute` between calls while a memory is open."""
    with _POOL.held():
        yield


async def compute(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run blocking or CPU-bound work in a thread, and return its result."""
    with _POOL.held() as pool:
        return await asyncio.get_running_loop().run_in_executor(pool, partial(work, *args, **kwargs))


def run_beside(stack: AsyncExitStack, work: Coroutine[Any, Any, None], name: str) -> None:
    """Run a coroutine as a background task until the stack is closed."""
    running = asyncio.create_task(work, name=f"gateway-memory-{name}")
    stack.push_async_callback(_stop, running, name)


async def _stop(running: asyncio.Task[None], name: str) -> None:
    while not running.done():
        running.cancel()  # repeat the cancel: wait_for and a failing TaskGroup can swallow it
        await asyncio.wait([running], timeout=_CANCEL_SECONDS)
    if not running.cancelled() and (failure := running.exception()):
        log.error("memory.task_died", task=name, error=type(failure).__name__, place=place_of(failure))
