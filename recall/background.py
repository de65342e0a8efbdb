"""Gives vectors to the rows that have none, in batches small enough that no query waits long behind one."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import structlog

from recall.embedder import Embedder
from recall.index_thread import IndexThread
from recall.types import RecallError
from recall.worker import BACKGROUND

if TYPE_CHECKING:
    from recall.index import Index

__all__ = ["Background", "batches"]

_log = structlog.get_logger()

# About 10 ms of the encoder: which is what a query may find itself behind.
_BATCH_CHARACTERS = 800
_BATCH_TEXTS = 16
_READ_AT_ONCE = 256
_RETRY_SECONDS = 5.0


class Background:
    """Follows `wake`; `embedded` does what is left at once. One of them works at a time."""

    def __init__(self, thread: IndexThread, embedder: Embedder) -> None:
        self._thread = thread
        self._embedder = embedder
        self._waiting = asyncio.Event()
        self._working = asyncio.Lock()
        self._encoder_told = False

    def wake(self) -> None:
        """There may be rows without a vector."""
        self._waiting.set()

    async def run(self) -> None:
        """Work whenever there is something, for ever."""
        while True:
            await self._waiting.wait()
            self._waiting.clear()
            try:
                if await self._thread.run(_count, BACKGROUND):
                    await self.embedded()
            except RecallError as error:
                _log.warning("recall.embedding_failed", error=type(error.__cause__ or error).__name__)
                self._waiting.set()
                await asyncio.sleep(_RETRY_SECONDS)

    async def embedded(self) -> None:
        """Work until nothing is left, or the encoder cannot be loaded. Raises RecallError if it fails in between."""
        try:
            encoder = await self._embedder.loaded()
        except Exception:  # noqa: BLE001 - it was logged where it failed; words alone work
            return
        async with self._working:
            if not self._encoder_told:
                await self._thread.write(lambda index: index.use_encoder(encoder.name, encoder.dimension))
                self._encoder_told = True
            while waiting := await self._thread.run(_pending, BACKGROUND):
                for batch in batches(waiting):
                    await self._embed(batch)

    async def _embed(self, batch: Sequence[tuple[int, str]]) -> None:
        # What was just compared with the memories, before it became one, has its vector already.
        known = {sequence: vector for sequence, text in batch if (vector := self._embedder.cached(text)) is not None}
        missing = [(sequence, text) for sequence, text in batch if sequence not in known]
        if missing:
            try:
                made = await self._embedder.submit([text for _, text in missing], query=False)
            except RecallError:
                raise
            except Exception as error:
                raise RecallError("the encoder failed") from error
            known.update(zip((sequence for sequence, _ in missing), made, strict=True))
        await self._thread.write(lambda index: index.put_vectors(list(known), list(known.values())), BACKGROUND)


def batches(rows: Sequence[tuple[int, str]]) -> Iterator[Sequence[tuple[int, str]]]:
    """Rows in their order, as many at once as make no long call of the encoder."""
    start = 0
    while start < len(rows):
        end, characters = start + 1, len(rows[start][1])
        while end < len(rows) and end - start < _BATCH_TEXTS:
            characters += len(rows[end][1])
            if characters > _BATCH_CHARACTERS:
                break
            end += 1
        yield rows[start:end]
        start = end


def _count(index: "Index") -> int:
    return index.pending_count()


def _pending(index: "Index") -> list[tuple[int, str]]:
    return index.pending(_READ_AT_ONCE)
