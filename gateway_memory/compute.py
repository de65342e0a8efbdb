"""Work beside the event loop, in threads of our own: the host's default executor stays free for the host."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Final, ParamSpec, TypeVar

__all__ = ["compute", "compute_threads"]

P = ParamSpec("P")
T = TypeVar("T")

_THREADS: Final = 4


class _SharedPool:
    """A pool of threads that all memories of the process share; it lives as long as somebody holds it."""

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
    """Keep the threads of `compute` from one call to the next, while a memory is open."""
    with _POOL.held():
        yield


async def compute(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run work that blocks or computes for milliseconds in a thread, and return what it returns."""
    with _POOL.held() as pool:
        return await asyncio.get_running_loop().run_in_executor(pool, partial(work, *args, **kwargs))
