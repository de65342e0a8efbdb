"""`gateway-memory mcp`: the memory as an MCP server over stdio, for a client that starts it."""

import argparse
import asyncio
import sys
from typing import Final

from gateway_memory.cli.command import ShellCommand
from gateway_memory.cli.places import add_place, whose_of
from gateway_memory.config.load import load_config
from gateway_memory.errors import how_to_install

__all__ = ["COMMAND", "run"]

COMMAND: Final = ShellCommand(
    name="mcp",
    help=("an MCP server over stdio, for the client that starts it", "经 stdio 的 MCP 服务，由客户端启动"),
    add_arguments=add_place,
    run="gateway_memory.cli.mcp:run",
)


def run(args: argparse.Namespace) -> int:
    """Serve until the client closes the pipe; returns the exit code."""
    try:
        from gateway_memory.serving.mcp.server import serve_stdio
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in ("mcp", "mcp_types", "starlette"):
            raise
        sys.stderr.write(f"the MCP server needs the extra serve: {how_to_install('serve')}\n")
        return 1
    from gateway_memory.memory import GatewayMemory

    async def serve() -> None:
        async with GatewayMemory(load_config(args.config), args.workspace, agent=args.agent) as memory:
            await serve_stdio(memory, whose_of(args))

    asyncio.run(serve())
    return 0
