"""The asyncio interface to the index's thread and the encoder's."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from recall.background import BUNDLED_BATCHES, Background, Batches
from recall.encoding.embedder import Embedder
from recall.index.thread import IndexThread
from recall.rows.sqlite import SqliteRows
from recall.search.query import SearchRequest
from recall.search.searcher import Searcher
from recall.settings import EmbedderSettings, RecallSettings
from recall.text.words import LONGEST_EMBEDDED
from recall.types import Entry, FileChange, FileEntries, Filter, Near, Recall, Stamp, Stored, Vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gateway_memory.runtime.ground import Breaker
    from recall.encoding.encoder import Encoder
    from recall.index.index import Index
    from recall.rows.sql import Rows
    from recall.rows.tables import SearchTerms

__all__ = ["Recaller"]

T = TypeVar("T")

# Search terms of new rows are made in batches of this size, so that a search never waits for a whole file.
_PREPARED_AT_ONCE = 100
_ENCODER_START_SECONDS = 0.1
_SERVER_RETRY_SECONDS = 10.0
_CATCH_UP_SECONDS = 2.0


class Recaller:
    """Search over the scopes of one index. It belongs to the event loop that opened it.

    index: the path of index.sqlite; None keeps everything in memory, and nothing on disk; or another store of rows.
    zone: in which "yesterday" is reckoned; None is the host's own. encoder: makes the encoder, in its own thread; by
    default it follows the settings. breaker: guards an embedding server.

    Every method raises RecallError before `open` and after `close`.
    """

    def __init__(
        self,
        index: "Path | Rows | None",
        settings: RecallSettings,
        *,
        zone: tzinfo | None,
        encoder: "Callable[[], Encoder] | None" = None,
        breaker: "Breaker | None" = None,
    ) -> None:
        self._settings = settings
        self._thread = IndexThread(SqliteRows(index) if index is None or isinstance(index, Path) else index)
        self._embedders = _embedders(settings.embedder, encoder, breaker)
        self._embedder = self._embedders[0] if self._embedders else None
        self._background = None
        self._starting: asyncio.TimerHandle | None = None
        if self._embedder is not None:
            size = BUNDLED_BATCHES
            if settings.embedder.provider == "openai" and encoder is None:
                texts = settings.embedder.batch_size
                size = Batches(texts=texts, characters=texts * LONGEST_EMBEDDED)
            cached = self._embedder.cached
            self._background = Background(self._thread, self._embedders[-1], cached=cached, size=size)
        self._searcher = Searcher(self._thread, self._embedder, zone)
        self.is_new = False
        """Whether the index was made anew when it was opened."""

    async def open(self) -> bool:
        """Open the index; return True if it was made anew, so that it needs everything again.

        The encoder loads afterwards, in its thread; until then, searches are lexical. A process that closes at once
        does not load it.
        """
        self.is_new = await self._thread.open()
        if self._embedder is not None:
            self._starting = asyncio.get_running_loop().call_later(_ENCODER_START_SECONDS, self._start_encoder)
        if self._background is not None:
            self._background.wake()
        return self.is_new

    def _start_encoder(self) -> None:
        for embedder in self._embedders:
            embedder.start()
        if self._background is not None:
            self._background.wake()

    async def close(self) -> None:
        """Stop the threads. One that hangs is left behind; it does not keep the process from ending."""
        if self._starting is not None:
            self._starting.cancel()
        await asyncio.gather(*(embedder.close() for embedder in self._embedders), self._thread.close())

    async def run(self) -> None:
        """Compute the vectors of new rows until it is cancelled; nothing is lost then."""
        if self._background is not None:
            await self._background.run()

    async def embedded(self) -> None:
        """Wait until every row has its vector; return at once if there is no encoder."""
        if self._background is not None:
            await self._background.embedded()

    async def vectors(self) -> Vectors:
        """Return how many memories have vectors, over all scopes. The encoder of this process need not be loaded."""
        return await self._read(lambda index: index.vectors())

    @property
    def problem(self) -> str:
        """The kind of the last failure of this process's encoder; "" while it works, or where there is none."""
        return next((embedder.problem for embedder in self._embedders if embedder.problem), "")

    async def _read(self, job: "Callable[[Index], T]") -> T:
        def following(index: "Index") -> T:
            index.follow()
            return job(index)

        return await self._thread.run(following, timeout_seconds=0)

    async def stamps(self, scope: str) -> dict[str, Stamp]:
        """Return the files of a scope as they were indexed; none after the index was found damaged."""
        return dict(await self._read(lambda index: index.rows.stamps(scope)))

    async def replace_file(self, scope: str, file: str, stamp: Stamp | None, entries: Sequence[Entry]) -> FileChange:
        """Replace a file's rows by `entries`, see `replace_files`; stamp None: the file is gone."""
        return await self.replace_files(scope, [FileEntries(name=file, stamp=stamp, entries=entries)])

    async def replace_files(self, scope: str, files: Sequence[FileEntries]) -> FileChange:
        """Replace the rows of files by their entries, in one transaction. No id is new in two of the files.

        Unchanged entries keep their rows and vectors. Ids are unique in a scope: a row of another file with one of
        these ids moves here. Raises RecallError: the index cannot be written.
        """
        fresh = await self._read(lambda index: index.unprepared(scope, files))
        prepared: dict[str, SearchTerms] = {}
        for start in range(0, len(fresh), _PREPARED_AT_ONCE):
            part = fresh[start : start + _PREPARED_AT_ONCE]
            prepared.update(await self._thread.run(_preparing(part)))
        change = await self._thread.run(lambda index: index.replace_files(scope, files, prepared))
        if change.added and self._background is not None:
            self._background.wake()
        return change

    async def revision(self, scope: str) -> int:
        """Return a scope's revision, which rises with each change of its rows."""
        return await self._read(lambda index: index.rows.revision(scope))

    async def added_since(self, scope: str, revision: int) -> tuple[int, tuple[Stored, ...]]:
        """Return a scope's revision, and its items that were inserted after `revision`, the oldest first."""
        current, rows = await self._read(lambda index: index.rows.added_since(scope, revision))
        return current, tuple(rows)

    async def get(self, scope: str, id: str) -> Stored | None:  # noqa: A002 - its name everywhere here
        """Return the row of an id."""
        return next(iter(await self._read(lambda index: index.rows.by_ids(scope, [id]))), None)

    async def owners(self, scope: str, ids: Sequence[str]) -> dict[str, str]:
        """Return the file of each of these ids, for those that the index knows."""
        return {row.entry.id: row.file for row in await self._read(lambda index: index.rows.by_ids(scope, ids))}

    @property
    def generation(self) -> int:
        """A number that rises when the index was replaced: it needs every file again, and revisions begin anew."""
        return self._thread.generation

    @property
    def replaced(self) -> int:
        """How often the index was found damaged, and made again, since this was opened."""
        return self._thread.replaced

    async def newest(self, scope: str, limit: int) -> tuple[Stored, ...]:
        """Return the items that were inserted last, the newest first."""
        return tuple(await self._read(lambda index: index.rows.newest(scope, limit)))

    async def listed(self, scope: str, only: Filter, limit: int) -> tuple[Stored, ...]:
        """Return the items of a scope that pass a filter, the newest first."""
        return tuple(await self._read(lambda index: index.rows.listed(scope, only, limit)))

    async def telling(self, scope: str, least: float, limit: int) -> tuple[Stored, ...]:
        """Return the passages of the user from an importance above .5 on, the most important first."""
        return tuple(await self._read(lambda index: index.rows.telling(scope, least, limit)))

    async def count(self, scope: str) -> int:
        """Return how many items a scope has."""
        return sum((await self.counts(scope)).values())

    async def counts(self, scope: str) -> Mapping[str, int]:
        """Return how many items a scope has, by category; "" where none is known."""
        return await self._read(lambda index: index.rows.counts(scope))

    async def warm(self, scope: str) -> None:
        """Load a scope, so that its first search need not."""
        await self._read(_loading(scope))

    async def search(
        self,
        scope: str,
        query: str,
        *,
        limit: int,
        min_score: float,
        timeout_seconds: float | None,
        now: float,
        episodes: int = 0,
        preceding: Sequence[str] = (),
        only: Filter | None = None,
        explain: bool = False,
        asked: bool = False,
        weak: int = 0,
    ) -> Recall:
        """Return the best memories of a scope for a message, best first, each with a score of at least `min_score`.

        It returns within `timeout_seconds`, whatever fails; the outcome says how it went.

        limit: at most so many memories. episodes: and so many episodes; one of a turn that a memory is from is left
        out. preceding: the turns before it, the oldest first. now: epoch seconds. only: which memories may be found.
        explain: the hits' `parts` hold the terms of their ranks. asked: the query was asked for as
        such and is no message: it waits for an encoder that is being loaded, and for the vectors of what was just
        saved, and recency counts less. weak: how many of those below `min_score` are returned, apart from the others.
        """
        started = time.perf_counter()
        request = SearchRequest(
            scope=scope,
            query=query,
            limit=limit,
            episodes=episodes,
            min_score=min_score,
            now=now,
            preceding=tuple(preceding),
            only=only,
            explain=explain,
            asked=asked,
            weak=weak,
        )
        if asked and self._background is not None:
            most = _CATCH_UP_SECONDS if timeout_seconds is None else min(timeout_seconds / 2, _CATCH_UP_SECONDS)
            await self._background.catch_up(most)
        left = None if timeout_seconds is None else max(timeout_seconds - (time.perf_counter() - started), 0)
        return await self._searcher.search(request, left)

    def expect(self, text: str) -> None:
        """Start to encode a text for which `nearest` will be called."""
        self._searcher.expect(text)

    async def encoded(
        self, texts: Sequence[str], timeout_seconds: float
    ) -> "tuple[str, list[NDArray[np.float32] | None]]":
        """Return the encoder's name, and the vectors of texts; None for those that are not there in time.

        An encoder that loads is waited for. The name is "" without one.
        """
        return await self._searcher.encoded(texts, timeout_seconds)

    async def nearest(
        self, scope: str, text: str, limit: int, *, timeout_seconds: float | None = None
    ) -> tuple[Near, ...]:
        """Return the items nearest to a text: the best by cosine and the best by words, without stage summaries.

        Where its vector is not there after `timeout_seconds` (by default the settings' timeout), by words alone.
        """
        return (await self.nearest_each(scope, [text], limit, timeout_seconds=timeout_seconds))[0]

    async def nearest_each(
        self, scope: str, texts: Sequence[str], limit: int, *, timeout_seconds: float | None = None
    ) -> list[tuple[Near, ...]]:
        """Return what `nearest` returns, for each of several texts."""
        if timeout_seconds is None:
            timeout_seconds = self._settings.timeout_ms / 1000
        return await self._searcher.nearest(scope, texts, limit, timeout_seconds)


def _embedders(
    settings: EmbedderSettings,
    load: "Callable[[], Encoder] | None",
    breaker: "Breaker | None",
) -> tuple[Embedder, ...]:
    """Return the embedders: the first one of queries, the last one of memories; none for lexical search alone.

    A server gets two connections, so that a query need not wait for the round trip of a batch.
    """
    if load is not None or settings.provider == "bundled":
        return (Embedder(load or _bundled),)
    if settings.provider == "none":
        return ()

    def serve() -> "Encoder":
        from recall.encoding.server import ServerEncoder

        return ServerEncoder(settings, breaker=breaker)

    return tuple(Embedder(serve, retry_seconds=_SERVER_RETRY_SECONDS) for _ in range(2))


def _bundled() -> "Encoder":
    from recall.encoding.encoder import bundled_encoder

    return bundled_encoder()


def _preparing(entries: Sequence[Entry]) -> "Callable[[Index], dict[str, SearchTerms]]":
    def job(_: "Index") -> "dict[str, SearchTerms]":
        from recall.rows.replacement import prepare

        return {entry.id: prepare(entry) for entry in entries}

    return job


def _loading(scope: str) -> "Callable[[Index], object]":
    return lambda index: index.warm(scope)
