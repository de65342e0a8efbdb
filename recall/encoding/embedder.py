"""The encoder's own thread: queries first, as one batch; then the background's small batches."""

import asyncio
import threading
import time
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from recall.log import get_logger
from recall.threads.worker import settle, settle_all
from recall.types import EmbeddingError, RecallError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recall.encoding.encoder import Encoder

__all__ = ["Embedder", "Relay", "kind_of"]

_log = get_logger(__name__)

# Queries beyond these wait for the next batch. One batch is thus some 20 ms at most for usual messages.
_QUERIES_AT_ONCE = 16
_CACHED_VECTORS = 2048
# A call that has run for this long hangs: whoever asks meanwhile is told at once, and not after its own deadline.
_HANGING_SECONDS = 1.0
_RETRY_LOADING_SECONDS = 60.0


class Relay(Protocol):
    """Is given the vectors of a job in the encoder's thread, before the event loop is."""

    def __call__(self, vectors: "NDArray[np.float32]", /, *, idle: bool) -> bool:
        """idle: the thread has nothing else to do. True where the job's future is seen to."""
        ...


class _Job(NamedTuple):
    texts: Sequence[str]
    query: bool
    future: "asyncio.Future[NDArray[np.float32]]"
    loop: asyncio.AbstractEventLoop
    then: "Relay | None" = None


