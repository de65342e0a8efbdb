"""The way to the upstream and back: its bytes go on as they come, and the reply is read beside them."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

import httpx2
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from gateway_memory.ground.logs import get_logger
from gateway_memory.serving.proxy.forms import Heard, Reading
from gateway_memory.serving.proxy.speaker import is_ours

log = get_logger(__name__)

OUTCOME_HEADER: Final = "x-gateway-memory"
_OWN: Final = "x-gateway-memory"
_HOP: Final = frozenset(
    "connection keep-alive proxy-authenticate proxy-authorization te trailer transfer-encoding upgrade".split()
)
"""Headers of one connection."""
_NOT_SENT: Final = _HOP | {"host", "content-length", "accept-encoding", "cookie", "origin", "referer", "expect"}
"""Headers of a client that no upstream gets: a cookie is that of our own page."""
_NOT_RETURNED: Final = _HOP | {"date", "content-length", "content-encoding", "set-cookie", OUTCOME_HEADER}
_CONNECT_SECONDS: Final = 10.0
_SILENT_SECONDS: Final = 600.0
"""How long an upstream may think without a byte."""
_RETRIES: Final = 2
"""Of connecting alone: a request that was sent is never sent again."""
_PATH: Final = re.compile(r"(?:v1|api)(?:/[A-Za-z0-9_:-][A-Za-z0-9_.:-]*)+")
_STREAMS: Final = ("text/event-stream", "application/x-ndjson")

Finish = Callable[[Heard], Awaitable[None]]
"""Keeps the turn: called once, with what was heard of the reply until its end, or until it broke off."""


class UnreachableError(Exception):
    """The upstream can't be reached, or breaks off before it answers."""


@asynccontextmanager
async def upstream_client() -> AsyncIterator[httpx2.AsyncClient]:
    """Yield the client of the upstream, for as long as the service runs."""
    timeout = httpx2.Timeout(_SILENT_SECONDS, connect=_CONNECT_SECONDS)
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=64)
    transport = httpx2.AsyncHTTPTransport(retries=_RETRIES, limits=limits)
    async with httpx2.AsyncClient(timeout=timeout, transport=transport, follow_redirects=False) as client:
        client.headers.clear()
        yield client


def address(upstream: str, path: str, query: str) -> str:
    """Return the address of a path at the upstream. upstream: its base URL, which stands in the place of `…/v1`.

    Ollama's own paths begin with `api/`, and stand beside `/v1`.
    """
    base = upstream.rstrip("/")
    own = path.startswith("api/")
    url = f"{base.removesuffix('/v1')}/{path}" if own else f"{base}/{path.removeprefix('v1/')}"
    return f"{url}?{query}" if query else url


def is_path(path: str) -> bool:
    """Return whether a path may be passed on: plain segments that lead nowhere else."""
    return _PATH.fullmatch(path) is not None


def _sent(headers: Headers, family: str) -> list[tuple[str, str]]:
    """Return the headers that the upstream gets. A token of ours is no key of its."""
    ours = (_OWN, family) if family else (_OWN,)
    kept = [
        (name, value)
        for name, value in headers.items()
        if name not in _NOT_SENT and not name.startswith(ours) and not is_ours(value)
    ]
    return [*kept, ("accept-encoding", "identity")]


async def ask(
    client: httpx2.AsyncClient, method: str, url: str, headers: Headers, content: bytes | None, *, family: str = ""
) -> httpx2.Response:
    """Send a request on, and return the answer whose body is still to come.

    family: what the headers begin with that a host meant for us alone; "" for none.

    Raises:
        UnreachableError: the upstream does not answer.
    """
    try:
        request = client.build_request(method, url, headers=_sent(headers, family), content=content)
        return await client.send(request, stream=True)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        log.warning("proxy.upstream_failed", error=type(error).__name__)
        raise UnreachableError(type(error).__name__) from None


class Relayed(Response):
    """An upstream's answer on its way to the client.

    reading: reads the reply beside its bytes, with `finish`, which keeps the turn before the last piece goes out.
    A client that goes away ends the upstream's work, too.
    """

    def __init__(
        self, answer: httpx2.Response, outcome: str, reading: Reading | None = None, finish: Finish | None = None
    ) -> None:
        self._answer = answer
        self._reading = reading
        self._finish = finish
        self.status_code = answer.status_code
        self.background = None
        named = [(name.lower(), value) for name, value in answer.headers.raw]
        kept = [(name, value) for name, value in named if name.decode("latin-1") not in _NOT_RETURNED]
        self.raw_headers = [*kept, (OUTCOME_HEADER.encode(), outcome.encode())]

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.create_task(self._relay(send), name="gateway-memory-relay")
        leaving = asyncio.create_task(_left(receive), name="gateway-memory-client")
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                sending.cancel()
            await asyncio.wait((sending,))
            if not sending.cancelled() and (error := sending.exception()):
                raise error
        finally:
            leaving.cancel()
            sending.cancel()
            await asyncio.shield(self._answer.aclose())
            await self._end()

    async def _relay(self, send: Send) -> None:
        kind = self._answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if self._reading is not None and kind not in _STREAMS:
            await self._whole(send, self._reading)
            return
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        try:
            async for piece in self._answer.aiter_bytes():
                if self._reading is not None:
                    self._reading.feed(piece)
                    if self._reading.heard.over:
                        await self._end()
                await send(_piece(piece))
        except httpx2.HTTPError as error:  # the client sees the stream break, as the upstream's did
            log.warning("proxy.stream_broke", error=type(error).__name__)
            raise
        await send(_piece(b"", more=False))

    async def _whole(self, send: Send, reading: Reading) -> None:
        body = await self._answer.aread()
        reading.feed(body)
        reading.end()
        if reading.heard.over:
            await self._end()
        headers = [*self.raw_headers, (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": self.status_code, "headers": headers})
        await send(_piece(body, more=False))

    async def _end(self) -> None:
        """Keep the turn, once, whoever goes away meanwhile."""
        finish, self._finish = self._finish, None
        if finish is not None and self._reading is not None:
            await asyncio.shield(asyncio.ensure_future(finish(self._reading.heard)))


def _piece(body: bytes, *, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}


async def _left(receive: Receive) -> None:
    """Return when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
