"""`gateway-memory search QUERY --max-results N`: JSON for agents, from a fast lexical search or with --semantic."""

import argparse
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from gateway_memory.cli.options import Parser, add_whose, named_of, tell, whose_of
from gateway_memory.edge.shell_socket import ask
from gateway_memory.hooks.editors import workspace_of
from gateway_memory.hooks.state import settings_of, zone_of

_ROW: Final = ("text", "type", "score", "file", "at")


def make_parser() -> Parser:
    """Return the parser of this form of `search`."""
    parser = Parser(prog="gateway-memory search", section="search for agents")
    parser.add_argument("query", nargs="+", metavar="QUERY")
    parser.add_argument("--max-results", type=int, default=5, metavar="N")
    parser.add_argument("--semantic", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--workspace")
    add_whose(parser)
    parser.add_argument("--config", type=Path, help=None)
    return parser


def main(arguments: list[str]) -> int:
    """Print {"results": [{content, type, score, source, timestamp}], "semantic", "outcome"}; returns the exit code.

    The best result comes first. A gateway that has the workspace open is asked first. semantic: false where words alone
    were searched. outcome: "full", "empty", "partial" where a part was late, or "timeout" where nothing was ready.
    """
    parser = make_parser()
    args = parser.parse_args(arguments)
    if args.max_results < 1:
        parser.error("--max-results: expected a number from 1")
    workspace, query = workspace_of({}, args.workspace), " ".join(args.query)
    if not query.strip():
        parser.error("QUERY: expected a word to search for")
    if not workspace.is_dir():
        tell(f"{workspace}: there is no such folder; name the workspace with --workspace", beside=True)
        return 1
    request, named = {"query": query, "limit": args.max_results}, named_of(args)
    response = ask(workspace, {"agent": "main", **request, **named})
    if not response and (args.semantic or named):
        args.workspace = workspace
        response = _by_memory(args, request)
    if response:
        semantic, outcome = response["semantic"], response["outcome"]
        results = [_result(*(row[name] for name in _ROW)) for row in response["rows"]]
    else:
        from gateway_memory.hooks.words import lines_of, related_lines  # a gateway's answer does not need these imports
        from gateway_memory.store.validity import Today

        semantic = False
        zone = zone_of(settings_of(workspace, args.config)) if args.config else None
        today = Today(time.time(), zone)
        lines = lines_of(workspace, zone)
        hits = related_lines(lines, query, today, limit=args.max_results, min_score=0.0, past=True)
        results = [_result(line.text, line.type, round(score, 3), line.file, line.at) for score, line in hits]
        outcome = "full" if results else "empty"
    answer = {"results": results, "semantic": semantic, "outcome": outcome}
    sys.stdout.write(json.dumps(answer, ensure_ascii=False, indent=2) + "\n")
    return 0


def _by_memory(args: argparse.Namespace, request: dict[str, Any]) -> dict[str, Any]:
    """Open a memory and search it."""
    from gateway_memory.calls.shell import found_in_shell, settle
    from gateway_memory.cli.memory import in_memory
    from gateway_memory.memory import GatewayMemory
    from gateway_memory.observability.logs import configure_logging

    async def search(memory: GatewayMemory) -> dict[str, Any]:
        await settle(memory, whose_of(args))
        return await found_in_shell(memory, whose_of(args), **request)

    configure_logging(verbose=False)
    return in_memory(args, search)


def _result(text: str, kind: str, score: float, file: str, at: float) -> dict[str, Any]:
    timestamp = f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"
    return {"content": text, "type": kind, "score": score, "source": file, "timestamp": timestamp}
