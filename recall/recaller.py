"""The asyncio interface to the index's thread and the encoder's, with searches that keep their deadlines."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import tzinfo
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from gateway_memory.ground import CATCH_UP_SECONDS
from gateway_memory.ground.logs import get_logger
from recall.background import BUNDLED_BATCHES, Background, Batches
from recall.embedder import Embedder
from recall.index_thread import IndexThread
from recall.rows.replacement import prepare
from recall.rows.shards import shard_of
from recall.rows.sqlite import SqliteRows
from recall.search.query import PRECEDING_TURNS
from recall.settings import EmbedderSettings, RecallSettings, provider_of
from recall.text.row_texts import LONGEST_EMBEDDED
from recall.text.words import clean_text
from recall.threads import SEARCH, WRITE
from recall.types import (
    Entry,
    FileChange,
    FileEntries,
    Filter,
    Hit,
    Near,
    Recall,
    RecallError,
    SearchRequest,
    Stamp,
    Stored,
    Vectors,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gateway_memory.ground.policies import Breaker
    from recall.encoding.encoder import Encoder
    from recall.index.index import Index
    from recall.rows.sql import Rows
    from recall.rows.tables import SearchTerms

    Vector = NDArray[np.float32]

_log = get_logger(__name__)

T = TypeVar("T")

# Search terms of new rows are made in batches of this size, so that a search never waits for a whole file.
_PREPARED_AT_ONCE = 100
# Of so few rows they are made while they are stored.
_PREPARED_WITH_THEM = 16
_ENCODER_START_SECONDS = 0.1
_SERVER_RETRY_SECONDS = 10.0
_CACHED_SEARCHES = 256
# "Yesterday" and recency move on; a search that failed may be answered by one that is so old.
_CACHE_SECONDS = 600
# Of the time until the deadline, what ranking took lately, times this, is reserved for it; and so much at least.
_RESERVE_FACTOR = 2.0
_LEAST_RESERVE_SECONDS = 0.02


class _Ranked(NamedTuple):
    hits: tuple[Hit, ...]
    weak: tuple[Hit, ...]
    semantic: bool
    current: bool
    lexical_seconds: float


class Recaller:
    """Search over the scopes of one index. It belongs to the event loop that opened it.

    index: the path of index.sqlite; None keeps everything in memory, and nothing on disk; or another store of rows, or
    several, each with the scopes of its number by `shard_of`: one that is away fails the calls about its scopes alone.
    zone: in which "yesterday" is reckoned; None is the machine's own. encoder: makes the encoder, in its own thread; by
    default it follows the settings. breaker: guards an embedding server.

    Every method raises RecallError before `open` and after `close`.
    """

    def __init__(
        self,
        index: "Path | Rows | Sequence[Rows] | None",
        settings: RecallSettings,
        *,
        zone: tzinfo | None,
        encoder: "Callable[[], Encoder] | None" = None,
        breaker: "Breaker | None" = None,
    ) -> None:
        self._settings = settings
        if index is None or isinstance(index, Path):
            index = SqliteRows(index)
        self._threads = [IndexThread(rows) for rows in (index if isinstance(index, Sequence) else [index])]
        self._embedders = _embedders(settings.embedder, encoder, breaker)
        self._embedder = self._embedders[0] if self._embedders else None
        self._backgrounds: Sequence[Background] = ()
        self._starting: asyncio.TimerHandle | None = None
        on_server = encoder is None and provider_of(settings.embedder.provider).is_server
        self._reader = _bundled() if on_server else self._embedder
        if self._embedder is not None:
            size = BUNDLED_BATCHES
            if on_server:
                texts = settings.embedder.batch_size
                size = Batches(texts=texts, characters=texts * LONGEST_EMBEDDED)
            cached = self._embedder.cached
            self._backgrounds = [
                Background(thread, self._embedders[-1], cached=cached, size=size) for thread in self._threads
            ]
        self._zone = zone
        self._answers: OrderedDict[SearchRequest, Recall] = OrderedDict()
        self._ranking_seconds: float | None = None
        """What ranking takes, as it was lately; None before the first one, which takes longer than those behind it."""
        self.is_new = False
        """Whether the index was made anew when it was opened."""

    async def open(self) -> bool:
        """Open the index; return True if it was made anew, so that it needs everything again.

        The encoder loads afterwards, in its thread; until then, searches are lexical. A process that closes at once
        does not load it.
        """
        self.is_new = any(await asyncio.gather(*(thread.open() for thread in self._threads)))
        if self._embedder is not None:
            self._starting = asyncio.get_running_loop().call_later(_ENCODER_START_SECONDS, self._start_encoder)
        for background in self._backgrounds:
            background.wake()
        return self.is_new

    def _start_encoder(self) -> None:
        for embedder in self._embedders:
            embedder.start()
        for background in self._backgrounds:
            background.wake()

    async def close(self) -> None:
        """Stop the threads. One that hangs is left behind; it does not keep the process from ending."""
        if self._starting is not None:
            self._starting.cancel()
        readers = () if self._reader is None or self._reader in self._embedders else (self._reader,)
        await asyncio.gather(*(each.close() for each in (*self._embedders, *readers, *self._threads)))

    async def run(self) -> None:
        """Compute the vectors of new rows until it is cancelled; nothing is lost then."""
        async with asyncio.TaskGroup() as group:
            for background in self._backgrounds:
                group.create_task(background.run())

    async def embedded(self) -> None:
        """Wait until every row has its vector; return at once if there is no encoder."""
        for background in self._backgrounds:
            await background.embedded()

    async def vectors(self) -> Vectors:
        """Return how many memories have vectors, over all scopes. The encoder of this process need not be loaded.

        Where the rows are in several places, those that are away are left out.
        """

        async def read(thread: IndexThread) -> Vectors:
            try:
                return await self._read_at(thread, lambda index: index.vectors())
            except RecallError:
                if len(self._threads) == 1:
                    raise
                return Vectors()

        parts = await asyncio.gather(*map(read, self._threads))
        encoder = next((part.encoder for part in parts if part.encoder), "")
        return Vectors(encoder=encoder, rows=sum(p.rows for p in parts), missing=sum(p.missing for p in parts))

    @property
    def away(self) -> int:
        """How many of several places of rows did not answer at the last look."""
        return sum(not thread.index.rows.is_current() for thread in self._threads if thread.index)

    @property
    def problem(self) -> str:
        """The kind of the last failure of this process's encoder; "" while it works, or where there is none."""
        return next((embedder.problem for embedder in self._embedders if embedder.problem), "")

    @property
    def loads(self) -> bool:
        """Whether the encoder of this process is being loaded, so that searches go by words meanwhile."""
        return any(each.started and each.encoder is None and not each.problem for each in self._embedders)

    def _number(self, scope: str) -> int:
        return shard_of(scope, len(self._threads))

    async def _read(self, scope: str, job: "Callable[[Index], T]") -> T:
        return await self._read_at(self._threads[self._number(scope)], job, scope)

    async def _read_at(self, thread: IndexThread, job: "Callable[[Index], T]", scope: str = "") -> T:
        def following(index: "Index") -> T:
            with index.following(scope):
                return job(index)

        return await thread.run(following, timeout_seconds=0)

    async def stamps(self, scope: str) -> dict[str, Stamp]:
        """Return the files of a scope as they were indexed; none after the index was found damaged."""
        return dict(await self._read(scope, lambda index: index.rows.stamps(scope)))

    async def replace_file(self, scope: str, file: str, stamp: Stamp | None, entries: Sequence[Entry]) -> FileChange:
        """Replace a file's rows by `entries`, see `replace_files`; stamp None: the file is gone."""
        return await self.replace_files(scope, [FileEntries(name=file, stamp=stamp, entries=entries)])

    async def replace_files(self, scope: str, files: Sequence[FileEntries]) -> FileChange:
        """Replace the rows of files by their entries, in one transaction. An id may be new in only one of the files.

        Unchanged entries keep their rows and vectors. Ids are unique in a scope: a row of another file with one of
        these ids moves here. Raises RecallError: the index cannot be written.
        """
        number = self._number(scope)
        thread = self._threads[number]
        prepared: dict[str, SearchTerms] = {}
        if sum(len(file.entries) for file in files) > _PREPARED_WITH_THEM:
            fresh = await self._read(scope, lambda index: index.unprepared(scope, files))
            for start in range(0, len(fresh), _PREPARED_AT_ONCE):
                part = fresh[start : start + _PREPARED_AT_ONCE]
                prepared |= await thread.run(partial(_prepare_all, part))
        change = await thread.run(lambda index: index.replace_files(scope, files, prepared))
        if change.added and self._backgrounds:
            self._backgrounds[number].wake()
        return change

    async def revision(self, scope: str) -> int:
        """Return a scope's revision, which rises with each change of its rows."""
        return await self._read(scope, lambda index: index.rows.revision(scope))

    async def added_since(self, scope: str, revision: int) -> tuple[int, tuple[Stored, ...]]:
        """Return a scope's revision, and its items that were inserted after `revision`, the oldest first."""
        current, rows = await self._read(scope, lambda index: index.rows.added_since(scope, revision))
        return current, tuple(rows)

    async def get(self, scope: str, id: str) -> Stored | None:  # noqa: A002 - its name everywhere here
        """Return the row of an id."""
        return next(iter(await self._read(scope, lambda index: index.rows.by_ids(scope, [id]))), None)

    async def owners(self, scope: str, ids: Sequence[str]) -> dict[str, str]:
        """Return the file of each of these ids, for those that the index knows."""
        return {row.entry.id: row.file for row in await self._read(scope, lambda index: index.rows.by_ids(scope, ids))}

    async def in_file(self, scope: str, file: str) -> tuple[Stored, ...]:
        """Return the rows of a file, in no order."""
        return tuple(await self._read(scope, lambda index: index.rows.in_files(scope, [file])))

    @property
    def generation(self) -> int:
        """Increases each time the index is rebuilt. A rebuilt index has no files, and its revisions start again."""
        return sum(thread.index.generation for thread in self._threads if thread.index)

    @property
    def replaced(self) -> int:
        """How often the index was found damaged, and made again, since this was opened."""
        return sum(thread.index.damaged for thread in self._threads if thread.index)

    async def newest(self, scope: str, limit: int) -> tuple[Stored, ...]:
        """Return the items that were inserted last, the newest first."""
        return tuple(await self._read(scope, lambda index: index.rows.newest(scope, limit)))

    async def listed(self, scope: str, only: Filter, limit: int) -> tuple[Stored, ...]:
        """Return the items of a scope that pass a filter, the newest first."""
        return tuple(await self._read(scope, lambda index: index.rows.listed(scope, only, limit)))

    async def coming(self, scope: str, day: str, limit: int) -> tuple[Stored, ...]:
        """Return the items that hold until a day (YYYY-MM-DD) or later, those that end first before the others."""
        return tuple(await self._read(scope, lambda index: index.rows.coming(scope, day, limit)))

    async def began(self, scope: str) -> float:
        """Return when the oldest item of a scope was said, in epoch seconds; 0 without one."""
        return await self._read(scope, lambda index: index.rows.began(scope))

    async def telling(self, scope: str, least: float, limit: int) -> tuple[Stored, ...]:
        """Return the user's passages of at least this importance, the most important first."""
        return tuple(await self._read(scope, lambda index: index.rows.telling(scope, least, limit)))

    async def count(self, scope: str) -> int:
        """Return how many items a scope has."""
        return await self._read(scope, lambda index: index.rows.count(scope))

    async def warm(self, scope: str) -> None:
        """Load a scope, so that its first search need not."""
        await self._read(scope, lambda index: index.warm(scope))

    async def search(self, request: SearchRequest, *, timeout_seconds: float | None) -> Recall:
        """Return the best memories of a scope for a message, best first.

        It returns within `timeout_seconds`, whatever fails; the outcome says how it went.
        """
        started = time.perf_counter()
        if request.asked and self._backgrounds:
            most = CATCH_UP_SECONDS if timeout_seconds is None else min(timeout_seconds / 2, CATCH_UP_SECONDS)
            await self._backgrounds[self._number(request.scope)].catch_up(most)
        return await self._search(request, None if timeout_seconds is None else started + timeout_seconds)

    async def _search(self, request: SearchRequest, deadline: float | None) -> Recall:
        """Rank within a deadline (perf_counter): a query vector that is late is left out, and the rest is ranked."""
        thread = self._threads[self._number(request.scope)]
        thread.opened()
        started = time.perf_counter()
        texts = [request.query, *reversed(request.preceding[-PRECEDING_TURNS:])]
        patience = None if deadline is None else self._time_for_vectors(deadline)
        vector, *preceding = await self._vectors(texts, patience, by=self._embedder, waits=request.asked)
        ranking = time.perf_counter()
        # The encoder makes nothing of some texts, such as "???": then nothing is late.
        meaningless = vector is not None and not vector.any()
        known = [each for each in preceding if each is not None and each.any()]
        vectors = None if vector is None or meaningless else (vector, known)
        remaining = None if deadline is None else max(deadline - ranking, 0)
        try:
            async with asyncio.timeout(remaining):
                ranked = await thread.run(
                    partial(_rank, request, vectors, self._zone),
                    SEARCH,
                    timeout_seconds=remaining,
                )
        except (TimeoutError, RecallError) as error:
            _log.warning("recall.search_failed", error=type(error).__name__)
            return self._answer_before(request)
        ended = time.perf_counter()
        before = ended - ranking if self._ranking_seconds is None else self._ranking_seconds
        self._ranking_seconds = before + 0.3 * (ended - ranking - before)
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
        """Start to encode a text that a search or `nearest` will be asked for."""
        if self._embedder is not None:
            _ = self._embedder.request(clean_text(text, LONGEST_EMBEDDED))

    async def encoded(self, texts: Sequence[str], timeout_seconds: float) -> "tuple[str, list[Vector | None]]":
        """Return an encoder's name, and the vectors of texts; None for those that are not there in time.

        The encoder is that of this process, also where a server encodes what is searched. One that loads is waited for.
        The name is "" without one.
        """
        vectors = await self._vectors(texts, timeout_seconds, by=self._reader, waits=True)
        loaded = self._reader and self._reader.encoder
        return loaded.name if loaded else "", vectors

    async def stored_vectors(self, scope: str, ids: Sequence[str]) -> "dict[str, Vector]":
        """Return the vectors that rows have in memory, by id, if they are of the encoder of `encoded`."""
        loaded = self._reader and self._reader.encoder
        name = loaded.name if loaded else ""

        def read(index: "Index") -> "dict[str, Vector]":
            return index.vectors_of(scope, ids) if name and index.encoder == name else {}

        return await self._read(scope, read)

    async def nearest(
        self, scope: str, text: str, limit: int, *, timeout_seconds: float | None = None
    ) -> tuple[Near, ...]:
        """Return the items nearest to a text: the best by cosine and the best by words, without stage summaries.

        If its vector is not there within `timeout_seconds` (default: the settings' timeout), it compares by words
        alone.
        """
        return (await self.nearest_each(scope, [text], limit, timeout_seconds=timeout_seconds))[0]

    async def nearest_each(
        self, scope: str, texts: Sequence[str], limit: int, *, timeout_seconds: float | None = None
    ) -> list[tuple[Near, ...]]:
        """Return what `nearest` returns, for each of several texts."""
        if timeout_seconds is None:
            timeout_seconds = self._settings.timeout_ms / 1000
        made = await self._vectors(texts, timeout_seconds, by=self._embedder)
        vectors = [None if vector is None or not vector.any() else vector for vector in made]
        compared = partial(_nearest, scope, list(zip(texts, vectors, strict=True)), limit)
        return await self._threads[self._number(scope)].run(compared, WRITE)

    async def _vectors(
        self, texts: "Sequence[str]", timeout_seconds: float | None, *, by: Embedder | None, waits: bool = False
    ) -> "list[Vector | None]":
        """Return the vectors of texts by an embedder; None for those that are not there in time, or failed.

        A vector that comes late is cached, and serves the next message. One that is zero means nothing.
        """
        if by is None:
            return [None for _ in texts]
        requested = [by.request(clean_text(text, LONGEST_EMBEDDED)) for text in texts]
        coming = {each for each in requested if not each.done()}
        loads = waits and by.encoder is None and not by.problem
        if coming and (timeout_seconds is None or by.is_ready or loads):
            await asyncio.wait(coming, timeout=timeout_seconds)
        return [_result(each) for each in requested]

    def _time_for_vectors(self, deadline: float) -> float:
        """Return the seconds until the deadline (perf_counter), less what ranking will take."""
        remaining = max(deadline - time.perf_counter(), 0)
        lately = self._ranking_seconds
        reserve = remaining if lately is None else max(_RESERVE_FACTOR * lately, _LEAST_RESERVE_SECONDS)
        return remaining - min(reserve, remaining / 2)

    def _answer_before(self, request: SearchRequest) -> Recall:
        """Return what the same search found in the last ten minutes, as "partial"; "timeout" if there is none."""
        earlier = self._answers.get(_key(request))
        return Recall(outcome="timeout") if earlier is None else replace(earlier, weak=(), outcome="partial", stages={})

    def _remember(self, request: SearchRequest, recall: Recall) -> None:
        key = _key(request)
        self._answers[key] = recall
        self._answers.move_to_end(key)
        if len(self._answers) > _CACHED_SEARCHES:
            self._answers.popitem(last=False)


