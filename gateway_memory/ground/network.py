"""Access to servers: addresses, keys, and clients whose answers are bounded."""

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol
from urllib.parse import urlsplit


class ServerSettings(Protocol):
    """The settings of a server that are common to models and encoders."""

    @property
    def base_url(self) -> str: ...

    @property
    def timeout_seconds(self) -> float: ...


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


def open_client(
    sdk: Any, name: str, settings: ServerSettings, key: str, most_bytes: int, too_large: Callable[[], Exception]
) -> Any:
    """Return a client of an SDK: its class `name`, in the module `openai` or `anthropic`. It tries nothing again.

    It asks for answers that are not compressed, since some kilobytes may unpack to gigabytes, and refuses others and
    those of more than `most_bytes`. It follows no redirect, which would carry the key and the texts to an address that
    nobody configured. It raises `too_large()`, which some versions of the SDKs make the cause of an error of theirs.

    key: "none" where a local server needs none; the SDKs require one.
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

    return getattr(sdk, name)(
        api_key=key,
        base_url=settings.base_url or None,
        max_retries=0,
        timeout=settings.timeout_seconds,
        http_client=Bounded(follow_redirects=False, timeout=settings.timeout_seconds),
    )


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
