"""`gateway-memory save-fact` and `save-summary`: what an agent calls in its own turn, answered in JSON."""

import argparse
import asyncio
import json
import sqlite3
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gateway_memory.errors import GatewayMemoryError

__all__ = ["add_parsers"]


def add_parsers(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add both commands; the parsed arguments carry `run`."""
    fact = subparsers.add_parser("save-fact", help="keep a fact, or a stage summary, of an editor's session")
    fact.add_argument("--content", required=True)
    fact.add_argument("--type", default="W", choices=["W", "B", "O", "S"], help="world, biographical, opinion, stage")
    fact.add_argument("--entities", default="", help="names, separated by commas")
    fact.add_argument("--confidence", type=_share, default=0.9)
    fact.set_defaults(run=_caught(_save_fact))
    summary = subparsers.add_parser("save-summary", help="save the one summary of an editor's session")
    summary.add_argument("--topic", required=True)
    summary.add_argument("--summary", required=True)
    summary.add_argument("--decisions", action="append", default=[], help="may be given again; or separated by ;")
    summary.add_argument("--todos", action="append", default=[], help="likewise")
    summary.set_defaults(run=_caught(_save_summary))
    for parser in (fact, summary):
        parser.add_argument("--session", required=True, help="the editor's conversation id")
        parser.add_argument("--workspace", help="the memory's folder (default: .memory here)")
        parser.add_argument("--config", type=Path, help="a config.json5 (default: the built-in settings)")


def _caught(save: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """Answer in JSON when nothing could be saved; by the error's kind alone."""

    def run(args: argparse.Namespace) -> int:
        try:
            return save(args)
        except (OSError, sqlite3.Error, GatewayMemoryError) as error:
            _answer({"status": "error", "reason": type(error).__name__})
            return 1

    return run


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text}: expected a number from 0 to 1")
    return value


def _save_fact(args: argparse.Namespace) -> int:
    from gateway_memory.config import load_config
    from gateway_memory.hooks.run import workspace_of
    from gateway_memory.hooks.state import hook_key, open_journal, register
    from gateway_memory.memory import GatewayMemory
    from gateway_memory.session import OWNER

    workspace = workspace_of({}, args.workspace)
    connection = open_journal(workspace)
    register(connection, args.session, time.time())
    connection.close()

    async def save() -> str:
        async with GatewayMemory(load_config(args.config), workspace) as memory:
            session = await memory.start_session(hook_key(args.session), user=OWNER)
            return await memory.save_fact(
                session,
                content=args.content,
                type=args.type,
                entities=_parts([args.entities], ","),
                confidence=args.confidence,
            )

    identity = asyncio.run(save())
    return _answer({"status": "ok", "id": identity} if identity else {"status": "skipped", "reason": "nothing to keep"})


def _save_summary(args: argparse.Namespace) -> int:
    from extractor import written
    from gateway_memory.hooks.run import workspace_of
    from gateway_memory.hooks.state import locked, open_journal, register
    from gateway_memory.store.session_log import SESSIONS_FILE, SessionRecord, new_record_id, save
    from gateway_memory.store.session_state import touch, was_followed_up
    from gateway_memory.store.sqlite import transaction

    workspace, now = workspace_of({}, args.workspace), datetime.now(UTC)
    summary = written(args.topic, args.summary, _parts(args.decisions, ";"), _parts(args.todos, ";"))
    connection = open_journal(workspace)
    try:
        register(connection, args.session, now.timestamp())
        with locked(workspace), transaction(connection):
            layer = "followup" if was_followed_up(connection, args.session) else "agent"
            record = SessionRecord(
                id=new_record_id(now),
                session_id=args.session,
                topic=summary.topic,
                summary=summary.detailed,
                timestamp=f"{now:%Y-%m-%dT%H:%M:%SZ}",
                decisions=summary.decisions,
                todos=summary.todos,
                brief=summary.brief,
                layer=layer,
            )
            saved = save(connection, "owner", workspace / SESSIONS_FILE, record, now.timestamp())
            touch(connection, args.session, now.timestamp())
    finally:
        connection.close()
    return _answer({"status": "ok", "id": record.id} if saved else {"status": "skipped", "reason": "duplicate"})


def _parts(values: list[str], separator: str) -> list[str]:
    return [part.strip() for value in values for part in value.split(separator) if part.strip()]


def _answer(row: dict[str, Any]) -> int:
    sys.stdout.write(json.dumps(row) + "\n")
    return 0
