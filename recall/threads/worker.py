"""A dedicated thread that runs jobs in order of their priority, for an asyncio caller."""

import asyncio
import heapq
import itertools
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from recall.types import RecallError

__all__ = ["BACKGROUND", "SEARCH", "WRITE", "Worker", "settle", "settle_all"]

SEARCH, WRITE, BACKGROUND = 0, 1, 2
# Whoever waited for an answer goes on for a tenth of a millisecond and more: of many answers, a few a turn of the loop.
_TOLD_A_TURN = 4

T = TypeVar("T")


class Worker:
    """One daemon thread: a job that hangs for ever holds up neither the event loop nor the end of the process.

    `concurrent.futures` would be shorter, but joins its threads when the interpreter exits, and knows no priorities.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        # The condition's own lock, entered by itself: entering the condition is a call in Python, for each message.
        self._lock = threading.RLock()
        self._condition = threading.Condition(self._lock)
        self._queue: list[tuple[int, int, Callable[[], Any], asyncio.Future[Any]]] = []
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None
        self._closing = False
        self._running = False

    @property
    def busy(self) -> bool:
        """Whether a job runs or waits."""
        return self._running or bool(self._queue)

    def start(self) -> None:
        self._closing = False
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()

    def submit(self, job: Callable[[], T], *, priority: int = WRITE) -> asyncio.Future[T]:
        """Queue a job. Cancelling the future skips a job that has not begun; one that runs, runs on."""
        if self._thread is None or self._closing:
            raise RecallError(f"{self._name} is not running: use recall between open() and close()")
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.give(job, future, priority)
        return future

    def give(self, job: Callable[[], T], future: asyncio.Future[T], priority: int, *, here: bool = False) -> None:
        """`submit` from any thread, with the future that gets the answer; cancelled if the thread has ended.

        here: where nothing runs or waits, do it in the calling thread: waking another one takes .2 ms.
        """
        with self._lock:
            closing = self._closing
            here = here and not (closing or self._running or self._queue)
            if here:
                self._running = True
            elif not closing:
                heapq.heappush(self._queue, (priority, next(self._numbers), job, future))
                self._condition.notify()
        if closing:
            settle(future.get_loop(), future, None, asyncio.CancelledError())
        elif here:
            result, error = _done(job, future)
            with self._lock:
                self._running = False
                if self._queue or self._closing:
                    self._condition.notify()
            # Last: whoever is woken wants Python's lock at once.
            _give_back(future, result, error)

    def stop(self) -> threading.Thread | None:
        """Ask the thread to end after the job that runs. What waits is cancelled."""
        with self._lock:
            self._closing = True
            waiting, self._queue = self._queue, []
            self._condition.notify()
        for _, _, _, future in waiting:
            settle(future.get_loop(), future, None, asyncio.CancelledError())
        return self._thread

    def _run(self) -> None:
        while True:
            with self._lock:
                while self._running or not (self._queue or self._closing):
                    self._condition.wait()
                if self._closing:
                    return
                _, _, job, future = heapq.heappop(self._queue)
                self._running = True
            result, error = _done(job, future)
            self._running = False
            _give_back(future, result, error)
            # Nothing of a finished job may stay alive while the thread waits for the next one.
            del job, future, result, error


def _done(job: Callable[[], T], future: asyncio.Future[Any]) -> tuple[T | None, BaseException | None]:
    """What a job makes, and what it raises; nothing of one for which nobody waits any more."""
    if future.cancelled():
        return None, None
    try:
        return job(), None
    except BaseException as error:  # noqa: BLE001 - whatever a job raises belongs to whoever waits for it
        return None, error


def _give_back(future: asyncio.Future[T], result: T | None, error: BaseException | None) -> None:
    if not future.cancelled():  # else its loop would be woken for nothing
        settle(future.get_loop(), future, result, error)


def settle(
    loop: asyncio.AbstractEventLoop, future: asyncio.Future[T], result: T | None, error: BaseException | None = None
) -> None:
    """Give a future its result or its error from another thread; a CancelledError cancels it. A done one is left."""
    settle_all(loop, [(future, result, error)])


def settle_all(
    loop: asyncio.AbstractEventLoop, answers: Sequence[tuple[asyncio.Future[T], T | None, BaseException | None]]
) -> None:
    """`settle` for several futures of one loop, which is woken once: each waking gives Python's lock away.

    They are told in their order, a few in each turn of the loop.
    """
    try:
        loop.call_soon_threadsafe(_tell, loop, deque(answers))
    except RuntimeError:
        # The loop was closed while the job ran; nobody waits any more.
        return


def _tell(
    loop: asyncio.AbstractEventLoop, answers: deque[tuple[asyncio.Future[Any], Any, BaseException | None]]
) -> None:
    for _ in range(min(_TOLD_A_TURN, len(answers))):
        future, result, error = answers.popleft()
        if future.done():
            continue
        if isinstance(error, asyncio.CancelledError):
            future.cancel()
        elif error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)
    if answers:
        loop.call_soon(_tell, loop, answers)
