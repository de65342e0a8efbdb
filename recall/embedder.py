"""The encoder in its own thread: loading, batches of queries, and a cache of their vectors."""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gateway_memory.ground.logs import get_logger
from recall.threads import BACKGROUND, LOAD, SEARCH, PriorityThread, consume_exception
from recall.types import EmbeddingError, RecallError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recall.encoding.encoder import Encoder

    Floats = NDArray[np.float32]

_log = get_logger(__name__)

# One batch of queries takes some 20 ms at most for usual messages; more queries wait for the next one.
_QUERIES_AT_ONCE = 16
_CACHED_VECTORS = 2048
# So many texts may wait for an encoder that loads or hangs.
_MOST_WAITING = 512
# A call that has run for this long hangs: callers need not wait for their own deadlines.
_HANGING_SECONDS = 1.0
_RETRY_LOADING_SECONDS = 60.0


class _Batch(NamedTuple):
    """Queries that were encoded together: their vectors, or the error of all of them."""

    texts: list[str]
    vectors: "Sequence[Floats] | Floats" = ()
    error: BaseException | None = None


class Embedder:
    """Loads an encoder (by `load`) and calls it, both in one thread. Its methods are called on one event loop.

    Where the encoder cannot be loaded, that is tried again every `retry_seconds`.
    """

    def __init__(self, load: "Callable[[], Encoder]", *, retry_seconds: float = _RETRY_LOADING_SECONDS) -> None:
        self._load = load
        self._retry_seconds = retry_seconds
        self._thread = PriorityThread("recall-encoder")
        self._loading: asyncio.Future[Encoder] | None = None
        self._retry: asyncio.TimerHandle | None = None
        self._closed = False
        self._encoder: Encoder | None = None
        self._waiting: deque[str] = deque()
        self._requested: dict[str, asyncio.Future[Floats]] = {}
        self._cache: OrderedDict[str, Floats] = OrderedDict()
        self.problem = ""
        """The kind of the last failure; "" after a success."""

    @property
    def started(self) -> bool:
        """Whether the encoder is loading, or loaded."""
        return self._loading is not None

    @property
    def encoder(self) -> "Encoder | None":
        """The encoder, once it is loaded."""
        return self._encoder

    @property
    def is_ready(self) -> bool:
        """Whether waiting for a vector makes sense: the encoder is loaded, and does not hang."""
        return self._encoder is not None and not self._thread.runs_longer_than(_HANGING_SECONDS)

    def start(self) -> None:
        """Start to load the encoder; once is enough. Raises RecallError after `close`."""
        if self._closed:
            raise RecallError("the encoder is closed")
        if self._loading is None:
            self._thread.start()
            self._start_loading()

    async def close(self) -> None:
        """Release the encoder and end the thread; what waits raises RecallError."""
        self._closed, self._loading = True, None
        if self._retry is not None:
            self._retry.cancel()
        await self._thread.close(self._release)

    async def loaded(self) -> "Encoder":
        """Wait until the encoder is loaded. Raises what loading raised last."""
        self.start()
        assert self._loading is not None
        return await asyncio.shield(self._loading)

    async def encode(self, texts: Sequence[str]) -> "Floats":
        """Return the vectors of clean texts, (len(texts), dimension); queries go first."""
        self.start()
        return await self._thread.submit(lambda: self._encode(texts), BACKGROUND)

    def cached(self, text: str) -> "Floats | None":
        """Return the vector of a query that was encoded lately."""
        vector = self._cache.get(text)
        if vector is not None:
            self._cache.move_to_end(text)
        return vector

    def request(self, text: str) -> "asyncio.Future[Floats]":
        """Return the future of a query's vector. Callers with the same text share it: do not cancel it.

        A vector that comes late is cached, and serves the next message.
        """
        self.start()
        known = self._requested.get(text)
        if known is not None:
            return known
        future: asyncio.Future[Floats] = asyncio.get_running_loop().create_future()
        future.add_done_callback(consume_exception)
        vector = self.cached(text)
        if vector is not None:
            future.set_result(vector)
        elif len(self._requested) >= _MOST_WAITING:
            future.set_exception(RecallError("too many texts wait for the encoder"))
        else:
            job = self._thread.submit(self._encode_waiting, SEARCH)
            self._waiting.append(text)
            self._requested[text] = future
            job.add_done_callback(self._deliver)
        return future

    def _deliver(self, job: "asyncio.Future[_Batch]") -> None:
        """Hand the vectors of a batch to those who asked for them."""
        closed = job.exception()
        batch = _Batch([*self._requested], error=closed) if closed else job.result()
        for place, text in enumerate(batch.texts):
            future = self._requested.pop(text)
            if batch.error is not None:
                future.set_exception(batch.error)
                continue
            # A copy, since a row would keep its whole batch in memory.
            vector = self._cache[text] = batch.vectors[place].copy()
            if len(self._cache) > _CACHED_VECTORS:
                self._cache.popitem(last=False)
            future.set_result(vector)

    # In the thread

    def _encode_waiting(self) -> "_Batch":
        """Encode the queries that wait, as one batch; an empty one where the job before has taken them."""
        texts = [self._waiting.popleft() for _ in range(min(len(self._waiting), _QUERIES_AT_ONCE))]
        try:
            return _Batch(texts, vectors=self._encode(texts) if texts else ())
        except Exception as error:  # noqa: BLE001 - it belongs to those who asked for these texts
            return _Batch(texts, error=error)

    def _encode(self, texts: Sequence[str]) -> "Floats":
        if self._encoder is None:
            raise RecallError("the encoder is not loaded")
        try:
            vectors = self._encoder.encode(texts)
        except Exception as error:
            self._failed("encode", error)
            raise
        self.problem = ""
        return vectors

    def _start_loading(self) -> None:
        self._loading = self._thread.submit(self._make, LOAD)
        self._loading.add_done_callback(self._loading_ended)

    def _loading_ended(self, loading: "asyncio.Future[Encoder]") -> None:
        if not loading.cancelled() and loading.exception() is not None:
            self._retry = asyncio.get_running_loop().call_later(self._retry_seconds, self._start_loading)

    def _make(self) -> "Encoder":
        started = time.perf_counter()
        try:
            encoder = self._load()
        except Exception as error:
            self._failed("load", error)
            raise
        self._encoder, self.problem = encoder, ""
        _log.info("recall.encoder_loaded", encoder=encoder.name, seconds=round(time.perf_counter() - started, 3))
        return encoder

    def _failed(self, stage: str, error: Exception) -> None:
        self.problem = kind_of(error)
        _log.warning("recall.encoder_failed", stage=stage, error=self.problem)

    def _release(self) -> None:
        encoder, self._encoder = self._encoder, None
        if encoder is not None:
            encoder.close()


def kind_of(error: BaseException) -> str:
    """Return what a failure is called in logs and in the status."""
    return error.kind if isinstance(error, EmbeddingError) else type(error).__name__
