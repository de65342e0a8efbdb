"""The HTTP client of the models' SDKs, which reads an answer as far as one may go, and follows no redirect."""

from typing import Any, Final

from extractor.errors import ModelError

__all__ = ["bounded_client"]

MOST_BYTES: Final = 1_048_576
"""Many times an answer of `MAX_OUTPUT_TOKENS`, with what a server tells of how it came to it."""


def bounded_client(sdk: Any, timeout_seconds: float) -> Any:
    """Return an HTTP client for an SDK (the module `openai` or `anthropic`), which closes it.

    It asks for answers that are not compressed, since some kilobytes may unpack to gigabytes, and refuses others. It
    follows no redirect, which would carry the key and the messages to an address that nobody configured. It
    raises ModelError("too_large"), which some versions of the SDKs make the cause of an error of theirs.
    """

    class Bounded(sdk.DefaultAsyncHttpxClient):  # type: ignore[misc] # of httpx or httpx2, as the SDK's version has it
        async def send(self, request: Any, **options: Any) -> Any:
            request.headers["Accept-Encoding"] = "identity"
            response = await super().send(request, **{**options, "stream": True})
            body = bytearray()
            try:
                if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
                    raise ModelError("too_large")
                async for part in response.aiter_raw():
                    body += part
                    if len(body) > MOST_BYTES:
                        raise ModelError("too_large")
            finally:
                await response.aclose()
            return type(response)(
                response.status_code, headers=response.headers, content=bytes(body), request=response.request
            )

    return Bounded(follow_redirects=False, timeout=timeout_seconds)
