"""Search within a deadline: the encoder as long as there is time, then words, and whatever is ready is ranked."""

import asyncio
import sqlite3
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, TypeVar

import structlog

from recall.embedder import Embedder
from recall.filters import Filter
from recall.index_thread import LOCK_RETRY_SECONDS, IndexThread, is_locked
from recall.query import LONGEST_EMBEDDED, PRECEDING_TURNS
from recall.types import Hit, Near, Outcome, Recall, RecallError
from recall.words import clean_text
from recall.worker import SEARCH

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recall.index import Index
    from recall.meaning import Asked

__all__ = ["AnytimeSearch"]

_log = structlog.get_logger()

T = TypeVar("T")

_CACHED_SEARCHES = 256
# "Yesterday" and recency move on; a repeated search has the same answer for so long.
_CACHE_SECONDS = 600
# What words and ranking took lately, times this, is kept back from the encoder's time; it is at least so long.
_RESERVE_FACTOR = 2.0
_LEAST_RESERVE_SECONDS = 0.02
# A search without a deadline waits so long for an index that another process has locked.
_LOCK_PATIENCE_SECONDS = 30.0
# So many texts may wait for an encoder that hangs; beyond them none is handed to it.
_MOST_COMING = 512
_HELD_SECONDS = 1.0


class AnytimeSearch:
    """The search of a Recaller. `embedder` None: words alone."""

    def __init__(self, thread: IndexThread, embedder: Embedder | None, zone: tzinfo) -> None:
        self._thread = thread
        self._embedder = embedder
        self._zone = zone
        self._found: OrderedDict[Any, tuple[int, Recall]] = OrderedDict()
        self._ranking_seconds = 0.0
        self._asked: list[Asked] = []
        self._coming: dict[str, asyncio.Future[NDArray[np.float32]]] = {}

    async def search(
        self,
        scopes: Sequence[str],
        message: str,
        *,
        limit: int,
        min_score: float,
        timeout_seconds: float | None,
        now: float,
        preceding: Sequence[str],
        only: Filter | None = None,
        explain: bool = False,
    ) -> Recall:
        """See `Recaller.search`."""
        started = time.perf_counter()
        deadline = None if timeout_seconds is None else started + timeout_seconds
        key = (tuple(scopes), message, limit, min_score, tuple(preceding), only, explain, int(now // _CACHE_SECONDS))
        stages: dict[str, float] = {}

        self._thread.load(scopes)
        patient = deadline is None
        vector = self.vector_of(message, patient=patient)
        before = [self.vector_of(turn, patient=patient) for turn in reversed(preceding[-PRECEDING_TURNS:])]
        try:
            # One after the other: two threads that compute in Python at once take each other's turns, and both are
            # later than the second would be.
            until = None if deadline is None else self._latest_vector(deadline)
            meaning = await self._meaning(vector, until)
            turns = [] if meaning is None else [await self._meaning(each, until) for each in before]
            context = [turn for turn in turns if turn is not None]
            stages["meaning"] = time.perf_counter() - started

            def rank(index: "Index") -> "Recall | tuple[int, tuple[Hit, ...], bool, float]":
                from recall.search import ranked, search_words

                index.follow()
                version, found = self._found.get(key, (-1, None))
                if found is not None and version == index.version:
                    return found
                begun = time.perf_counter()
                words = search_words(index, scopes, message, preceding, now, self._zone, only)
                took = time.perf_counter() - begun
                waiting = tuple(self._asked)
                hits = ranked(index, words, asked, waiting, limit=limit, min_score=min_score, explain=explain)
                return index.version, hits, asked is not None and index.fits(asked.vector), took

            asked = None if meaning is None else _asked(scopes, meaning, context)
            with self._waiting(asked):
                answer = await self._unlocked(deadline, rank)
            if isinstance(answer, Recall):
                return answer
            version, hits, ranked_by_meaning, stages["words"] = answer
        except TimeoutError:
            _log.warning("recall.late", stages=len(stages), seconds=round(time.perf_counter() - started, 4))
            return self._stale(key, stages)
        except sqlite3.Error as error:
            _log.warning("recall.search_failed", error=type(error).__name__)
            return self._stale(key, stages)
        stages["ranking"] = time.perf_counter() - started - sum(stages.values())
        self._ranking_seconds += 0.3 * (stages["words"] + stages["ranking"] - self._ranking_seconds)
        # A preceding turn without its vector costs a little precision; only the message's own makes an answer partial.
        complete = ranked_by_meaning or self._embedder is None
        outcome: Outcome = ("full" if hits else "empty") if complete else "partial"
        recall = Recall(hits=hits, outcome=outcome, stages=stages)
        if complete:
            self._remember(key, version, recall)
        return recall

    async def _unlocked(self, deadline: float | None, job: "Callable[[Index], T]") -> T:
        """Run a job of a search; again, until the deadline, where another process has the index locked."""
        patience = deadline or time.perf_counter() + _LOCK_PATIENCE_SECONDS
        while True:
            try:
                return await _by(deadline, self._thread.run(job, SEARCH))
            except sqlite3.Error as error:
                left = patience - time.perf_counter()
                if not is_locked(error) or left <= 0:
                    raise
            await asyncio.sleep(min(LOCK_RETRY_SECONDS, left))

    @contextmanager
    def _waiting(self, asked: "Asked | None") -> Iterator[None]:
        """Be one of those that the index's thread may multiply together, until it has answered."""
        if asked is not None:
            self._asked.append(asked)
        try:
            yield
        finally:
            if asked is not None:
                self._asked.remove(asked)

    def _stale(self, key: Any, stages: dict[str, float]) -> Recall:
        """What the same search found before, if it did; nothing newer was ready in time."""
        _, found = self._found.get(key, (0, None))
        if found is None:
            return Recall(outcome="timeout", stages=stages)
        return Recall(hits=found.hits, outcome="partial", stages=stages)

    def _remember(self, key: Any, version: int, recall: Recall) -> None:
        self._found[key] = (version, recall)
        self._found.move_to_end(key)
        while len(self._found) > _CACHED_SEARCHES:
            self._found.popitem(last=False)

    def vector_of(
        self, text: str, *, patient: bool = False
    ) -> "asyncio.Future[NDArray[np.float32]] | NDArray[np.float32] | None":
        """A text's vector, or the promise of it, or None if waiting for it makes no sense.

        It makes none while the encoder still loads, which takes a second, or hangs; unless the caller is `patient`.
        """
        if self._embedder is None:
            return None
        text = clean_text(text, LONGEST_EMBEDDED)
        cached = self._embedder.cached(text)
        if cached is not None:
            return cached
        future = self._coming.get(text)
        late = self._embedder.encoder is None or self._embedder.hangs(time.monotonic())
        if future is None:
            if late and len(self._coming) >= _MOST_COMING:
                return None
            loop = asyncio.get_running_loop()
            # Asked for even where nobody waits: what comes late serves the next message.
            future = self._coming[text] = self._embedder.submit([text], query=True)
            future.add_done_callback(_seen)
            # A little longer, since who began with it asks for it once more, even where it failed.
            future.add_done_callback(lambda _: loop.call_later(_HELD_SECONDS, self._coming.pop, text))
        return None if late and not patient else future

    def _latest_vector(self, deadline: float) -> float:
        """Until when vectors are waited for: the deadline less what words and ranking will take."""
        left = deadline - time.perf_counter()
        return deadline - min(max(_RESERVE_FACTOR * self._ranking_seconds, _LEAST_RESERVE_SECONDS), left / 2)

    async def _meaning(
        self, vector: "asyncio.Future[NDArray[np.float32]] | NDArray[np.float32] | None", deadline: float | None
    ) -> "NDArray[np.float32] | None":
        """The vector if it comes by then."""
        try:
            found = (await _by(deadline, vector, keep=True))[0] if isinstance(vector, asyncio.Future) else vector
        except TimeoutError:
            return None
        except Exception:  # noqa: BLE001 - it was logged where it failed; words alone work
            return None
        return found if found is not None and found.any() else None  # zero: the encoder makes nothing of this text

    async def nearest(self, scope: str, text: str, limit: int, timeout_seconds: float) -> tuple[Near, ...]:
        """See `Recaller.nearest`."""
        by = self._latest_vector(time.perf_counter() + timeout_seconds)
        meaning = await self._meaning(self.vector_of(text), by)

        def job(index: "Index") -> tuple[Near, ...]:
            from recall.nearest import nearest

            index.follow()
            return nearest(index, scope, text, meaning, limit)

        try:
            return await self._thread.run(job)
        except sqlite3.Error as error:
            raise RecallError(f"the index cannot be read: {error}") from error


def _asked(scopes: Sequence[str], vector: "NDArray[np.float32]", preceding: "Sequence[NDArray[np.float32]]") -> "Asked":
    from recall.meaning import Asked

    return Asked(scopes=tuple(scopes), vector=vector, preceding=preceding)


async def _by(deadline: float | None, future: "asyncio.Future[T]", *, keep: bool = False) -> T:
    """Wait until the deadline (perf_counter), then raise TimeoutError. The job is dropped then, unless `keep`."""
    if deadline is None or future.done():
        return await future
    left = max(deadline - time.perf_counter(), 0)
    if keep:
        await asyncio.wait({future}, timeout=left)
        if not future.done():
            raise TimeoutError
        return future.result()
    task = asyncio.current_task()
    cancelled = task.cancelling() if task else 0
    timer = asyncio.get_running_loop().call_later(left, future.cancel)
    try:
        return await future
    except asyncio.CancelledError:
        if task is not None and task.cancelling() > cancelled:
            raise
        raise TimeoutError from None
    finally:
        timer.cancel()


def _seen(future: "asyncio.Future[Any]") -> None:
    """Take note of an exception that nobody waits for any more; it was logged where it arose."""
    if not future.cancelled():
        future.exception()
