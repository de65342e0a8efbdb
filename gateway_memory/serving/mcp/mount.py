"""The MCP server as a part of the service: its path, its tokens, its limits, and its end."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from typing import Final

from mcp.server.auth.provider import AccessToken
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway_memory.serving.access import Access
from gateway_memory.serving.app import Service
from gateway_memory.serving.mcp.server import PATH, http_app, memory_server
from gateway_memory.serving.mcp.tools import AGENT_CLAIM, SCOPE_CLAIM
from gateway_memory.serving.request import read_body

__all__ = ["mcp_routes"]

_STREAM: Final = "GET"


@asynccontextmanager
async def mcp_routes(service: Service) -> AsyncIterator[Sequence[BaseRoute]]:
    """Serve MCP at /mcp meanwhile, to those who have the token of a client. An extension of `serve`."""
    server = memory_server(lambda agent: service.agent(agent).memory, _Tokens(service.access))
    app = http_app(server, body_bytes=service.limits.body_bytes)
    async with _running(app):
        yield [Route(PATH, _Mounted(app, service), methods=None)]


@asynccontextmanager
async def _running(app: Starlette) -> AsyncIterator[None]:
    """Run an application's lifespan in a task of its own: it puts errors that pass through it into groups."""
    started, ended = asyncio.Event(), asyncio.Event()

    async def live() -> None:
        async with app.router.lifespan_context(app):
            started.set()
            await ended.wait()

    life = asyncio.create_task(live(), name="gateway-memory-mcp")
    starting = asyncio.create_task(started.wait())
    await asyncio.wait((life, starting), return_when=asyncio.FIRST_COMPLETED)
    starting.cancel()
    try:
        yield
    finally:
        ended.set()
        await life


class _Tokens:
    """The SDK's verifier. A host's token is bound to no scope, and is refused."""

    def __init__(self, access: Access) -> None:
        self._access = access

    async def verify_token(self, token: str) -> AccessToken | None:
        grant = self._access.grant_of(token)
        if grant is None or grant.kind != "client":
            return None
        claims = {AGENT_CLAIM: grant.agent, SCOPE_CLAIM: grant.scope}
        return AccessToken(token=token, client_id=grant.client, scopes=[], claims=claims)


class _Mounted:
    """The application, with the service's limits for a body. A stream ends when the service stops."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._service.check_ready()
        if scope["method"] == _STREAM:
            await self._until_the_end(self._app(scope, receive, send))
        else:
            body = await read_body(Request(scope, receive), self._service.limits)
            await self._app(scope, _replayed(body, receive), send)

    async def _until_the_end(self, answering: Awaitable[None]) -> None:
        stream = asyncio.ensure_future(answering)
        stopping = asyncio.ensure_future(self._service.stopping.wait())
        try:
            await asyncio.wait((stream, stopping), return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            if not stream.done():
                stream.cancel()
        await asyncio.wait((stream,))
        if not stream.cancelled():
            stream.result()


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return what gives a body that was read already, and then what else comes."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receiving() -> Message:
        return messages.pop() if messages else await receive()

    return receiving
