"""The threads of recall: jobs by priority for an asyncio caller, on an index whose damaged rows are replaced."""

import asyncio
import heapq
import itertools
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from recall.types import RecallError

T = TypeVar("T")

LOAD, SEARCH, WRITE, BACKGROUND = range(4)
"""Priorities: the lowest number runs first."""

_CLOSE_SECONDS = 1.0


class PriorityThread:
    """One daemon thread: a job that hangs holds up neither the event loop nor the end of the process.

    `concurrent.futures` would be shorter, but joins its threads when the interpreter exits, and knows no priorities.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._condition = threading.Condition()
        self._queue: list[tuple[int, int, Callable[[], Any], asyncio.Future[Any]]] = []
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None
        self._closing = False
        self._last: Callable[[], object] | None = None
        self._ended: asyncio.Future[None] | None = None
        self._running_since: float | None = None

    def start(self) -> None:
        """Start the thread, also after `close`."""
        self._closing, self._last, self._ended = False, None, None
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()

    def submit(self, job: Callable[[], T], priority: int) -> asyncio.Future[T]:
        """Queue a job. Jobs of one priority run in their order.

        Cancelling the future skips a job that has not started; one that runs is not interrupted.

        Raises:
            RecallError: the thread is not running; the future raises it where the thread is closed meanwhile.
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        future.add_done_callback(consume_exception)
        with self._condition:
            if self._thread is None or self._closing:
                raise RecallError(f"{self._name} is not running: use recall between open() and close()")
            heapq.heappush(self._queue, (priority, next(self._numbers), job, future))
            self._condition.notify()
        return future

    def runs_longer_than(self, seconds: float) -> bool:
        """Return whether a job has been running for so long."""
        since = self._running_since
        return since is not None and time.monotonic() - since > seconds

    async def close(self, last: Callable[[], object] | None = None) -> None:
        """Drop what waits, run a last job, and end the thread. One that hangs is left behind after a second."""
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._condition:
            thread, self._closing, self._last, self._ended = self._thread, True, last, ended
            waiting, self._queue = self._queue, []
            self._condition.notify()
        for _, _, _, future in waiting:
            _settle(future, None, RecallError(f"{self._name} was closed"))
        if thread is not None and thread.is_alive():
            await asyncio.wait([ended], timeout=_CLOSE_SECONDS)
            if ended.done():
                thread.join(_CLOSE_SECONDS)  # nothing but its last line is left

    def _run(self) -> None:
        while (entry := self._take()) is not None:
            job, future = entry
            if not future.cancelled():
                self._running_since = time.monotonic()
                try:
                    result, error = job(), None
                except BaseException as raised:  # noqa: BLE001 - whatever a job raises belongs to its caller
                    result, error = None, raised
                self._running_since = None
                _settle(future, result, error)
                # A waiting thread must not keep a finished job's result alive.
                del result, error
            del job, future, entry
        try:
            if self._last is not None:
                self._last()
        finally:
            if self._ended is not None:
                _settle(self._ended, None, None)

    def _take(self) -> tuple[Callable[[], Any], asyncio.Future[Any]] | None:
        """Wait for the next job; None when the thread is to end."""
        with self._condition:
            while not (self._queue or self._closing):
                self._condition.wait()
            if self._closing:
                return None
            _, _, job, future = heapq.heappop(self._queue)
            return job, future


def consume_exception(future: "asyncio.Future[Any]") -> None:
    """Retrieve a future's exception, so that asyncio does not report it where nobody waits any more."""
    if not future.cancelled():
        future.exception()


def _settle(future: asyncio.Future[T], result: T | None, error: BaseException | None) -> None:
    """Give a future its result or its error from another thread."""
    try:
        future.get_loop().call_soon_threadsafe(_set, future, result, error)
    except RuntimeError:
        # The loop was closed while the job ran, so nobody waits any more.
        return


def _set(future: asyncio.Future[Any], result: object, error: BaseException | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)
