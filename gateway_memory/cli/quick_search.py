"""`gateway-memory search QUERY --max-results N`: JSON for agents, from a fast lexical search or with --semantic."""

import argparse
import json
import sys
import time
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gateway_memory.cli.places import add_whose
from gateway_memory.clock import day_of
from gateway_memory.hooks.run import workspace_of
from gateway_memory.hooks.state import settings_of, zone_of
from gateway_memory.hooks.words import best, index_follows, lines_of
from gateway_memory.store.disk.workspace import INDEX_FILE

if TYPE_CHECKING:
    from gateway_memory.scope import Owner

__all__ = ["main"]

_MIN_SHARE: Final = 0.2
_SEARCH_SECONDS: Final = 30.0


def main(arguments: list[str]) -> int:
    """Print {"results": [{content, type, score, source, timestamp}]}, best first; returns the exit code."""
    parser = argparse.ArgumentParser(prog="gateway-memory search")
    parser.add_argument("query", nargs="+", metavar="QUERY")
    parser.add_argument("--max-results", type=int, default=5, metavar="N")
    parser.add_argument("--semantic", action="store_true", help="by meaning too; loads the encoder")
    parser.add_argument("--json", action="store_true", help="as it is in any case")
    parser.add_argument("--workspace")
    add_whose(parser, user="a person's memory instead of the owner's", room="a group's")
    parser.add_argument("--config", type=Path)
    args = parser.parse_args(arguments)
    if args.max_results < 1:
        parser.error("--max-results: expected a number from 1")
    workspace, query = workspace_of({}, args.workspace), " ".join(args.query)
    if not query.strip():
        parser.error("QUERY: expected a word to search for")
    if not workspace.is_dir():
        sys.stderr.write(f"{workspace}: there is no such folder; name the workspace with --workspace\n")
        return 1
    if (args.user, args.room) != (None, None):
        import asyncio

        found = _by_memory(workspace, args.config, query, args.max_results, user=args.user, room=args.room)
        results = asyncio.run(found)
    elif args.semantic:
        results = _by_meaning(workspace, args.config, query, args.max_results)
    else:
        zone = zone_of(settings_of(workspace, args.config)) if args.config else None
        lines = best(lines_of(workspace, zone, time.time()), query, limit=args.max_results, min_score=_MIN_SHARE)
        results = [_result(line.text, line.type, line.score, line.file, line.at) for line in lines]
    sys.stdout.write(json.dumps({"results": results}, ensure_ascii=False, indent=2) + "\n")
    return 0


def _by_meaning(workspace: Path, config: Path | None, query: str, limit: int) -> list[dict[str, Any]]:
    """Ask the index as it stands, by recall's own ranking; where that needs more, such as a server, a whole memory."""
    import asyncio

    settings = settings_of(workspace, config)
    if settings["autoRecall"]["embedder"]["provider"] != "bundled" or not index_follows(workspace, embedded=True):
        return asyncio.run(_by_memory(workspace, config, query, limit))
    zone = zone_of(settings)
    found = asyncio.run(_by_index(workspace, query, limit, zone))
    return asyncio.run(_by_memory(workspace, config, query, limit)) if found is None else found


async def _by_index(workspace: Path, query: str, limit: int, zone: tzinfo | None) -> list[dict[str, Any]] | None:
    """Return what the index finds; None where it was of another version, or damaged, and begins anew."""
    import logging
    import time

    import structlog

    from extractor import clean
    from recall import Recaller, RecallError, RecallSettings

    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )

    now = time.time()
    recaller = Recaller(workspace / INDEX_FILE, RecallSettings(), zone=zone)
    if await recaller.open():
        await recaller.close()
        return None
    try:
        try:
            await recaller.embedded()  # which checks that the index has vectors of this encoder
        except RecallError as error:  # words alone are searched, as in a gateway
            sys.stderr.write(f"{error}\n")
        found = await recaller.search(
            "owner",
            clean(query).text,
            limit=limit,
            min_score=0.0,
            timeout_seconds=_SEARCH_SECONDS,
            now=now,
        )
    finally:
        await recaller.close()
    today = day_of(now, zone)
    hits = [hit for hit in found.hits if hit.holds_on(today)]
    return [_result(hit.text, hit.type, round(hit.score, 3), hit.file, hit.at) for hit in hits]


async def _by_memory(
    workspace: Path,
    config: Path | None,
    query: str,
    limit: int,
    *,
    user: "Owner | str | None" = None,
    room: str | None = None,
) -> list[dict[str, Any]]:
    """Open a memory and search it; without `user` and `room`, the owner's."""
    from gateway_memory.config.load import load_config
    from gateway_memory.memory import GatewayMemory
    from gateway_memory.observability.logs import configure_logging
    from gateway_memory.scope import OWNER

    configure_logging(verbose=False)
    async with GatewayMemory(load_config(config), workspace) as memory:
        session = await memory.visit(user=OWNER if (user, room) == (None, None) else user, room=room)
        await memory.flush()  # waits until new memories have vectors
        hits = await memory.search(session, query, limit=limit)
        return [_result(hit.text, hit.type, round(hit.score, 3), hit.file, hit.at) for hit in hits]


def _result(text: str, kind: str, score: float, file: str, at: float) -> dict[str, Any]:
    timestamp = f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"
    return {"content": text, "type": kind, "score": score, "source": file, "timestamp": timestamp}
