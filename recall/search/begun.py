"""A search under way: its vector and its ranking are made one after the other, without the event loop between them."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Generator, Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from recall.index.thread import IndexThread
from recall.threads.worker import SEARCH
from recall.types import Hit, Recall

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recall.index.index import Index
    from recall.search.query_vector import QueryVector

    Vector = NDArray[np.float32]
    Awaited = asyncio.Future[Vector] | Vector | None

__all__ = ["Begun", "Ranked", "come"]


class Ranked(NamedTuple):
    """What ranking says of a search. by_meaning: with the message's vector."""

    version: int
    hits: tuple[Hit, ...]
    by_meaning: bool
    words_seconds: float


class Begun:
    """A search under way; awaited, it is its answer. `ranked` is the ranking, which waits for its vectors.

    rank: does it, where the index is; what it returns instead of `Ranked` was found before. answer: waits for it.
    deadline: by perf_counter, like started and went; latest: until then it waits for vectors. key: what the search may
    be cached under. asked: what is ranked by, once the message's vector has come.
    """

    def __init__(
        self,
        thread: IndexThread,
        rank: "Callable[[Index, QueryVector | None], Ranked | Recall]",
        answer: "Callable[[Begun], Awaitable[Recall]]",
        *,
        key: Hashable,
        deadline: float | None,
        latest: float | None,
    ) -> None:
        self.started = self.went = time.perf_counter()
        self.key, self.deadline = key, deadline
        self.asked: QueryVector | None = None
        self._vector: Awaited = None
        self._before: Sequence[Awaited] = ()
        self._coming: list[asyncio.Future[Vector]] | None = None
        self._relayed: Vector | None = None
        self._gone = False
        self._lock = threading.Lock()
        self._thread, self._rank, self._answer = thread, rank, answer
        loop = asyncio.get_running_loop()
        self.ranked: asyncio.Future[Ranked | Recall] = loop.create_future()
        self.ranked.add_done_callback(self._end)
        self._timer = None if latest is None else loop.call_later(max(latest - self.started, 0), self.go)

    def __await__(self) -> Generator[Any, None, Recall]:
        return self._answer(self).__await__()

    def again(self) -> None:
        """Rank once more."""
        self.ranked = asyncio.get_running_loop().create_future()
        self._rank_now()

    def _rank_now(self, *, here: bool = False) -> None:
        self._thread.give(lambda index: self._rank(index, self.asked), self.ranked, SEARCH, here=here)

    def wait_for(self, vector: "Awaited", before: "Sequence[Awaited]") -> None:
        """Rank when they have come or failed: the message's vector, those of the turns before it, the last first."""
        coming = [each for each in (vector, *before) if isinstance(each, asyncio.Future)]
        self._vector, self._before, self._coming = vector, before, coming
        for future in coming:
            future.add_done_callback(lambda _: self.go() if all(each.done() for each in coming) else None)
        if not coming:
            self.go()

    def go(self) -> None:
        """Rank by what has come; unless it does already."""
        self._go(come(self._vector))

    def relay(self, vectors: "Vector", /, *, idle: bool) -> bool:
        """Rank by the message's vector, (1, dimension); called where it was made, in the encoder's thread.

        idle: that thread has nothing else to do; then it ranks itself, if the index's has nothing to do either. True:
        the vector's future is told by us, when the ranking is done. Waking the event loop now would take Python's lock
        from the ranking.
        """
        alone = self._coming is not None and len(self._coming) == 1
        return alone and self._go(come(vectors[0]), vectors, here=idle)

    def _go(self, vector: "Vector | None", relayed: "Vector | None" = None, *, here: bool = False) -> bool:
        with self._lock:
            if self._gone:
                return False
            self._gone, self._relayed = True, relayed
            if vector is not None:
                from recall.search.query_vector import QueryVector

                preceding = [found for each in self._before if (found := come(each)) is not None]
                self.asked = QueryVector(vector=vector, preceding=preceding)
        self.went = time.perf_counter()
        self._rank_now(here=here)
        return True

    def _end(self, ranked: "asyncio.Future[Ranked | Recall]") -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._gone = True
        if not ranked.cancelled():
            ranked.exception()  # whoever waits meets it
        if self._relayed is not None and isinstance(self._vector, asyncio.Future) and not self._vector.done():
            self._vector.set_result(self._relayed)


def come(vector: "Awaited") -> "Vector | None":
    """The vector, if it has come; None also for a zero one: the encoder makes nothing of that text."""
    if not isinstance(vector, asyncio.Future):
        made = vector
    elif vector.done() and not vector.cancelled() and vector.exception() is None:
        made = vector.result()[0]
    else:
        made = None
    return made if made is not None and made.any() else None