def _embedders(
    settings: EmbedderSettings,
    load: "Callable[[], Encoder] | None",
    breaker: "Breaker | None",
) -> tuple[Embedder, ...]:
    """Return the embedders: the first one of queries, the last one of memories; none for lexical search alone.

    A server gets two connections, so that a query need not wait for the round trip of a batch.
    """
    provider = provider_of(settings.provider)
    if load is not None:
        return (Embedder(load),)
    if not provider.load:
        return ()

    def make() -> "Encoder":
        encoder: Encoder = resolve_name(provider.load)(settings, breaker=breaker)
        return encoder

    if provider.is_server:
        return tuple(Embedder(make, retry_seconds=_SERVER_RETRY_SECONDS) for _ in range(2))
    return (Embedder(make),)


def _bundled() -> Embedder:
    from recall.encoding.encoder import bundled_encoder  # heavy, and not loaded where it is not used

    return Embedder(bundled_encoder)


def _prepare_all(entries: Sequence[Entry], _: "Index") -> "dict[str, SearchTerms]":
    return {entry.id: prepare(entry) for entry in entries}


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
    from recall.search.search import BestHits, best_hits, lexical_scores

    vector = None if vectors is None else QueryVector(vector=vectors[0], preceding=vectors[1])
    with index.following(request.scope):
        started = time.perf_counter()
        lexical = lexical_scores(index, request, vector, zone)
        seconds = time.perf_counter() - started
        best = BestHits() if lexical is None else best_hits(index, lexical, request)
    # Without rows, nothing could be found by meaning either.
    semantic = lexical is None or (vector is not None and index.fits(vector.vector))
    return _Ranked(best.hits, best.weak, semantic, index.rows.is_current(), seconds)


def _nearest(
    scope: str, texts: "Sequence[tuple[str, Vector | None]]", limit: int, index: "Index"
) -> list[tuple[Near, ...]]:
    from recall.search.nearest import nearest

    with index.following(scope):
        return [nearest(index, scope, text, vector, limit) for text, vector in texts]
