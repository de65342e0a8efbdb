"""`gateway-memory serve`, `token`, `page` and `mcp`: the service, its clients' tokens, its page, and MCP over stdio."""

import argparse
import asyncio
import http.client
import json
import os
import sys
import threading
from collections.abc import Callable
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from gateway_memory.cli.places import WORKSPACE_VARIABLE, add_place, add_whose, add_workspace, no_folder, whose_of
from gateway_memory.commands.command import ShellCommand
from gateway_memory.config.load import load_config
from gateway_memory.errors import UsageError, how_to_install

__all__ = ["COMMANDS", "MCP_COMMAND", "PAGE_COMMANDS"]


_EXTRA: Final = ("starlette", "uvicorn", "mcp", "prometheus_client", "jinja2")


def add_serve(parser: argparse.ArgumentParser) -> None:
    """Add the options of a service."""
    parser.add_argument(
        "--workspace",
        type=Path,
        metavar="FOLDER",
        help=f"the memory's folder (default: serve.agents, else ${WORKSPACE_VARIABLE}, else ./workspace)",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="a config.json5 (default: the built-in settings)")
    parser.add_argument("--host", metavar="ADDRESS", help="instead of serve.host; not only this machine: needs TLS")
    parser.add_argument("--port", type=int, metavar="NUMBER", help="instead of serve.port; 0: any free one")
    parser.add_argument("--socket", metavar="PATH", help="listen at a Unix socket instead")


def _add_token(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True)
    add = actions.add_parser("add", help="make a token for one client, and print it: it is not shown again")
    add_workspace(add)
    add_whose(
        add,
        "for {} memory",
        owner=True,
        metrics="for GET /metrics alone, such as Prometheus's: it opens no memory",
    )
    add.add_argument("--name", default="", metavar="TEXT", help="what it is for")
    listed = actions.add_parser("list", help="list the tokens, without their texts")
    add_workspace(listed)
    revoke = actions.add_parser("revoke", help="let a token be good for nothing, at once")
    revoke.add_argument("id")
    add_workspace(revoke)


COMMANDS: Final = (
    ShellCommand(
        name="serve",
        help=("serve memories over HTTP to gateways and MCP clients", "通过 HTTP 向网关和 MCP 客户端提供记忆"),
        add_arguments=add_serve,
        run="gateway_memory.cli.serve:run_serve",
    ),
    ShellCommand(
        name="token",
        help=(
            "add, list and revoke the tokens of MCP clients, and of what reads the metrics",
            "添加、列出、吊销 MCP 客户端和指标采集的令牌",
        ),
        add_arguments=_add_token,
        run="gateway_memory.cli.serve:run_token",
    ),
)


def run_serve(args: argparse.Namespace) -> int:
    """Serve until a signal comes; returns the exit code."""
    return serve_with(args, lambda _address: None)


def serve_with(args: argparse.Namespace, started: Callable[[str], None]) -> int:
    """Serve until a signal comes; returns the exit code. started: called with the address when it listens."""
    missing = [name for name in _EXTRA if find_spec(name) is None]
    if missing:
        sys.stderr.write(f"{', '.join(missing)}: not installed; {how_to_install('serve')}\n")
        return 1
    from gateway_memory.observability.logs import configure_logging
    from gateway_memory.serving.mcp.mount import mcp_routes
    from gateway_memory.serving.page.mount import page_routes
    from gateway_memory.serving.place import place_of
    from gateway_memory.serving.server import serve
    from gateway_memory.serving.tokens import host_token_path

    config = load_config(args.config)
    default = Path(os.environ.get(WORKSPACE_VARIABLE) or "workspace")
    place = place_of(
        config, workspace=args.workspace, default=default, host=args.host, port=args.port, socket=args.socket
    )
    agent, folder = next(iter(place.workspaces.items()))
    configure_logging(verbose=args.verbose, workspace=folder, settings=config.for_agent(agent).logs)

    def listens(address: str) -> None:
        sys.stdout.write(f"gateway-memory serves at {address}\n")
        for name, workspace in place.workspaces.items():
            sys.stdout.write(f"  {name}: {workspace}, token in {host_token_path(workspace)}\n")
        sys.stdout.flush()
        started(address)

    asyncio.run(serve(config, place, started=listens, extensions=[mcp_routes, page_routes]))
    return 0


