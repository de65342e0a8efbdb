"""Whose memory an MCP client reaches. It is bound to the connection, so no argument can name another one's."""

from collections.abc import Awaitable, Callable
from typing import Final

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.mcpserver.exceptions import ToolError

from gateway_memory.memory import GatewayMemory
from gateway_memory.scope import Scope, Whose, resolve_scopes
from gateway_memory.sessions.session import Session

AGENT_CLAIM: Final = "agent"
SCOPE_CLAIM: Final = "scope"
"""The claims of a verified token: the agent, and the key of the scope (`owner`, `user:zoe`, `room:team`)."""


FindContext = Callable[[], Awaitable[tuple[GatewayMemory, Session]]]
"""Finds the open memory and the session of the client that asks."""


async def open_context(memory: GatewayMemory, client: str, whose: Whose) -> tuple[GatewayMemory, Session]:
    """Return the context of a client. client: the name in its session key."""
    kind = "group" if resolve_scopes(**whose)[0].kind.is_shared else "direct"
    return memory, await memory.start_session(f"agent:{memory.agent}:mcp:{kind}:{client}", **whose)


def context_of_token(memory_of: Callable[[str], GatewayMemory]) -> FindContext:
    """Return the finder for a service: the verified token names the agent and the scope.

    memory_of: returns the open memory of an agent.
    """

    async def find() -> tuple[GatewayMemory, Session]:
        token = get_access_token()
        if token is None or not token.claims:
            raise ToolError("this request has no verified token")
        memory, scope = memory_of(str(token.claims[AGENT_CLAIM])), Scope.parse(str(token.claims[SCOPE_CLAIM]))
        return await open_context(memory, token.client_id, scope.whose)

    return find
