"""Make an MCP server, and serve it over stdio or as an ASGI application."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from mcp.server.auth.provider import TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import CallToolResult, InputRequiredResult, Tool
from pydantic import AnyHttpUrl, ValidationError
from starlette.applications import Starlette

from gateway_memory import __version__
from gateway_memory.errors import GatewayMemoryError
from gateway_memory.memory import GatewayMemory
from gateway_memory.scope import Whose
from gateway_memory.serving.errors import mistakes_of, unknown_names
from gateway_memory.serving.mcp.tools import (
    INSTRUCTIONS,
    FindContext,
    MemoryContext,
    add_prompt,
    add_resources,
    add_tools,
    context_of_token,
    open_context,
)

__all__ = ["PATH", "http_app", "make_server", "memory_server", "serve_stdio"]

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


def make_server(fill: Callable[[MCPServer], None], *, verifier: TokenVerifier | None = None) -> MCPServer:
    """Return a server that refuses arguments which a tool does not have.

    fill: registers its tools, resources and prompts.
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
    fill(server)
    return server


def http_app(server: MCPServer, *, body_bytes: int) -> Starlette:
    """Return a server as an application with the one path `PATH` (streamable HTTP). Its lifespan must run.

    It leaves the check of Host and Origin to the caller. body_bytes: the longest body.
    """
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return server.streamable_http_app(
        streamable_http_path=PATH, transport_security=unchecked, max_request_body_size=body_bytes
    )


def memory_server(memory_of: Callable[[str], GatewayMemory], verifier: TokenVerifier) -> MCPServer:
    """Return the server of a service. memory_of: returns the open memory of an agent."""
    return make_server(_filling(context_of_token(memory_of)), verifier=verifier)


async def serve_stdio(memory: GatewayMemory, whose: Whose) -> None:
    """Serve one scope of an open memory to the client that started this process, until it closes the pipe."""

    async def context() -> MemoryContext:
        return await open_context(memory, "stdio", whose)

    await make_server(_filling(context)).run_stdio_async()


def _filling(context_of: FindContext) -> Callable[[MCPServer], None]:
    def fill(server: MCPServer) -> None:
        add_tools(server, context_of)
        add_resources(server, context_of)
        add_prompt(server)

    return fill
