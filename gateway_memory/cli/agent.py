"""`gateway-memory save-fact` and `save-summary`: called by an agent in its own turn, answered in JSON."""

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gateway_memory.capture.requests import secret_note
from gateway_memory.cli.places import add_whose, named_of
from gateway_memory.commands.command import ShellCommand
from gateway_memory.errors import GatewayMemoryError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from gateway_memory.memory import GatewayMemory
    from gateway_memory.session import Session

__all__ = ["COMMANDS", "save_fact", "save_summary"]


def _fact_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--content", required=True)
    parser.add_argument("--type", default="W", choices=["W", "B", "O", "S"], help="world, biographical, opinion, stage")
    parser.add_argument("--entities", default="", help="names, separated by commas")
    parser.add_argument("--confidence", type=_share, default=0.9)
    _add_session(parser)


def _summary_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--topic", required=True)
    parser.add_argument("--summary", required=True)
    parser.add_argument("--decisions", action="append", default=[], help="may be given again; or separated by ;")
    parser.add_argument("--todos", action="append", default=[], help="likewise")
    _add_session(parser)


def _add_session(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--session", required=True, metavar="ID", help="the session's id, as its prompt names it")
    add_whose(parser, "it must be {} session")
    parser.add_argument("--workspace", help="the memory's folder (default: .memory here)")
    parser.add_argument("--config", type=Path, help="a config.json5 (default: the built-in settings)")
    parser.add_argument("--agent", default="main", metavar="ID", help="whose overrides in the config hold")


COMMANDS: Final = (
    ShellCommand(
        name="save-fact",
        help=("keep a fact, or a stage summary, of a session", "保存一个会话的一条事实或阶段摘要"),
        add_arguments=_fact_arguments,
        run="gateway_memory.cli.agent:save_fact",
    ),
    ShellCommand(
        name="save-summary",
        help=("save the one summary of a session", "保存一个会话的唯一一份摘要"),
        add_arguments=_summary_arguments,
        run="gateway_memory.cli.agent:save_summary",
    ),
)


def save_fact(args: argparse.Namespace) -> int:
    """Keep a fact of a session; returns the exit code."""
    return _answer(_save_fact, args)


def save_summary(args: argparse.Namespace) -> int:
    """Save the summary of a session; returns the exit code."""
    return _answer(_save_summary, args)


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text}: expected a number from 0 to 1")
    return value


def _answer(
    save: "Callable[[GatewayMemory, Session, argparse.Namespace], Coroutine[Any, Any, dict[str, Any]]]",
    args: argparse.Namespace,
) -> int:
    """Run a command on the session that it names, and answer in JSON, also if nothing could be saved."""
    try:
        answer = asyncio.run(_on_session(save, args))
    except (OSError, GatewayMemoryError) as error:
        # Only our own messages are printed: another library's may quote what was said.
        said = {"message": str(error)} if isinstance(error, GatewayMemoryError) else {}
        answer = {"status": "error", "reason": type(error).__name__, **said}
    sys.stdout.write(json.dumps(answer) + "\n")
    return 1 if answer["status"] == "error" else 0


async def _on_session(
    save: "Callable[[GatewayMemory, Session, argparse.Namespace], Coroutine[Any, Any, dict[str, Any]]]",
    args: argparse.Namespace,
) -> dict[str, Any]:
    from gateway_memory.config.load import load_config
    from gateway_memory.hooks.places import workspace_of
    from gateway_memory.memory import GatewayMemory

    workspace, config = workspace_of({}, args.workspace), load_config(args.config)
    in_files = config.for_agent(args.agent).store.backend == "files"
    if in_files and not (workspace / "journal.sqlite").is_file():
        raise UsageError(f"{workspace}: there is no memory here; name its folder with --workspace")
    async with GatewayMemory(config, workspace, agent=args.agent) as memory:
        session = await memory.attach_session(args.session, **named_of(args))
        if not session.may_save:
            return {"status": "skipped", "reason": "the user has switched keeping off in this session"}
        return await save(memory, session, args)


async def _save_fact(memory: "GatewayMemory", session: "Session", args: argparse.Namespace) -> dict[str, Any]:
    identity = await memory.save_fact(
        session,
        content=args.content,
        type=args.type,
        entities=_parts([args.entities], ","),
        confidence=args.confidence,
    )
    note = secret_note(args.content)
    if not identity:
        return {"status": "skipped", "reason": note or "nothing to keep"}
    return {"status": "ok", "id": identity, **({"reason": note} if note else {})}


async def _save_summary(memory: "GatewayMemory", session: "Session", args: argparse.Namespace) -> dict[str, Any]:
    saved = await memory.save_summary(
        session,
        topic=args.topic,
        summary=args.summary,
        decisions=_parts(args.decisions, ";"),
        todos=_parts(args.todos, ";"),
    )
    found = await memory.session_record(session)
    record = found and found["id"]
    if saved:
        return {"status": "ok", "id": record}
    if not session.settings.sessions.records:
        return {"status": "skipped", "reason": "sessions.records is false in the config"}
    return {"status": "skipped", "reason": "duplicate" if record else "nothing to keep"}


def _parts(values: list[str], separator: str) -> list[str]:
    return [part.strip() for value in values for part in value.split(separator) if part.strip()]
