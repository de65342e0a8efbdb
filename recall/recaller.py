"""What the gateway calls: an asyncio face over the index's thread and the encoder's thread."""

import asyncio
import sqlite3
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import UTC, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import structlog

from recall.embedder import Embedder
from recall.query import LONGEST_EMBEDDED, PRECEDING_TURNS
from recall.settings import RecallSettings
from recall.types import Entry, FileChange, Near, Recall, RecallError, Stamp, Stored
from recall.words import clean_text
from recall.worker import BACKGROUND, SEARCH, WRITE, Worker

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recall.encoder import Encoder
    from recall.index import Index
    from recall.search import Words
    from recall.store import IndexedRow

__all__ = ["Recaller"]

_log = structlog.get_logger()

T = TypeVar("T")

_CORRUPT, _NOT_A_DATABASE = 11, 26
_BUSY, _LOCKED = 5, 6
# A write that finds another process writing tries again after so long, so that searches go between; in all so long.
_LOCK_RETRY_SECONDS = 0.05
_LOCK_PATIENCE_SECONDS = 30.0
# Terms of new rows are made so many at a time, so that a search never waits for a whole file.
_PREPARED_AT_ONCE = 100
# Characters encoded at once in the background: about 10 ms, which is what a query may have to wait.
_ENCODED_CHARACTERS = 800
_ENCODED_TEXTS = 16
_PENDING_AT_ONCE = 256
_CACHED_SEARCHES = 256
# A relative date or a recency moves on; so long a repeated search has the same answer.
_CACHE_SECONDS = 600
_JOIN_SECONDS = 1.0


