"""Background tasks, and a thread pool of our own, so that the host's default executor stays free."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor, Future
from contextlib import AsyncExitStack, contextmanager, suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final, ParamSpec, TypeVar

from gateway_memory.errors import place_of
from gateway_memory.ground.logs import get_logger

log = get_logger(__name__)


P = ParamSpec("P")
T = TypeVar("T")

_THREADS: Final = 4
_CANCEL_SECONDS: Final = 1.0


class Threads(Executor):
    """Daemon threads that run jobs in order.

    `ThreadPoolExecutor` takes no job after the main thread has ended. A memory that `gateway_memory.blocking` closes
    at that moment still has to write.
    """

    def __init__(self, count: int, name: str) -> None:
        self._jobs: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._threads = [
            threading.Thread(target=self._run, name=f"{name}-{number}", daemon=True) for number in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue a job.

        Raises:
            RuntimeError: the threads are shut down.
        """
        future: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("these threads are shut down")
            self._jobs.put((future, partial(fn, *args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - Executor's
        """Take no more jobs. wait: until all have run. cancel_futures: drop those that have not begun."""
        with self._lock:
            self._closed = True
        with suppress(Empty):
            while cancel_futures:
                if job := self._jobs.get_nowait():
                    job[0].cancel()
        for _ in self._threads:
            self._jobs.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def _run(self) -> None:
        while job := self._jobs.get():
            future, work = job
            if future.set_running_or_notify_cancel():
                try:
                    result = work()
                except BaseException as error:  # noqa: BLE001 - whoever waits gets it
                    future.set_exception(error)
                else:
                    future.set_result(result)
                    del result
            del job, future, work  # a thread that waits keeps nothing alive


class _SharedPool:
    """A thread pool that all memories of the process share. It exists while somebody holds it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._pool: Threads | None = None

    @contextmanager
    def held(self) -> Iterator[Threads]:
        with self._lock:
            self._holders += 1
            pool = self._pool = self._pool or Threads(_THREADS, "gateway-memory-compute")
        try:
            yield pool
        finally:
            with self._lock:
                self._holders -= 1
                if self._holders == 0:
                    self._pool = None
                    pool.shutdown(wait=False, cancel_futures=True)


_POOL: Final = _SharedPool()


compute_threads: Final = _POOL.held
"""Keeps the threads of `compute` between calls while a memory is open."""


async def compute(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run blocking or CPU-bound work in a thread, and return its result."""
    with _POOL.held() as pool:
        return await asyncio.get_running_loop().run_in_executor(pool, partial(work, *args, **kwargs))


def run_in_background(stack: AsyncExitStack, work: Coroutine[Any, Any, object], name: str) -> None:
    """Run a coroutine as a background task until the stack is closed."""
    _ = begin_in_background(stack, work, name)


def begin_in_background(stack: AsyncExitStack, work: Coroutine[Any, Any, object], name: str) -> asyncio.Task[object]:
    """Run a coroutine likewise, and return the task."""
    running = asyncio.create_task(work, name=f"gateway-memory-{name}")
    stack.push_async_callback(_stop, running, name)
    return running


async def _stop(running: asyncio.Task[object], name: str) -> None:
    while not running.done():
        running.cancel()  # repeat the cancel: wait_for and a failing TaskGroup can swallow it
        await asyncio.wait([running], timeout=_CANCEL_SECONDS)
    if not running.cancelled() and (failure := running.exception()):
        log.error("memory.task_died", task=name, error=type(failure).__name__, place=place_of(failure))
