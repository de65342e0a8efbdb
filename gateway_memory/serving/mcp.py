"""The memory as an MCP server for one scope a client: tools, resources and a prompt, over stdio or in the service."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import CallToolResult, InputRequiredResult, Tool
from pydantic import AnyHttpUrl, ValidationError
from starlette import types as asgi
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import BaseRoute, Route

from gateway_memory import __version__
from gateway_memory.errors import GatewayMemoryError
from gateway_memory.memory import GatewayMemory
from gateway_memory.scope import Whose
from gateway_memory.serving.access import Access
from gateway_memory.serving.app import Service
from gateway_memory.serving.arguments import mistakes_of, unknown_names
from gateway_memory.serving.mcp_context import AGENT_CLAIM, SCOPE_CLAIM, FindContext, context_of_token, open_context
from gateway_memory.serving.mcp_tools import INSTRUCTIONS, fill
from gateway_memory.serving.request import read_body
from gateway_memory.sessions.session import Session

PATH: Final = "/mcp"
_ISSUER: Final = AnyHttpUrl("http://localhost")
"""The SDK wants an issuer of tokens. Ours come from `gateway-memory token add`; no client is sent there."""


class _StrictServer(MCPServer):
    """Refuses arguments that a tool does not have, which the SDK ignores, and says what failed in the memory."""

    async def list_tools(self) -> list[Tool]:
        tools = await super().list_tools()
        for tool in tools:
            tool.input_schema = {**tool.input_schema, "additionalProperties": False}
        return tools

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        tools = {tool.name: tool.input_schema.get("properties", {}) for tool in await super().list_tools()}
        taken: Mapping[str, Any] = tools.get(name, {})
        if name in tools and (unknown := sorted(arguments.keys() - taken.keys())):
            raise ToolError(f"{name}: {unknown_names(unknown, taken)}")
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(f"{name}: {mistakes_of(error.__cause__, taken)[0]}") from None
            if isinstance(error.__cause__, GatewayMemoryError):
                raise ToolError(f"Error executing tool {name}: {error.__cause__}") from error.__cause__
            raise


def make_server(context_of: FindContext, *, verifier: TokenVerifier | None = None) -> MCPServer:
    """Return a server that refuses arguments which a tool does not have.

    verifier: checks the bearer token of each request over HTTP; None for stdio.
    """
    server = _StrictServer(
        "gateway-memory",
        title="Memory",
        instructions=INSTRUCTIONS,
        version=__version__,
        token_verifier=verifier,
        auth=None if verifier is None else AuthSettings(issuer_url=_ISSUER, resource_server_url=None),
        log_level="WARNING",
    )
    fill(server, context_of)
    return server


async def serve_stdio(memory: GatewayMemory, whose: Whose) -> None:
    """Serve a scope, and the project beside it, to the client that started this process, until the pipe is closed."""

    async def context() -> tuple[GatewayMemory, Session]:
        return await open_context(memory, "stdio", whose)

    await make_server(context).run_stdio_async()


_STREAM: Final = "GET"


@asynccontextmanager
async def mcp_routes(service: Service) -> AsyncIterator[Sequence[BaseRoute]]:
    """Serve MCP at /mcp meanwhile, to those who have the token of a client. An extension of `serve`."""
    context_of = context_of_token(lambda agent: service.agent(agent).memory)
    app = make_server(context_of, verifier=_Tokens(service.access)).streamable_http_app(
        streamable_http_path=PATH,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the service checks it
        max_request_body_size=service.limits.body_bytes,
    )
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

    def __init__(self, app: asgi.ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send) -> None:
        self._service.check_ready()
        if scope["method"] == _STREAM:
            await self._until_the_end(self._app(scope, receive, send))
        else:
            body = await read_body(Request(scope, receive), self._service.limits)
            await self._app(scope, _replay(body, receive), send)

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


def _replay(body: bytes, receive: asgi.Receive) -> asgi.Receive:
    """Return what gives a body that was read already, and then what else comes."""
    messages: list[asgi.Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receiving() -> asgi.Message:
        return messages.pop() if messages else await receive()

    return receiving