class Embedder:
    """Owns one daemon thread, in which the encoder is made (by `load`) and used.

    A daemon, so that an encoder that hangs for ever does not keep the process from ending. Where it cannot be loaded,
    that is tried again every `retry_seconds`.
    """

    def __init__(self, load: "Callable[[], Encoder]", *, retry_seconds: float = _RETRY_LOADING_SECONDS) -> None:
        self._load = load
        self._retry_seconds = retry_seconds
        # The condition's own lock, entered by itself: entering the condition is a call in Python, for each message.
        self._lock = threading.RLock()
        self._condition = threading.Condition(self._lock)
        self._queries: deque[_Job] = deque()
        self._background: deque[_Job] = deque()
        self._closing = False
        self._busy_since: float | None = None
        self._encoder: Encoder | None = None
        self._failure: Exception | None = None
        self._cache: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._loaded: list[tuple[asyncio.Future[Encoder], asyncio.AbstractEventLoop]] = []
        self._thread: threading.Thread | None = None
        self.problem = ""
        """The kind of the last failure, "" since it works."""

    @property
    def started(self) -> bool:
        """Whether the encoder loads, or is there."""
        return self._thread is not None

    def start(self) -> None:
        """Begin to load the encoder, in the thread; once is enough."""
        if self._thread is not None or self._closing:
            return
        self._thread = threading.Thread(target=self._run, name="recall-encoder", daemon=True)
        self._thread.start()

    def stop(self) -> threading.Thread | None:
        """Ask the thread to end after what it does now; what waits is cancelled."""
        with self._lock:
            self._closing = True
            waiting = [(job.future, job.loop) for job in (*self._queries, *self._background)]
            self._queries.clear()
            self._background.clear()
            self._condition.notify()
        for future, loop in waiting:
            settle(loop, future, None, asyncio.CancelledError())
        for loaded, loop in self._loaded:
            settle(loop, loaded, None, asyncio.CancelledError())
        return self._thread

    @property
    def encoder(self) -> "Encoder | None":
        """The encoder, once it is loaded."""
        return self._encoder

    def hangs(self, now: float) -> bool:
        """Whether the encoder has been at one call for so long that waiting for it makes no sense."""
        since = self._busy_since
        return since is not None and now - since > _HANGING_SECONDS

    async def loaded(self) -> "Encoder":
        """Wait until the encoder can be used. Raises what loading raised."""
        self.start()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Encoder] = loop.create_future()
        with self._lock:
            if self._encoder is not None:
                return self._encoder
            if self._failure is not None:
                raise self._failure
            self._loaded.append((future, loop))
        return await future

    def cached(self, text: str) -> "NDArray[np.float32] | None":
        """The vector of a text that was embedded lately."""
        with self._lock:
            vector = self._cache.get(text)
            if vector is not None:
                self._cache.move_to_end(text)
            return vector

    def submit(
        self, texts: Sequence[str], *, query: bool, then: "Relay | None" = None
    ) -> "asyncio.Future[NDArray[np.float32]]":
        """Vectors of clean texts, (len(texts), dimension). A query goes before everything in the background.

        then: is given them first.
        """
        if self._closing:
            raise RecallError("the encoder's thread is not running")
        self.start()
        loop = asyncio.get_running_loop()
        job = _Job(texts, query, loop.create_future(), loop, then)
        with self._lock:
            if self._failure is not None:
                job.future.set_exception(self._failure)
                return job.future
            (self._queries if query else self._background).append(job)
            self._condition.notify()
        return job.future

    def _run(self) -> None:
        while not self._closing:
            if self._encoder is None and not self._make():
                with self._lock:
                    self._condition.wait(timeout=self._retry_seconds)
                continue
            if jobs := self._wait():
                self._encode(jobs)
        encoder, self._encoder = self._encoder, None
        if encoder is not None:
            encoder.close()
        # A closed memory is a circle of objects, which may wait long for the garbage collector: not with 100 MB.
        del encoder
        self._cache.clear()

    def _wait(self) -> list[_Job]:
        """The next batch, waited for; empty when the thread is to end."""
        with self._lock:
            while not (self._queries or self._background or self._closing):
                self._condition.wait()
            return [] if self._closing else self._take()

    def _take(self) -> list[_Job]:
        """The next batch. Queries that nobody waits for any more are still encoded: the next message profits."""
        if not self._queries:
            job = self._background.popleft()
            return [] if job.future.cancelled() else [job]
        return [self._queries.popleft() for _ in range(min(len(self._queries), _QUERIES_AT_ONCE))]

    def _make(self) -> bool:
        started = time.perf_counter()
        try:
            encoder = self._load()
        except Exception as error:  # noqa: BLE001 - without an encoder, words alone work
            self.problem = kind_of(error)
            _log.warning("recall.encoder_failed", stage="load", error=self.problem)
            self._fail(error)
            return False
        with self._lock:
            self._encoder, self._failure, self.problem = encoder, None, ""
            waiting, self._loaded = self._loaded, []
        _log.info("recall.encoder_loaded", encoder=encoder.name, seconds=round(time.perf_counter() - started, 3))
        for future, loop in waiting:
            settle(loop, future, encoder)
        return True

    def _fail(self, error: Exception) -> None:
        with self._lock:
            self._failure = error
            jobs, waiting = [*self._queries, *self._background], self._loaded
            self._queries.clear()
            self._background.clear()
            self._loaded = []
        for job in jobs:
            settle(job.loop, job.future, None, error)
        for future, loop in waiting:
            settle(loop, future, None, error)

    def _encode(self, jobs: list[_Job]) -> None:
        assert self._encoder is not None
        texts = [text for job in jobs for text in job.texts]
        self._busy_since = time.monotonic()
        try:
            vectors = self._encoder.encode(texts)
        except Exception as error:  # noqa: BLE001 - one bad text or a failing server costs these jobs only
            self.problem = kind_of(error)
            _log.warning("recall.encoder_failed", stage="encode", texts=len(texts), error=self.problem)
            for job in jobs:
                settle(job.loop, job.future, None, error)
            return
        finally:
            self._busy_since = None
        self.problem = ""
        with self._lock:
            for text, vector in self._of_queries(jobs, vectors):
                self._cache[text] = vector
                self._cache.move_to_end(text)
            while len(self._cache) > _CACHED_VECTORS:
                self._cache.popitem(last=False)
        answers: defaultdict[
            asyncio.AbstractEventLoop, list[tuple[asyncio.Future[NDArray[np.float32]], NDArray[np.float32], None]]
        ] = defaultdict(list)
        start = 0
        idle = len(jobs) == 1 and not self._queries
        for job in jobs:
            own = vectors[start : start + len(job.texts)]
            start += len(job.texts)
            if job.then is None or not job.then(own, idle=idle):
                answers[job.loop].append((job.future, own, None))
        for loop, given in answers.items():
            settle_all(loop, given)

    @staticmethod
    def _of_queries(jobs: list[_Job], vectors: "NDArray[np.float32]") -> "Iterator[tuple[str, NDArray[np.float32]]]":
        start = 0
        for job in jobs:
            if job.query:
                # A copy, since a row would keep its whole batch in memory.
                yield from ((text, vectors[start + place].copy()) for place, text in enumerate(job.texts))
            start += len(job.texts)


def kind_of(error: BaseException) -> str:
    """What a failure is called in logs and in the status."""
    return error.kind if isinstance(error, EmbeddingError) else type(error).__name__
