"""`gateway-memory serve`, `token`, `page` and `mcp`: the service, its clients' tokens, its page, and MCP over stdio."""

import argparse
import asyncio
import contextvars
import http.client
import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from gateway_memory.cli.memory import in_memory
from gateway_memory.cli.options import WORKSPACE_VARIABLE, check_memory, tell, whose_of
from gateway_memory.config.load import load_config
from gateway_memory.config.serving import serve_options
from gateway_memory.connect.command import connection_to
from gateway_memory.errors import UsageError, how_to_install
from gateway_memory.observability.logs import configure_logging
from gateway_memory.scope import resolve_scope
from gateway_memory.serving.tokens import ClientTokens, host_token, host_token_path
from gateway_memory.store.disk.workspace import own_config

_EXTRA: Final = ("starlette", "uvicorn", "mcp", "prometheus_client", "jinja2", "httpx2")


def run_serve(args: argparse.Namespace, started: Callable[[str], None] = lambda _address: None) -> int:
    """Serve until a signal comes; returns the exit code. started: called with the address when it listens."""
    missing = [name for name in _EXTRA if find_spec(name) is None]
    if missing:
        tell(f"{', '.join(missing)}: not installed; {how_to_install('serve')}", beside=True)
        return 1
    from gateway_memory.serving.server import serve

    default = Path(os.environ.get(WORKSPACE_VARIABLE) or "workspace")
    config = serve_options(
        load_config(args.config, own=own_config(args.workspace or default)),
        workspace=args.workspace,
        default=default,
        host=args.host,
        port=args.port,
        socket=args.socket,
    )
    workspaces = {agent: Path(served.workspace) for agent, served in config.serve.agents.items()}
    agent, folder = next(iter(workspaces.items()))
    configure_logging(verbose=args.verbose, workspace=folder, settings=config.for_agent(agent).logs)

    def listens(address: str) -> None:
        tell(f"gateway-memory serves at {address}")
        for name, workspace in workspaces.items():
            tell(f"  {name}: {workspace}, token in {host_token_path(workspace)}")
        sys.stdout.flush()
        started(address)

    asyncio.run(serve(config, started=listens))
    return 0


def run_token(args: argparse.Namespace) -> int:
    """Add, list or revoke client tokens; returns the exit code."""
    tokens = ClientTokens(args.workspace.absolute())
    if args.action == "add":
        scope = None if args.metrics else resolve_scope(**whose_of(args))
        made, token = tokens.add(scope, args.name)
        sys.stdout.write(f"{token}\n")
        tell(f"{made.id}: for {made.scope}; this is the only time that the token is shown", beside=True)
    elif args.action == "list":
        for each in tokens.all():
            day = datetime.fromtimestamp(each.added_at).astimezone().date()
            sys.stdout.write(f"{each.id}  {day}  {each.scope}  {each.name}".rstrip() + "\n")
    elif tokens.revoke(args.id):
        tell(f"{args.id}: revoked; it is good for nothing from now on", beside=True)
    else:
        raise UsageError(f"{args.id}: there is no such token; gateway-memory token list shows them")
    return 0


def run_page(args: argparse.Namespace) -> int:
    """Print a link to the page of the service that runs, or start one; returns the exit code."""
    config = load_config(args.config)
    serve = config.serve
    folder = args.workspace or (Path(next(iter(serve.agents.values())).workspace) if serve.agents else None)
    workspace = (folder or Path(os.environ.get(WORKSPACE_VARIABLE) or "workspace")).expanduser().absolute()
    url = args.url or f"http://{args.host or serve.host}:{serve.port if args.port is None else args.port}"
    try:
        check_memory(argparse.Namespace(workspace=workspace, config=args.config))
    except UsageError:
        if not args.url:
            raise
        link = None  # nor is there a token of a service
    else:
        link = _link(url, host_token(workspace))
    if link:
        sys.stdout.write(f"{link}\n")
        return 0
    if args.url:
        tell(f"{url}: no service of {workspace} answers there; start it by `gateway-memory serve`", beside=True)
        return 1

    def print_link(address: str) -> None:
        link = _link(address, host_token(workspace))
        tell("Open this link once, within ten minutes; Ctrl+C ends the service:", link or "")
        sys.stdout.flush()

    # The service answers only while its event loop is free.
    def print_beside(address: str) -> None:
        speaking = contextvars.copy_context().run  # a thread of its own would not know the shell's language
        threading.Thread(target=speaking, args=(print_link, address), daemon=True).start()

    return run_serve(args, print_beside)


def _link(url: str, token: str) -> str | None:
    """Return the whole link that a service gives for a token; None if none answers there, or not to this token."""
    try:
        with closing(connection_to(url)) as connection:
            connection.request("POST", "/page/link", headers={"Authorization": f"Bearer {token}"})
            response = connection.getresponse()
            return f"{url}{json.load(response)['path']}" if response.status == http.client.OK else None
    except (OSError, ValueError, KeyError, http.client.HTTPException):
        return None


def run_mcp(args: argparse.Namespace) -> int:
    """Serve until the client closes the pipe; returns the exit code."""
    try:
        from gateway_memory.serving.mcp import serve_stdio
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in ("mcp", "mcp_types", "starlette"):
            raise
        tell(f"the MCP server needs the extra serve: {how_to_install('serve')}", beside=True)
        return 1
    in_memory(args, lambda memory: serve_stdio(memory, whose_of(args)))
    return 0
