"""What `gateway-memory connect HOST` and `gateway-memory disconnect HOST` do."""

import argparse
import http.client
import json
import shutil
import socket
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from gateway_memory.blocking import BlockingMemory
from gateway_memory.config.load import load_config
from gateway_memory.connect.plan import Plan, Where
from gateway_memory.connect.proxy import HOSTS, NAME, base_urls
from gateway_memory.edge.phrases import shown
from gateway_memory.errors import GatewayMemoryError, UsageError
from gateway_memory.scope import OWNER
from gateway_memory.store.disk.workspace import own_config

_SECONDS: Final = 10.0


def run_connect(args: argparse.Namespace) -> int:
    """Check the service, change the gateway's config, and copy the plugin. Return the exit code."""
    token = (args.workspace.expanduser() / ".gateway-memory" / "token").absolute()
    config = args.config.expanduser().absolute() if args.config else None
    where = Where(
        url=args.url,
        token=token,
        workspace=args.workspace.expanduser().absolute(),
        config=config,
        upstream=args.upstream.rstrip("/"),
        people=tuple(args.person),
    )
    plan = _plan(args, where)
    _show(plan)
    if args.dry_run:
        _say(["Nothing was changed: this was a dry run."])
        return 0
    if plan.in_process:
        check_workspace(where)
    else:
        check_service(where)
    for source, target in plan.copies.items():
        if _content(source) != _content(target):
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target)
    for change in plan.changes:
        change.connect()
    _say([f"The memory in {where.workspace} opens." if plan.in_process else f"The service at {where.url} answers."])
    _say(base_urls(where) if args.host == NAME else [])
    _say(list(plan.advice))
    here = f" --file {plan.changes[-1].path}" if args.host == NAME else ""
    _say([f"`gateway-memory disconnect {args.host}{here}` takes it back."])
    return 0


def _show(plan: Plan) -> None:
    for change in plan.changes:
        _say([f"{change.path}:", *(change.shown() or ["  nothing to change"])])
    new = [target for source, target in plan.copies.items() if _content(source) != _content(target)]
    _say([f"{target}: gets the plugin's files" for target in new])


def run_disconnect(args: argparse.Namespace) -> int:
    """Give the gateway its former config back, and remove the plugin. Return the exit code."""
    plan = _plan(args, Where(url="", token=Path()))
    removed = [change.disconnect() for change in plan.changes]
    for target in plan.copies.values():
        shutil.rmtree(target, ignore_errors=True)
        with suppress(OSError):  # what waits to be sent stays
            target.parent.rmdir()
    _say([f"{plan.changes[-1].path}: {'the memory is out' if any(removed) else 'there is nothing of ours'}"])
    return 0


def check_service(where: Where) -> None:
    """Make one round trip with the token, which changes nothing.

    Raises:
        UsageError: the service does not answer, or refuses the token.
    """
    try:
        token = where.token.read_text("utf-8").strip()
    except OSError:
        raise UsageError(
            f"{where.token}: there is no token; `gateway-memory serve` makes it at its first start. "
            "Start it, and name its folder with --workspace. Nothing was changed."
        ) from None
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    body = json.dumps({"key": "gateway-memory connect", "done": True})  # of no session
    try:
        with closing(connection_to(where.url)) as connection:
            connection.request("POST", "/v1/compaction", body, headers)
            status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        problem = f"the service at {where.url} does not answer ({error}); start `gateway-memory serve` first"
        raise UsageError(f"{problem}. Nothing was changed.") from None
    if status != http.client.OK:
        why = "does not know this token: is it that of another folder?" if status in (401, 403) else f"says {status}"
        raise UsageError(f"the service at {where.url} {why} ({where.token}). Nothing was changed.")


def check_workspace(where: Where) -> None:
    """Open the memory once, and read from it.

    Raises:
        UsageError: the memory or its config can't be used.
    """
    try:
        with BlockingMemory(load_config(where.config, own=own_config(where.workspace)), where.workspace) as memory:
            memory.command(memory.visit(user=OWNER), "/memory status")
    except (GatewayMemoryError, OSError) as error:
        raise UsageError(f"the memory in {where.workspace} can't be used: {error}. Nothing was changed.") from None


def connection_to(url: str) -> http.client.HTTPConnection:
    """Return a connection to a service. Raises UsageError: the URL has another form; OSError: no Unix socket there."""
    if url.startswith("unix:"):
        connection = http.client.HTTPConnection("localhost", timeout=_SECONDS)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(_SECONDS)
        connection.sock.connect(url.removeprefix("unix:"))
        return connection
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{url}: expected http://…, https://… or unix:/path")
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(parts.hostname, parts.port, timeout=_SECONDS)


def _plan(args: argparse.Namespace, where: Where) -> Plan:
    return HOSTS[args.host](where, args.file.expanduser().absolute() if args.file else None)


def _content(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.iterdir() if path.is_file()] if folder.is_dir() else []
    return {path.name: path.read_bytes() for path in files}


def _say(lines: list[str]) -> None:
    sys.stdout.write("".join(f"{shown(line)}\n" for line in lines))
