"""Access to servers: addresses, keys, clients whose answers are bounded, and a circuit breaker."""

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

SERVER_BACKOFF_SECONDS: Final = 1.0
"""How long a database server that did not answer is left alone."""


class Breaker:
    """A circuit breaker: a server that keeps failing is not called for a while. Sans I/O; time is an argument.

    It opens after some failures in a row. After `open_seconds` it lets one call through, which closes or reopens it.
    Times are seconds of one monotonic clock.
    """

    def __init__(self, *, failures: int = 3, open_seconds: float = 300.0) -> None:
        self._failures = failures
        self._open_seconds = open_seconds
        self._failed = 0
        self._tried_at = 0.0

    @property
    def is_open(self) -> bool:
        """Whether the server is not called for a while."""
        return self._failed >= self._failures

    def allows(self, now: float) -> bool:
        """Return whether a call may be made now. While the breaker is open, only one may in each `open_seconds`."""
        if not self.is_open:
            return True
        if now - self._tried_at < self._open_seconds:
            return False
        self._tried_at = now
        return True

    def succeeded(self) -> None:
        """Note that a call was answered."""
        self._failed = 0

    def failed(self, now: float) -> None:
        """Note that a call failed, its retries included."""
        self._failed += 1
        self._tried_at = now


def is_base_url(url: str) -> bool:
    """Return whether a URL is "" (the provider's own) or an address to which a request can be sent."""
    if not url:
        return True
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # an invalid port or bracketed address
        return False
    named = parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0
    return named and url.isprintable() and not any(character.isspace() for character in url)


def api_key(provider: str, base_url: str, variable: str) -> str:
    """Return the key in an environment variable, or "".

    provider: "openai" or "anthropic", whose usual variable is read if none is named. Its key goes to the provider's own
    address alone.
    """
    if not variable and base_url:
        host = urlsplit(base_url).hostname or ""
        if host != f"{provider}.com" and not host.endswith(f".{provider}.com"):
            return ""
    return os.environ.get(variable or f"{provider.upper()}_API_KEY", "").strip()


def bounded_client(sdk: Any, timeout_seconds: float, most_bytes: int, too_large: Callable[[], Exception]) -> Any:
    """Return an HTTP client for an SDK (the module `openai` or `anthropic`), which closes it.

    It asks for answers that are not compressed, since some kilobytes may unpack to gigabytes, and refuses others and
    those of more than `most_bytes`. It follows no redirect, which would carry the key and the texts to an address that
    nobody configured. It raises `too_large()`, which some versions of the SDKs make the cause of an error of theirs.
    """

    class Bounded(sdk.DefaultAsyncHttpxClient):  # type: ignore[misc] # of httpx or httpx2, as the SDK's version has it
        async def send(self, request: Any, **options: Any) -> Any:
            request.headers["Accept-Encoding"] = "identity"
            response = await super().send(request, **{**options, "stream": True})
            body = bytearray()
            try:
                if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
                    raise too_large()
                async for part in response.aiter_raw():
                    body += part
                    if len(body) > most_bytes:
                        raise too_large()
            finally:
                await response.aclose()
            return type(response)(
                response.status_code, headers=response.headers, content=bytes(body), request=response.request
            )

    return Bounded(follow_redirects=False, timeout=timeout_seconds)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait; None where it does not.

    RFC 9110 10.2.3 has seconds or a date, OpenAI a header in milliseconds.
    """
    from email.utils import parsedate_to_datetime  # most processes call no server

    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        value = headers.get("retry-after", "")
        if not value:
            return None
        if value.replace(".", "", 1).isdigit():
            return float(value)
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
