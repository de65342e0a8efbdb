"""Whose memory an MCP client reaches. It is bound to the connection, so no argument can name another person."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.mcpserver.exceptions import ToolError

from gateway_memory.errors import GatewayMemoryError
from gateway_memory.memory import GatewayMemory
from gateway_memory.scope import Scope, Whose, resolve_scope
from gateway_memory.session import Session

__all__ = ["AGENT_CLAIM", "SCOPE_CLAIM", "Desk", "FindDesk", "desk_of_token", "open_desk"]

AGENT_CLAIM: Final = "agent"
SCOPE_CLAIM: Final = "scope"
"""The claims of a verified token: the agent, and the key of the scope (`owner`, `user:zoe`, `room:team`)."""


@dataclass(frozen=True, slots=True)
class Desk:
    """An open memory, and the session of the client that asks."""

    memory: GatewayMemory
    session: Session


FindDesk = Callable[[], Awaitable[Desk]]


async def open_desk(memory: GatewayMemory, client: str, whose: Whose) -> Desk:
    """Return the desk of a client. client: the name in its session key."""
    place = "group" if resolve_scope(**whose).kind.is_shared else "direct"
    return Desk(memory, await memory.start_session(f"agent:{memory.agent}:mcp:{place}:{client}", **whose))


def desk_of_token(memory_of: Callable[[str], GatewayMemory]) -> FindDesk:
    """Return the finder for a service: the verified token names the agent and the scope.

    memory_of: returns the open memory of an agent.
    """

    async def find() -> Desk:
        token = get_access_token()
        if token is None or not token.claims:
            raise ToolError("this request has no verified token")
        try:
            return await open_desk(
                memory_of(str(token.claims[AGENT_CLAIM])),
                token.client_id,
                Scope.parse(str(token.claims[SCOPE_CLAIM])).whose,
            )
        except GatewayMemoryError as error:
            raise ToolError(str(error)) from error

    return find
