"""Search within a deadline: the encoder as long as there is time, then words, and whatever is ready is ranked."""

import asyncio
import sqlite3
import time
from collections import OrderedDict, deque
from collections.abc import Hashable, Sequence
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, TypeVar

from recall.encoding.embedder import Embedder, Relay
from recall.index.filters import Filter
from recall.index.thread import LOCK_RETRY_SECONDS, IndexThread, is_locked
from recall.log import get_logger
from recall.search.begun import Begun, Ranked, come
from recall.search.query import PRECEDING_TURNS
from recall.text.entry_text import LONGEST_EMBEDDED
from recall.text.words import clean_text
from recall.types import Hit, Near, Outcome, Recall, RecallError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recall.index.index import Index
    from recall.search.query_vector import QueryVector

__all__ = ["AnytimeSearch"]

_log = get_logger(__name__)

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
        self._found: OrderedDict[Hashable, tuple[int, Recall]] = OrderedDict()
        self._ranking_seconds = 0.0
        self._coming: dict[str, asyncio.Future[NDArray[np.float32]]] = {}
        self._arrived: deque[tuple[float, str]] = deque()
        self._letting_go: asyncio.TimerHandle | None = None

    def search(
        self,
        scope: str,
        message: str,
        *,
        limit: int,
        min_score: float,
        timeout_seconds: float | None,
        now: float,
        preceding: Sequence[str],
        only: Filter | None = None,
        explain: bool = False,
    ) -> Begun:
        """See `Recaller.search`."""
        deadline = None if timeout_seconds is None else time.perf_counter() + timeout_seconds
        key = (scope, message, limit, min_score, tuple(preceding), only, explain, int(now // _CACHE_SECONDS))

        def rank(index: "Index", asked: "QueryVector | None") -> Ranked | Recall:
            from recall.search.search import best_hits, lexical_scores

            index.follow()
            version, found = self._found.get(key, (-1, None))
            if found is not None and version == index.version:
                return found
            begun = time.perf_counter()
            lexical = lexical_scores(index, scope, message, preceding, now, self._zone, only)
            seconds = time.perf_counter() - begun
            hits: tuple[Hit, ...] = ()
            if lexical is not None:
                hits = best_hits(index, lexical, asked, limit=limit, min_score=min_score, explain=explain)
            return Ranked(index.version, hits, asked is not None and index.fits(asked.vector), seconds)

        self._thread.load(scope)
        patient = deadline is None
        begun = Begun(
            self._thread,
            rank,
            self._answer,
            key=key,
            deadline=deadline,
            latest=None if deadline is None else self._latest_vector(deadline),
        )
        # The message last: what is done after it competes with the encoder's thread for Python's lock, and until
        # `wait_for` its vector could not be relayed.
        before = [self._vector_of(turn, patient=patient) for turn in reversed(preceding[-PRECEDING_TURNS:])]
        begun.wait_for(self._vector_of(message, patient=patient, then=begun.relay), before)
        return begun

    async def _answer(self, begun: Begun) -> Recall:
        try:
            answer = await self._unlocked(begun)
        except TimeoutError:
            _log.warning("recall.late", seconds=round(time.perf_counter() - begun.started, 4))
            return self._stale(begun.key)
        except sqlite3.Error as error:
            _log.warning("recall.search_failed", error=type(error).__name__)
            return self._stale(begun.key)
        if isinstance(answer, Recall):
            return answer
        ended = time.perf_counter()
        self._ranking_seconds += 0.3 * (ended - begun.went - self._ranking_seconds)
        # A preceding turn without its vector costs a little precision; only the message's own makes an answer partial.
        complete = answer.by_meaning or self._embedder is None
        outcome: Outcome = ("full" if answer.hits else "empty") if complete else "partial"
        stages = {
            "meaning": begun.went - begun.started,
            "words": answer.words_seconds,
            "ranking": ended - begun.went - answer.words_seconds,
        }
        recall = Recall(hits=answer.hits, outcome=outcome, stages=stages)
        if complete:
            self._remember(begun.key, answer.version, recall)
        return recall

    async def _unlocked(self, begun: Begun) -> Ranked | Recall:
        """The answer of a ranking; of another one, until the deadline, where another process has the index locked."""
        patience = begun.deadline or time.perf_counter() + _LOCK_PATIENCE_SECONDS
        while True:
            try:
                return await _by(begun.deadline, begun.ranked)
            except sqlite3.Error as error:
                left = patience - time.perf_counter()
                if not is_locked(error) or left <= 0:
                    raise
            await asyncio.sleep(min(LOCK_RETRY_SECONDS, left))
            begun.again()

    def _stale(self, key: Hashable) -> Recall:
        """What the same search found before, if it did; nothing newer was ready in time."""
        _, found = self._found.get(key, (0, None))
        return Recall(outcome="timeout") if found is None else Recall(hits=found.hits, outcome="partial")

    def _remember(self, key: Hashable, version: int, recall: Recall) -> None:
        self._found[key] = (version, recall)
        self._found.move_to_end(key)
        while len(self._found) > _CACHED_SEARCHES:
            self._found.popitem(last=False)

    def _vector_of(
        self, text: str, *, patient: bool = False, then: Relay | None = None
    ) -> "asyncio.Future[NDArray[np.float32]] | NDArray[np.float32] | None":
        """A text's vector, or the promise of it, or None if waiting for it makes no sense.

        It makes none while the encoder still loads, which takes a second, or hangs; unless the caller is `patient`.
        then: see `Embedder.submit`; where the text was asked for before, it is not called.
        """
        if self._embedder is None:
            return None
        text = clean_text(text, LONGEST_EMBEDDED)
        cached = self._embedder.cached(text)
        if cached is not None:
            return cached
        future = self._coming.get(text)
        late = not patient and (self._embedder.encoder is None or self._embedder.hangs(time.monotonic()))
        if future is None:
            if late and len(self._coming) >= _MOST_COMING:
                return None
            # Asked for even where nobody waits: what comes late serves the next message.
            future = self._embedder.submit([text], query=True, then=None if late else then)
            self._coming[text] = future
            future.add_done_callback(_seen)
            future.add_done_callback(lambda _: self._hold(text))
        return None if late else future

    def _hold(self, text: str) -> None:
        """Hold a vector that came, or failed, for a while: whoever began with it asks for it once more."""
        loop = asyncio.get_running_loop()
        self._arrived.append((loop.time(), text))
        if self._letting_go is None:  # one timer for all of them: each would wake the loop in another's search
            self._letting_go = loop.call_later(_HELD_SECONDS, self._let_go)

    def _let_go(self) -> None:
        loop = asyncio.get_running_loop()
        while self._arrived and self._arrived[0][0] + _HELD_SECONDS <= loop.time():
            del self._coming[self._arrived.popleft()[1]]
        due = self._arrived[0][0] + _HELD_SECONDS if self._arrived else None
        self._letting_go = None if due is None else loop.call_at(due, self._let_go)

    def _latest_vector(self, deadline: float) -> float:
        """Until when vectors are waited for: the deadline less what words and ranking will take."""
        left = deadline - time.perf_counter()
        return deadline - min(max(_RESERVE_FACTOR * self._ranking_seconds, _LEAST_RESERVE_SECONDS), left / 2)

    async def nearest(self, scope: str, text: str, limit: int, timeout_seconds: float) -> tuple[Near, ...]:
        """See `Recaller.nearest`."""
        by = self._latest_vector(time.perf_counter() + timeout_seconds)
        vector = self._vector_of(text)
        if isinstance(vector, asyncio.Future):
            await asyncio.wait({vector}, timeout=max(by - time.perf_counter(), 0))
        meaning = come(vector)

        def job(index: "Index") -> tuple[Near, ...]:
            from recall.search.nearest import nearest

            index.follow()
            return nearest(index, scope, text, meaning, limit)

        try:
            return await self._thread.run(job)
        except sqlite3.Error as error:
            raise RecallError(f"the index cannot be read: {error}") from error


async def _by(deadline: float | None, future: "asyncio.Future[T]") -> T:
    """Wait until the deadline (perf_counter), then drop the job and raise TimeoutError; also where it was dropped."""
    left = None if deadline is None else max(deadline - time.perf_counter(), 0)
    task = asyncio.current_task()
    cancelled = task.cancelling() if task else 0
    timer = None if left is None else asyncio.get_running_loop().call_later(left, future.cancel)
    try:
        return await future
    except asyncio.CancelledError:
        if task is not None and task.cancelling() > cancelled:
            raise
        raise TimeoutError from None
    finally:
        if timer is not None:
            timer.cancel()


def _seen(future: "asyncio.Future[Any]") -> None:
    """Take note of an exception that nobody waits for any more; it was logged where it arose."""
    if not future.cancelled():
        future.exception()
