"""An encoder behind an OpenAI-compatible `/v1/embeddings`: one attempt a call, within its own deadline, and checked.

The caller decides about retries: a late query vector is of no use, while the background waits and tries again. The
SDK's own retries are off, and the SDK is imported in the encoder's thread.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from gateway_memory.ground.network import api_key, open_client, retry_after
from gateway_memory.ground.policies import Breaker
from recall.encoding.scale import SAMPLES, scale_of, unit_rows
from recall.settings import EmbedderSettings
from recall.types import EmbeddingError

_RATE_LIMIT: Final = 429
_REDIRECTS: Final = range(300, 400)
_SERVER_ERROR: Final = 500
_ANSWER_BYTES: Final = 1_048_576
"""What an answer may have, besides what each of its vectors may."""
_VECTOR_BYTES: Final = 131_072
"""Of one vector, as JSON: 4,096 numbers of 25 characters, and some more."""
_KINDS: Final = {
    400: "bad_request", 413: "bad_request", 422: "bad_request", 408: "timeout", 504: "timeout", 429: "rate_limit",
}  # fmt: skip
# At debug level the SDK logs whole requests, which contain memories.
_TALKATIVE: Final = ("openai._base_client", "openai._response", "openai._legacy_response")


def _is_not_ours(record: logging.LogRecord) -> bool:
    return not (record.threadName or "").startswith("recall-")


class ServerEncoder:
    """An encoder behind a server. It is made and used in one thread, where it runs its own event loop for deadlines.

    The constructor requests the vectors of some sample texts, for the dimension and the scale.

    Raises:
        EmbeddingError: the server gives no usable vectors.
    """

    def __init__(self, settings: EmbedderSettings, *, breaker: Breaker | None = None) -> None:
        key = api_key("openai", settings.base_url, settings.api_key_env)
        if not key and not settings.base_url:
            raise EmbeddingError("no_key")
        import openai

        for name in _TALKATIVE:
            logging.getLogger(name).addFilter(_is_not_ours)
        self._sdk: Any = openai
        self._settings = settings
        self._breaker = breaker or Breaker()
        self._loop = asyncio.new_event_loop()
        most = _ANSWER_BYTES + _VECTOR_BYTES * max(settings.batch_size, len(SAMPLES))
        self._client = open_client(
            openai, "AsyncOpenAI", settings, key or "none", most, lambda: EmbeddingError("too_large")
        )
        self.dimension = 0
        try:
            samples = self._samples()
        except BaseException:
            self.close()
            raise
        self.dimension = samples.shape[1]
        self.scale = scale_of(samples)
        # The server is part of the name: another one's model of the same name may be another model.
        place = urlsplit(str(self._client.base_url))
        self.name = f"{settings.model}@{place.hostname}:{place.port or ''}{place.path.rstrip('/')}"

    def close(self) -> None:
        """Close the connections and the loop."""
        try:
            self._loop.run_until_complete(self._client.close())
        finally:
            self._loop.close()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (len(texts), dimension): rows of length 1, or zero for a text without a usable vector.

        Raises:
            EmbeddingError: whatever fails.
        """
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for start in range(0, len(texts), self._settings.batch_size):
            some = [text if text.strip() else "." for text in texts[start:][: self._settings.batch_size]]
            with self._breaker.guard(lambda: EmbeddingError("circuit_open"), lambda _: True):
                rows = self._batch(some)
            vectors[start : start + len(rows)] = rows
        return vectors

    def _samples(self) -> NDArray[np.float32]:
        rows = self._batch(SAMPLES)
        if not rows.any(axis=1).all():
            raise EmbeddingError("unreadable")
        return rows

    def _batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        answer = self._loop.run_until_complete(self._ask(texts))
        try:
            data = sorted(answer.data, key=lambda each: each.index)
            if [each.index for each in data] != list(range(len(texts))):
                raise EmbeddingError("unreadable")
            rows = [np.asarray(each.embedding, np.float64) for each in data]
        except (AttributeError, TypeError, ValueError):
            raise EmbeddingError("unreadable") from None
        dimension = self.dimension or self._settings.dimensions or (rows[0].size if rows else 0)
        if any(row.shape != (dimension,) for row in rows):
            raise EmbeddingError("dimension")
        return unit_rows(np.stack(rows))

    async def _ask(self, texts: Sequence[str]) -> Any:
        request: dict[str, Any] = {"model": self._settings.model, "input": list(texts), "encoding_format": "float"}
        if self._settings.dimensions:
            request["dimensions"] = self._settings.dimensions
        try:
            async with asyncio.timeout(self._settings.timeout_seconds):
                return await self._client.embeddings.create(**request)
        except TimeoutError:
            raise EmbeddingError("timeout") from None
        except self._sdk.OpenAIError as error:
            raise self._translate(error) from None
        except (AttributeError, IndexError, TypeError, ValueError):  # a proxy's page, a body cut off
            raise EmbeddingError("unreadable") from None

    def _translate(self, error: Any) -> EmbeddingError:
        if isinstance(error.__cause__, EmbeddingError):
            return error.__cause__
        if isinstance(error, self._sdk.APIStatusError):
            status: int = error.status_code
            if status in _REDIRECTS:
                return EmbeddingError("redirects")
            seconds = retry_after(error.response.headers) if status == _RATE_LIMIT else None
            kind = _KINDS.get(status, "overloaded" if status >= _SERVER_ERROR else "refused")
            return EmbeddingError(kind, retry_after_seconds=seconds or 0.0)
        if isinstance(error, self._sdk.APITimeoutError):
            return EmbeddingError("timeout")
        return EmbeddingError("connection" if isinstance(error, self._sdk.APIConnectionError) else "unreadable")
