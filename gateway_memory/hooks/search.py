"""`gateway-memory search QUERY --max-results N`: the documented JSON, by words in a moment, or with --semantic."""

import argparse
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from gateway_memory.hooks.run import workspace_of
from gateway_memory.hooks.words import best, lines_of

__all__ = ["main"]

_MIN_SHARE: Final = 0.2


def main(arguments: list[str]) -> int:
    """Print {"results": [{content, type, score, source, timestamp}]}, best first; returns the exit code."""
    parser = argparse.ArgumentParser(prog="gateway-memory search")
    parser.add_argument("query", nargs="+", metavar="QUERY")
    parser.add_argument("--max-results", type=int, default=5, metavar="N")
    parser.add_argument("--semantic", action="store_true", help="by meaning too; loads the encoder")
    parser.add_argument("--workspace")
    parser.add_argument("--config", type=Path)
    args = parser.parse_args(arguments)
    if args.max_results < 1:
        parser.error("--max-results: expected a number from 1")
    workspace, query = workspace_of({}, args.workspace), " ".join(args.query)
    if not workspace.is_dir():
        sys.stderr.write(f"{workspace}: there is no such folder; name the workspace with --workspace\n")
        return 1
    if args.semantic:
        results = _by_meaning(workspace, args.config, query, args.max_results)
    else:
        found = best(lines_of(workspace), query, limit=args.max_results, min_score=_MIN_SHARE)
        results = [_result(line.text, line.type, line.score, line.file, line.at) for line in found]
    sys.stdout.write(json.dumps({"results": results}, ensure_ascii=False, indent=2) + "\n")
    return 0


def _by_meaning(workspace: Path, config: Path | None, query: str, limit: int) -> list[dict[str, Any]]:
    import asyncio

    from gateway_memory.cli import configure_logging
    from gateway_memory.config import load_config
    from gateway_memory.memory import GatewayMemory
    from gateway_memory.session import OWNER

    configure_logging(verbose=False)

    async def search() -> list[dict[str, Any]]:
        async with GatewayMemory(load_config(config), workspace) as memory:
            session = await memory.start_session("agent:main:shell", user=OWNER)
            hits = await memory.search(session, query, limit=limit)
            return [_result(hit.text, hit.type, round(hit.score, 3), hit.file, hit.at) for hit in hits]

    return asyncio.run(search())


def _result(text: str, kind: str, score: float, file: str, at: float) -> dict[str, Any]:
    timestamp = f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"
    return {"content": text, "type": kind, "score": score, "source": file, "timestamp": timestamp}
