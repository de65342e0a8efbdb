"""Computes the vectors of new rows in the background, in batches so small that no query waits long behind one."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.policies import backoff, is_logged, retry
from recall.embedder import Embedder, kind_of
from recall.index_thread import IndexThread
from recall.threads import BACKGROUND, WRITE
from recall.types import EmbeddingError, RecallError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recall.encoding.encoder import Encoder
    from recall.index.index import Index
    from recall.rows.tables import RowKey

_log = get_logger(__name__)

_READ_AT_ONCE = 256
_FEW = 64
_LOOK_SECONDS = 60.0
_LONGEST_RETRY_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """The size of a batch: what one call of the encoder gets at most."""

    texts: int
    characters: int


# About 10 ms of the encoder, which is what a query may have to wait.
BUNDLED_BATCHES = Batches(texts=16, characters=800)


class Background:
    """Computes missing vectors: `run` after each `wake`, `embedded` at once. Only one of them works at a time.

    cached: returns the vector of a text that is known already, or None.
    """

    def __init__(
        self,
        thread: IndexThread,
        embedder: Embedder,
        *,
        cached: "Callable[[str], NDArray[np.float32] | None] | None" = None,
        size: Batches = BUNDLED_BATCHES,
    ) -> None:
        self._thread = thread
        self._embedder = embedder
        self._cached = cached or embedder.cached
        self._size = size
        self._waiting = asyncio.Event()
        self._working = asyncio.Lock()

    def wake(self) -> None:
        """Say that there may be rows without a vector, or that the encoder has started to load."""
        self._waiting.set()

    async def run(self) -> None:
        """Work after each `wake`, until it is cancelled. What fails is tried again, with exponential backoff.

        It also looks from time to time for rows that another process has left without vectors.
        """
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await self._waiting.wait()
            self._waiting.clear()
            await retry(self._once, _pause)

    async def _once(self) -> None:
        # Without pending rows, a short-lived process needs no encoder.
        if not self._embedder.started and not await self._count():
            return
        await self._embed_all(await self._load())

    async def _count(self, priority: int = BACKGROUND) -> int:
        return await self._thread.run(lambda index: index.rows.totals()[1], priority)

    async def _load(self) -> "Encoder":
        try:
            return await self._embedder.loaded()
        except RecallError:
            raise
        except Exception as error:
            raise RecallError("the encoder could not be loaded") from error

    async def embedded(self) -> None:
        """Work until every row has its vector, or the encoder cannot be loaded.

        Raises:
            RecallError: it failed in between.
        """
        try:
            encoder = await self._load()
        except RecallError:  # the embedder has logged it, and lexical search works
            return
        await self._embed_all(encoder)

    async def catch_up(self, seconds: float) -> None:
        """Compute the missing vectors before a search, where they are few; give up after `seconds`.

        What was just saved, or by a process that closed at once, may have none yet.
        """
        try:
            async with asyncio.timeout(seconds):
                if 0 < await self._count(WRITE) <= _FEW:
                    await self.embedded()
        except (TimeoutError, RecallError):  # the search does without them, and `run` goes on
            self.wake()

    async def _embed_all(self, encoder: "Encoder") -> None:
        async with self._working:
            name, dimension, scale = encoder.name, encoder.dimension, encoder.scale

            def next_page(index: "Index") -> "tuple[bool, Sequence[tuple[RowKey, str]], bool]":
                """Return whether the encoder is used, the rows that wait, and whether there is more to do."""
                now = time.time()
                with index.following():
                    # It says again and again that it uses this encoder: a change takes hours.
                    is_used = index.use_encoder(name, dimension, scale, now)
                    rows = index.pending(_READ_AT_ONCE) if is_used else ()
                    return is_used, rows, bool(rows) or index.remove_unused_vectors(now)

            is_used, more = False, True
            while more:
                is_used, rows, more = await self._thread.run(next_page, BACKGROUND)
                for batch in batches(rows, self._size):
                    if not await self._embed(batch):
                        break
            if not is_used:
                _log.warning("recall.another_encoder")

    async def _embed(self, batch: "Sequence[tuple[RowKey, str]]") -> bool:
        """Store the vectors of a batch; return False where those of this encoder were removed."""
        # A memory was compared with the others before it was stored, so its vector is often cached.
        known = {row: vector for row, text in batch if (vector := self._cached(text)) is not None}
        missing = [(row, text) for row, text in batch if row not in known]
        if missing:
            vectors = await self._made([text for _, text in missing])
            known.update(zip((row for row, _ in missing), vectors, strict=True))
        return await self._thread.run(lambda index: index.put_vectors(list(known), list(known.values())), BACKGROUND)

    async def _made(self, texts: Sequence[str]) -> "Sequence[NDArray[np.float32]]":
        """Return the vectors of texts. Texts that a server refuses together are tried one by one.

        A text that is refused alone gets a zero vector, so that it is found by its words.
        """
        try:
            return list(await self._embedder.encode(texts))
        except EmbeddingError as error:
            if error.kind not in ("bad_request", "unreadable"):
                raise
            if len(texts) > 1:
                return [vector for text in texts for vector in await self._made([text])]
            _log.warning("recall.no_vector", error=error.kind)
            import numpy as np

            return [np.zeros(await self._thread.run(lambda index: index.dimension, BACKGROUND), np.float32)]
        except RecallError:
            raise
        except Exception as error:
            raise RecallError("the encoder failed") from error


def batches(
    rows: "Sequence[tuple[RowKey, str]]", size: Batches = BUNDLED_BATCHES
) -> "Iterator[Sequence[tuple[RowKey, str]]]":
    """Split rows, in their order, into batches of at most `size`."""
    start = 0
    while start < len(rows):
        end, characters = start + 1, len(rows[start][1])
        while end < len(rows) and end - start < size.texts:
            characters += len(rows[end][1])
            if characters > size.characters:
                break
            end += 1
        yield rows[start:end]
        start = end


def _pause(error: Exception, attempt: int) -> float | None:
    """Return the seconds to wait: at least what the server asks for, else longer each time."""
    if not isinstance(error, RecallError):
        return None
    if is_logged(attempt):
        cause = error if isinstance(error, EmbeddingError) else error.__cause__ or error
        _log.warning("recall.embedding_failed", error=kind_of(cause), attempt=attempt)
    least = error.retry_after_seconds if isinstance(error, EmbeddingError) else 0.0
    return max(least, backoff(attempt, longest=_LONGEST_RETRY_SECONDS))
