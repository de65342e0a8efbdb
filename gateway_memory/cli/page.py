"""`gateway-memory page`: a link that signs a browser in to the page of the service."""

import argparse
import http.client
import json
import os
import sys
import threading
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from gateway_memory.cli.command import ShellCommand
from gateway_memory.cli.places import WORKSPACE_VARIABLE
from gateway_memory.cli.serve import add_serve, serve_with

__all__ = ["COMMANDS", "run"]

_SECONDS: Final = 10.0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--url", metavar="URL", help="the address of the service (default: that of the config)")
    add_serve(parser)


COMMANDS: Final = (
    ShellCommand(
        name="page",
        help=("see the memory in a browser, and mend it", "在浏览器里查看和修改记忆"),
        add_arguments=_add_arguments,
        run="gateway_memory.cli.page:run",
    ),
)


def run(args: argparse.Namespace) -> int:
    """Print a link to the page of the service that runs, or start one; returns the exit code."""
    from gateway_memory.config.load import load_config
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
    connection = kind(parts.hostname or "", parts.port, timeout=_SECONDS)
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