class Recaller:
    """Search over the scopes of one index.sqlite. Lives on the event loop that opened it.

    `zone` is where "yesterday" is reckoned. `encoder` makes the encoder, in its own thread; by default it follows the
    settings.
    """

    def __init__(
        self,
        path: Path,
        settings: RecallSettings,
        *,
        zone: tzinfo = UTC,
        encoder: "Callable[[], Encoder] | None" = None,
    ) -> None:
        self._path = path
        self._settings = settings
        self._zone = zone
        self._load_encoder = encoder or (_bundled if settings.embedder.provider == "bundled" else None)
        self._worker = Worker("recall-index")
        self._embedder: Embedder | None = None
        self._index: Index | None = None
        self._work = asyncio.Event()
        self._embedding = asyncio.Lock()
        self._encoder_known = False
        self._searches: OrderedDict[Any, tuple[int, Recall]] = OrderedDict()
        self._ranking_seconds = 0.005

    # Life

    async def open(self) -> bool:
        """Open the index; True if it was made anew, and everything is to be given to it again.

        The encoder loads meanwhile and afterwards; until it is there, words alone are searched.
        """
        self._worker.start()
        if self._load_encoder is not None:
            self._embedder = Embedder(self._load_encoder)
            self._embedder.start()

        def job() -> bool:
            self._index = _make_index(self._path)
            return self._index.open()

        try:
            made = await self._worker.submit(job)
        except (OSError, sqlite3.Error) as error:
            raise RecallError(f"cannot open the index {self._path}: {error}") from error
        self._work.set()
        return made

    async def close(self) -> None:
        """Stop both threads. One that hangs is left behind; it does not keep the process from ending."""
        threads = [self._embedder.stop()] if self._embedder is not None else []
        try:
            await asyncio.wait({self._worker.submit(lambda: self._index and self._index.close())}, timeout=_JOIN_SECONDS)
        except RecallError:
            return
        threads.append(self._worker.stop())
        for thread in threads:
            if thread is not None:
                await asyncio.to_thread(thread.join, _JOIN_SECONDS)

    async def run(self) -> None:
        """Give vectors to what has none yet, for ever. Cancelling stops it; nothing is lost."""
        if self._embedder is None:
            return
        while True:
            await self._work.wait()
            self._work.clear()
            try:
                await self.embedded()
            except RecallError as error:
                _log.warning("recall.embedding_failed", error=type(error.__cause__ or error).__name__)
                await asyncio.sleep(1.0)

    async def embedded(self) -> None:
        """Wait until nothing waits for a vector; at once if there is no encoder."""
        if self._embedder is None:
            return
        try:
            encoder = await self._embedder.loaded()
        except Exception:  # noqa: BLE001 - it was logged where it failed; words alone work
            return
        async with self._embedding:
            if not self._encoder_known:
                await self._write(lambda index: index.use_encoder(encoder.name, encoder.dimension))
                self._encoder_known = True
            while waiting := await self._job(lambda index: index.pending(_PENDING_AT_ONCE), BACKGROUND):
                await self._embed(waiting)

    async def _embed(self, waiting: Sequence[tuple[int, str]]) -> None:
        assert self._embedder is not None
        start = 0
        while start < len(waiting):
            end, characters = start + 1, len(waiting[start][1])
            while (
                end < len(waiting)
                and end - start < _ENCODED_TEXTS
                and characters + len(waiting[end][1]) <= _ENCODED_CHARACTERS
            ):
                characters += len(waiting[end][1])
                end += 1
            part = waiting[start:end]
            try:
                vectors = await self._embedder.submit([text for _, text in part], query=False)
            except RecallError:
                raise
            except Exception as error:
                raise RecallError("the encoder failed") from error
            sequences = [sequence for sequence, _ in part]
            await self._write(lambda index, s=sequences, v=vectors: index.put_vectors(s, v), BACKGROUND)
            start = end

    # Files

    async def stamps(self, scope: str) -> dict[str, Stamp]:
        """The files of a scope as the index last saw them."""
        return await self._job(lambda index: (index.follow(), index.stamps(scope))[1])

    async def replace_file(self, scope: str, file: str, stamp: Stamp | None, entries: Sequence[Entry]) -> FileChange:
        """Make a file's rows those of `entries`, in their order; `stamp` None says that the file is gone.

        What is unchanged keeps its sequence and its vector. Ids are unique in a scope; a row of another file that has
        one of these ids moves here. Raises RecallError if the index cannot be written.
        """
        fresh = await self._job(lambda index: (index.follow(), index.unprepared(scope, file, entries))[1])
        prepared: dict[str, IndexedRow] = {}
        for start in range(0, len(fresh), _PREPARED_AT_ONCE):
            part = fresh[start : start + _PREPARED_AT_ONCE]
            prepared.update(await self._job(lambda _, part=part: _prepare(part)))
        change = await self._write(lambda index: index.replace_file(scope, file, stamp, entries, prepared))
        if change.added:
            self._work.set()
        return change

    async def added_since(self, scope: str, sequence: int) -> tuple[int, tuple[Stored, ...]]:
        """The highest sequence of a scope now, and its items that were inserted after `sequence`, oldest first."""
        return await self._job(lambda index: index.added_since(scope, sequence))

    async def get(self, scope: str, id: str) -> Stored | None:  # noqa: A002 - what it is called everywhere here
        return await self._job(lambda index: index.get(scope, id))

    async def owners(self, scope: str, ids: Sequence[str]) -> dict[str, str]:
        """The file that each of these ids stands in, for those that the index knows."""
        return await self._job(lambda index: index.owners(scope, ids))

    @property
    def generation(self) -> int:
        """Rises when index.sqlite was replaced: then every file is to be given to it again, and sequences begin anew."""
        return self._index.generation if self._index is not None else 0

    async def newest(self, scope: str, limit: int) -> tuple[Stored, ...]:
        """The items inserted last, the newest first."""
        return await self._job(lambda index: index.newest(scope, limit))

    async def count(self, scope: str) -> int:
        """How many items a scope has."""
        return await self._job(lambda index: index.count(scope))

    async def warm(self, scopes: Sequence[str]) -> None:
        """Load scopes, so that the first search needn't."""

        def job(index: "Index") -> None:
            index.follow()
            for scope in scopes:
                index.scope(scope)

        await self._job(job)

    # Searching

    async def search(
        self,
        scopes: Sequence[str],
        query: str,
        *,
        limit: int,
        min_score: float,
        timeout_seconds: float | None,
        now: float,
        preceding: Sequence[str] = (),
    ) -> Recall:
        """The best memories of these scopes for a message, each at least `min_score`, the best first.

        Never raises for a part that fails, and returns within `timeout_seconds`: see `Recall`.
        """
        started = time.perf_counter()
        deadline = None if timeout_seconds is None else started + timeout_seconds
        key = (tuple(scopes), query, limit, min_score, tuple(preceding), int(now // _CACHE_SECONDS))
        vector = self._vector_of(query)
        before = [self._vector_of(turn) for turn in reversed(preceding[-PRECEDING_TURNS:])]

        def look_up(index: "Index") -> "Recall | Words":
            from recall.search import search_words

            index.follow()
            cached = self._searches.get(key)
            if cached is not None and cached[0] == index.version:
                return cached[1]
            return search_words(index, scopes, query, preceding, now, self._zone)

        stages: dict[str, float] = {}
        try:
            words = await _by(deadline, self._job(look_up, SEARCH))
            stages["words"] = time.perf_counter() - started
            if isinstance(words, Recall):
                return words
            meaning, complete = await self._meaning(vector, deadline)
            context = [turn for each in before if (turn := (await self._meaning(each, deadline))[0]) is not None]
            stages["meaning"] = time.perf_counter() - started - stages["words"]
            ranking = time.perf_counter()
            found = words

            def rank(index: "Index") -> "tuple[int, tuple[Any, ...]]":
                from recall.search import ranked, search_words

                again = found
                if found.version != index.version:
                    again = search_words(index, scopes, query, preceding, now, self._zone)
                return again.version, ranked(index, again, meaning, context, limit=limit, min_score=min_score)

            version, hits = await _by(deadline, self._job(rank, SEARCH))
            stages["ranking"] = time.perf_counter() - ranking
            self._ranking_seconds = 0.7 * self._ranking_seconds + 0.3 * stages["ranking"]
        except TimeoutError:
            last = self._searches.get(key)
            _log.warning("recall.late", stages=len(stages), seconds=round(time.perf_counter() - started, 4))
            if last is not None:
                return Recall(hits=last[1].hits, outcome="partial", stages=stages)
            return Recall(outcome="timeout", stages=stages)
        except (sqlite3.Error, RecallError) as error:
            if self._index is None:
                raise
            _log.warning("recall.search_failed", error=type(error).__name__)
            return Recall(outcome="partial", stages=stages)
        recall = Recall(hits=hits, outcome=("full" if hits else "empty") if complete else "partial", stages=stages)
        if complete:
            self._remember(key, version, recall)
        return recall

    def _remember(self, key: Any, version: int, recall: Recall) -> None:
        self._searches[key] = (version, recall)
        self._searches.move_to_end(key)
        while len(self._searches) > _CACHED_SEARCHES:
            self._searches.popitem(last=False)

    def _vector_of(self, text: str) -> "asyncio.Future[NDArray[np.float32]] | NDArray[np.float32] | None":
        """The vector, or the promise of one, or None if waiting for it makes no sense."""
        if self._embedder is None:
            return None
        text = clean_text(text, LONGEST_EMBEDDED)
        cached = self._embedder.cached(text)
        if cached is not None:
            return cached
        future = self._embedder.submit([text], query=True)
        future.add_done_callback(_seen)
        return None if self._embedder.hangs(time.monotonic()) else future

    async def _meaning(self, vector: Any, deadline: float | None) -> "tuple[NDArray[np.float32] | None, bool]":
        """The message's vector if it comes in time, and whether everything that was to come has come."""
        if not isinstance(vector, asyncio.Future):
            return vector, vector is not None or self._embedder is None
        # The ranking that follows needs its time too.
        reserve = min(2 * self._ranking_seconds + 0.005, 0.5 * (deadline - time.perf_counter())) if deadline else 0
        try:
            vectors = await _by(deadline and deadline - reserve, vector)
        except TimeoutError:
            return None, False
        except Exception:  # noqa: BLE001 - it was logged where it failed; words alone work
            return None, False
        return vectors[0], True

    async def nearest(self, scope: str, text: str, limit: int, *, timeout_seconds: float = 2.0) -> tuple[Near, ...]:
        """The items of a scope that are nearest to a text: the best by meaning, if it comes in time, and the best by words."""
        vector = self._vector_of(text)
        meaning, _ = await self._meaning(vector, time.perf_counter() + timeout_seconds)

        def job(index: "Index") -> tuple[Near, ...]:
            from recall.search import nearest

            return nearest(index, scope, text, meaning, limit)

        return await self._job(job)

    # Jobs

    def _job(self, job: "Callable[[Index], T]", priority: int = WRITE) -> "asyncio.Future[T]":
        """Run a job in the index's thread. A file that turns out to be damaged is replaced, and the job done again."""

        def guarded() -> T:
            if self._index is None:
                raise RecallError("recall is not open")
            try:
                return job(self._index)
            except sqlite3.DatabaseError as error:
                if (getattr(error, "sqlite_errorcode", 0) & 0xFF) not in (_CORRUPT, _NOT_A_DATABASE):
                    raise
                _log.error("recall.index_damaged", error=type(error).__name__)
                self._index.replace()
                return job(self._index)

        return self._worker.submit(guarded, priority=priority)

    async def _write(self, job: "Callable[[Index], T]", priority: int = WRITE) -> T:
        """A job that writes; while another process writes, it is put off, and searches go on."""
        patience = time.monotonic() + _LOCK_PATIENCE_SECONDS
        while True:
            try:
                return await self._job(job, priority)
            except sqlite3.Error as error:
                busy = (getattr(error, "sqlite_errorcode", 0) & 0xFF) in (_BUSY, _LOCKED)
                if not busy or time.monotonic() > patience:
                    raise RecallError(f"the index cannot be written: {error}") from error
            await asyncio.sleep(_LOCK_RETRY_SECONDS)


async def _by(deadline: float | None, future: "asyncio.Future[T]") -> T:
    """Wait until the deadline (perf_counter); TimeoutError then. A job that has not begun is not begun any more."""
    if deadline is None:
        return await future
    done, _ = await asyncio.wait({future}, timeout=max(deadline - time.perf_counter(), 0))
    if not done:
        if not isinstance(future, asyncio.Task):
            future.add_done_callback(_seen)
        raise TimeoutError
    return future.result()


def _seen(future: "asyncio.Future[Any]") -> None:
    """Take note of an exception that nobody waits for any more; it was logged where it arose."""
    if not future.cancelled():
        future.exception()


def _bundled() -> "Encoder":
    from recall.encoder import BundledEncoder

    return BundledEncoder()


def _make_index(path: Path) -> "Index":
    import threadpoolctl

    from recall.index import Index

    # A product of a few milliseconds stalls with more threads; and changing the number for each call would race with
    # the encoder's thread.
    threadpoolctl.threadpool_limits(limits=1, user_api="blas")
    return Index(path)


def _prepare(entries: Sequence[Entry]) -> "dict[str, IndexedRow]":
    from recall.index import prepare

    return {entry.id: prepare(entry) for entry in entries}
