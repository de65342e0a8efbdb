"""What every part of an open memory runs with: clock, zone, settings, metrics, background tasks and threads."""

import asyncio
import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime, tzinfo
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from gateway_memory.config.settings import MemorySync
from gateway_memory.errors import place_of
from gateway_memory.ground import date_of, day_of, get_logger

if TYPE_CHECKING:
    from recall import TextEncoder

log = get_logger(__name__)

# Background tasks, and a thread pool of our own, so that the host's default executor stays free.

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


# Counts, gauges, latencies and liveness of one process, for the host. `/memory status` is of the workspace: `health`.
#
# `gateway_memory.observability.prometheus` exports them to Prometheus. Names are dotted; times are seconds.

BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of a histogram's buckets, in seconds. One more bucket holds the rest."""
STALLED_SECONDS: Final = 60.0
SILENT_MESSAGES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A kind of failure: where, and the class of the error. at: the last time, in epoch seconds. count: how often."""

    place: str
    error: str
    at: float
    count: int = 1


@dataclass(slots=True)
class Histogram:
    """Latencies by bucket (not cumulative), their sum in seconds, and their count."""

    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    sum: float = 0.0
    count: int = 0

    def add(self, seconds: float) -> None:
        """Add one latency, in seconds."""
        self.buckets[bisect_left(BUCKETS, seconds)] += 1
        self.sum += seconds
        self.count += 1


class Metrics:
    """Counters and latencies by dotted name, and the failures that the journal does not know yet.

    Capture is alive while replies become turns, and turns are processed. `capture_alarm` reports when they do not.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.latencies: dict[str, Histogram] = {}
        self.sources: list[Callable[[], Mapping[str, float]]] = []
        """Functions that return current gauges by dotted name."""
        self._failures: dict[tuple[str, str], Failure] = {}
        self.last_seen: datetime | None = None
        """When the host last passed a turn."""
        self.last_processed: datetime | None = None
        """When a turn was last processed."""
        self._seen = self._processed = 0
        self._waiting_since: datetime | None = None
        self._messages = 0
        self._silent_since: datetime | None = None

    def count(self, name: str, number: int = 1) -> None:
        """Increase a counter."""
        self.counts[name] += number

    def fail(self, now: datetime, place: str, error: BaseException) -> None:
        """Count a failure by its place, and keep its class for the journal."""
        self.counts[f"failures.{place}"] += 1
        self.put_back([Failure(place=place, error=type(error).__name__, at=now.timestamp())])

    def take_failures(self) -> list[Failure]:
        """Return the failures that were not taken yet, by kind."""
        failures, self._failures = list(self._failures.values()), {}
        return failures

    def put_back(self, failures: Sequence[Failure]) -> None:
        """Keep failures until they are taken again."""
        for each in failures:
            kind = each.place, each.error
            known = self._failures.get(kind, replace(each, count=0))
            self._failures[kind] = replace(each, at=max(each.at, known.at), count=each.count + known.count)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Add the block's duration to a histogram, even if it raises."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.add(name, time.perf_counter() - started)

    def add(self, name: str, seconds: float) -> None:
        """Add a latency to a histogram, in seconds."""
        self.latencies.setdefault(name, Histogram()).add(seconds)

    def gauges(self, now: datetime) -> dict[str, float]:
        """Return the current gauges by dotted name."""
        gauges: dict[str, float] = {}
        for source in self.sources:
            gauges |= source()
        gauges["capture.alarm"] = float(self.capture_alarm(now) is not None)
        gauges["capture.lag_seconds"] = self._lag(now)
        for name, at in (("seen", self.last_seen), ("processed", self.last_processed)):
            if at is not None:
                gauges[f"capture.last_{name}_timestamp"] = at.timestamp()
        return gauges

    # Liveness of capture

    def message_seen(self, now: datetime) -> None:
        """Record that a reply is being prepared. A turn should follow."""
        if not self._messages:
            self._silent_since = now
        self._messages += 1

    def reply_seen(self, now: datetime, turn: int) -> None:
        """Record that the host passed a turn. turn: its number, 0 if it is not stored."""
        self.last_seen, self._messages = now, 0
        if turn:
            if self._processed >= self._seen:
                self._waiting_since = now
            self._seen = max(self._seen, turn)

    def turns_processed(self, now: datetime, upto: int) -> None:
        """Record that the turns up to a number have passed the first stage."""
        self.last_processed = now
        self._processed = max(self._processed, upto)
        self._waiting_since = None if self._processed >= self._seen else now

    def _lag(self, now: datetime) -> float:
        return max(0.0, (now - self._waiting_since).total_seconds()) if self._waiting_since else 0.0

    def capture_alarm(self, now: datetime) -> str | None:
        """Return why capture is not alive, or None if it is.

        "stalled": turns wait, and none has been processed for a minute. "silent": 20 replies or more were prepared
        within more than a minute, and the host passed no turn.
        """
        if self._lag(now) > STALLED_SECONDS:
            return "stalled"
        # With many sessions at once, the first replies take a model some time, so the count alone raises no alarm.
        silent = (now - self._silent_since).total_seconds() if self._silent_since else 0.0
        return "silent" if self._messages >= SILENT_MESSAGES and silent > STALLED_SECONDS else None


# What the parts of one memory share.


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """The values that the parts of one memory share.

    clock: returns the current time (aware).
    zone: the zone in which days are counted; None is the machine's.
    settings_of: returns the settings of a session key; "" is the memory's own agent.
    encoder: makes the host's own encoder, in a thread; None for the one that the settings name.
    """

    clock: Callable[[], datetime]
    zone: tzinfo | None
    metrics: Metrics
    settings_of: Callable[[str], MemorySync]
    encoder: "Callable[[], TextEncoder] | None" = None

    @property
    def settings(self) -> MemorySync:
        """The settings of the memory's own agent."""
        return self.settings_of("")

    def timestamp(self) -> float:
        """Return the current time in epoch seconds."""
        return self.clock().timestamp()

    def day_of(self, at: float) -> str:
        """Return the day of a time (epoch seconds) as YYYY-MM-DD."""
        return day_of(at, self.zone)

    def date_of(self, at: float) -> date:
        """Return the day of a time (epoch seconds)."""
        return date_of(at, self.zone)

    def today(self) -> str:
        """Return the current day as YYYY-MM-DD."""
        return self.day_of(self.timestamp())

    def on_error(self, place: str, error: BaseException) -> None:
        """Count a failure, for `/memory status` of every process."""
        self.metrics.fail(self.clock(), place, error)
