"""Search within a deadline: a query vector that is late is left out, and the rest is ranked."""

import asyncio
import time
from collections import OrderedDict
from dataclasses import replace
from datetime import tzinfo
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from gateway_memory.runtime.ground import get_logger
from recall.encoding.embedder import Embedder
from recall.index.thread import IndexThread
from recall.search.query import PRECEDING_TURNS, SearchRequest
from recall.text.words import LONGEST_EMBEDDED, clean_text
from recall.threads import SEARCH, WRITE
from recall.types import Hit, Near, Recall, RecallError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from recall.index.index import Index

    Vector = NDArray[np.float32]

__all__ = ["Searcher"]

_log = get_logger(__name__)

_CACHED_SEARCHES = 256
# "Yesterday" and recency move on; a search that failed may be answered by one that is so old.
_CACHE_SECONDS = 600
# Of the time until the deadline, what ranking took lately, times this, is reserved for it; and so much at least.
_RESERVE_FACTOR = 2.0
_LEAST_RESERVE_SECONDS = 0.02
# A search without a deadline waits so long for an index that another process has locked.
_LOCK_TIMEOUT_SECONDS = 30.0


class _Ranked(NamedTuple):
    hits: tuple[Hit, ...]
    weak: tuple[Hit, ...]
    semantic: bool
    current: bool
    lexical_seconds: float


class Searcher:
    """The searches of a Recaller. `embedder` None: lexical scores alone."""

    def __init__(self, thread: IndexThread, embedder: Embedder | None, zone: tzinfo | None) -> None:
        self._thread = thread
        self._embedder = embedder
        self._zone = zone
        self._answers: OrderedDict[SearchRequest, Recall] = OrderedDict()
        self._ranking_seconds = 0.0

    async def search(self, request: SearchRequest, timeout_seconds: float | None) -> Recall:
        """See `Recaller.search`."""
        self._thread.opened()
        started = time.perf_counter()
        deadline = None if timeout_seconds is None else started + timeout_seconds
        vector, *preceding = await self._vectors(
            [request.query, *reversed(request.preceding[-PRECEDING_TURNS:])], deadline, waits=request.asked
        )
        ranking = time.perf_counter()
        # The encoder makes nothing of some texts, such as "???": then nothing is late.
        meaningless = vector is not None and not vector.any()
        known = [each for each in preceding if each is not None and each.any()]
        vectors = None if vector is None or meaningless else (vector, known)
        left = None if deadline is None else max(deadline - ranking, 0)
        try:
            async with asyncio.timeout(left):
                ranked = await self._thread.run(
                    partial(_rank, request, vectors, self._zone),
                    SEARCH,
                    timeout_seconds=_LOCK_TIMEOUT_SECONDS if left is None else left,
                )
        except (TimeoutError, RecallError) as error:
            _log.warning("recall.search_failed", error=type(error).__name__)
            return self._answer_before(request)
        ended = time.perf_counter()
        self._ranking_seconds += 0.3 * (ended - ranking - self._ranking_seconds)
        # A preceding turn without its vector costs little precision; only the message's own makes an answer partial.
        semantic = ranked.semantic or meaningless
        complete = ranked.current and (semantic or self._embedder is None)
        recall = Recall(
            hits=ranked.hits,
            weak=ranked.weak,
            outcome=("full" if ranked.hits else "empty") if complete else "partial",
            stages={
                "vector": ranking - started,
                "lexical": ranked.lexical_seconds,
                "ranking": ended - ranking - ranked.lexical_seconds,
            },
            semantic=semantic,
        )
        if complete:
            self._remember(request, recall)
        return recall

    def expect(self, text: str) -> None:
        """See `Recaller.expect`."""
        if self._embedder is not None:
            _ = self._embedder.request(clean_text(text, LONGEST_EMBEDDED))

    async def encoded(self, texts: "Sequence[str]", timeout_seconds: float) -> "tuple[str, list[Vector | None]]":
        """See `Recaller.encoded`."""
        made = await self._vectors(texts, time.perf_counter() + timeout_seconds, waits=True)
        loaded = self._embedder and self._embedder.encoder
        return loaded.name if loaded else "", made

    async def nearest(
        self, scope: str, texts: "Sequence[str]", limit: int, timeout_seconds: float
    ) -> list[tuple[Near, ...]]:
        """See `Recaller.nearest_each`."""
        made = await self._vectors(texts, time.perf_counter() + timeout_seconds)
        vectors = [None if vector is None or not vector.any() else vector for vector in made]
        return await self._thread.run(partial(_nearest, scope, list(zip(texts, vectors, strict=True)), limit), WRITE)

    async def _vectors(
        self, texts: "Sequence[str]", deadline: float | None, *, waits: bool = False
    ) -> "list[Vector | None]":
        """Return the vectors of texts; None for those that are not there in time, or failed.

        A vector that comes late is cached, and serves the next message. One that is zero means nothing.
        """
        embedder = self._embedder
        if embedder is None:
            return [None for _ in texts]
        requested = [embedder.request(clean_text(text, LONGEST_EMBEDDED)) for text in texts]
        coming = {each for each in requested if not each.done()}
        loads = waits and embedder.encoder is None and not embedder.problem
        if coming and (deadline is None or embedder.is_ready or loads):
            await asyncio.wait(coming, timeout=None if deadline is None else self._time_for_vectors(deadline))
        return [_result(each) for each in requested]

    def _time_for_vectors(self, deadline: float) -> float:
        """Return the seconds until the deadline (perf_counter), less what ranking will take."""
        left = max(deadline - time.perf_counter(), 0)
        return left - min(max(_RESERVE_FACTOR * self._ranking_seconds, _LEAST_RESERVE_SECONDS), left / 2)

    def _answer_before(self, request: SearchRequest) -> Recall:
        """Return what the same search found lately, where nothing newer was ready in time."""
        found = self._answers.get(_key(request))
        return Recall(outcome="timeout") if found is None else replace(found, weak=(), outcome="partial", stages={})

    def _remember(self, request: SearchRequest, recall: Recall) -> None:
        key = _key(request)
        self._answers[key] = recall
        self._answers.move_to_end(key)
        if len(self._answers) > _CACHED_SEARCHES:
            self._answers.popitem(last=False)


def _key(request: SearchRequest) -> SearchRequest:
    return replace(request, now=request.now // _CACHE_SECONDS)


def _result(requested: "asyncio.Future[Vector]") -> "Vector | None":
    """Return a vector; None where there is none."""
    if not requested.done() or requested.cancelled() or requested.exception() is not None:
        return None
    return requested.result()


def _rank(
    request: SearchRequest, vectors: "tuple[Vector, list[Vector]] | None", zone: tzinfo | None, index: "Index"
) -> _Ranked:
    from recall.search.candidates import QueryVector
    from recall.search.search import Found, best_hits, lexical_scores

    index.follow()
    started = time.perf_counter()
    vector = None if vectors is None else QueryVector(vector=vectors[0], preceding=vectors[1])
    lexical = lexical_scores(index, request, vector, zone)
    seconds = time.perf_counter() - started
    found = Found() if lexical is None else best_hits(index, lexical, request)
    # Without rows, nothing could be found by meaning either.
    semantic = lexical is None or (vector is not None and index.fits(vector.vector))
    return _Ranked(found.hits, found.weak, semantic, index.rows.is_current(), seconds)


def _nearest(
    scope: str, texts: "Sequence[tuple[str, Vector | None]]", limit: int, index: "Index"
) -> list[tuple[Near, ...]]:
    from recall.search.search import nearest

    index.follow()
    return [nearest(index, scope, text, vector, limit) for text, vector in texts]