def run_token(args: argparse.Namespace) -> int:
    """Add, list or revoke client tokens; returns the exit code."""
    from gateway_memory.scope import resolve_scope
    from gateway_memory.serving.tokens import ClientTokens

    if no_folder(args.workspace):
        return 1
    tokens = ClientTokens(args.workspace.absolute())
    if args.action == "add":
        scope = None if args.metrics else resolve_scope(**whose_of(args))
        made, token = tokens.add(scope, args.name)
        sys.stdout.write(f"{token}\n")
        sys.stderr.write(f"{made.id}: for {made.scope}; this is the only time that the token is shown\n")
    elif args.action == "list":
        for each in tokens.all():
            day = datetime.fromtimestamp(each.added_at).astimezone().date()
            sys.stdout.write(f"{each.id}  {day}  {each.scope}  {each.name}".rstrip() + "\n")
    elif not tokens.revoke(args.id):
        raise UsageError(f"{args.id}: there is no such token; gateway-memory token list shows them")
    return 0


# `gateway-memory page`: a link that signs a browser in to the page of the service.

_LINK_SECONDS: Final = 10.0


def _add_page(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--url", metavar="URL", help="the address of the service (default: that of the config)")
    add_serve(parser)


PAGE_COMMANDS: Final = (
    ShellCommand(
        name="page",
        help=("see the memory in a browser, and mend it", "在浏览器里查看和修改记忆"),
        add_arguments=_add_page,
        run="gateway_memory.cli.serve:run_page",
    ),
)


def run_page(args: argparse.Namespace) -> int:
    """Print a link to the page of the service that runs, or start one; returns the exit code."""
    from gateway_memory.serving.tokens import host_token

    config = load_config(args.config)
    serve = config.serve
    folder = args.workspace or (Path(next(iter(serve.agents.values())).workspace) if serve.agents else None)
    workspace = (folder or Path(os.environ.get(WORKSPACE_VARIABLE) or "workspace")).expanduser().absolute()
    url = args.url or f"http://{args.host or serve.host}:{serve.port if args.port is None else args.port}"
    if workspace.is_dir():
        found = _link(url, host_token(workspace))
        if found:
            sys.stdout.write(f"{found}\n")
            return 0
        if args.url:
            sys.stderr.write(f"{url}: no service of {workspace} answers there; start it by `gateway-memory serve`\n")
            return 1

    def tell(address: str) -> None:
        found = _link(address, host_token(workspace))
        sys.stdout.write(f"Open this link once, within ten minutes; Ctrl+C ends the service:\n{found}\n")
        sys.stdout.flush()

    # The service answers only while its event loop is free.
    return serve_with(args, lambda address: threading.Thread(target=tell, args=(address,), daemon=True).start())


def _link(url: str, token: str) -> str | None:
    """Return the whole link that a service gives for a token; None if none answers there, or not to this token."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=_LINK_SECONDS)
    try:
        connection.request("POST", "/page/link", headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        if answer.status != http.client.OK:
            return None
        return f"{url}{json.load(answer)['path']}"
    except (OSError, ValueError, KeyError, http.client.HTTPException):
        return None
    finally:
        connection.close()


# `gateway-memory mcp`: the memory as an MCP server over stdio, for a client that starts it.

MCP_COMMAND: Final = ShellCommand(
    name="mcp",
    help=("an MCP server over stdio, for the client that starts it", "经 stdio 的 MCP 服务，由客户端启动"),
    add_arguments=add_place,
    run="gateway_memory.cli.serve:run_mcp",
)


def run_mcp(args: argparse.Namespace) -> int:
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
