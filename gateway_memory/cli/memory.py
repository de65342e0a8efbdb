"""`gateway-memory status | list | search | forget | undo | history | receipts`: the chat's commands in a shell."""

import argparse
import asyncio
import json
import sys
from typing import Final

from gateway_memory.cli.places import add_place, no_folder, owner_unless_named
from gateway_memory.commands.search import OPTIONS

__all__ = ["add_parsers"]

_COMMANDS: Final = {
    "status": "what is on, how much is kept, what waits, what failed last",
    "list": "the newest memories",
    "search": "search the memories",
    "forget": "forget a memory by its id",
    "undo": "take back the last change, or the last one of a memory",
    "history": "what became of a memory",
    "receipts": "what became of the last turns and commands",
}
_TEXTS: Final = {
    "search": ("*", "QUERY"),
    "forget": ("+", "ID"),
    "undo": ("*", "ID"),
    "history": ("+", "ID"),
}
_IN_JSON: Final = ("status", "list", "search", "history", "receipts")


def add_parsers(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the commands; the parsed arguments carry `run`."""
    for name, text in _COMMANDS.items():
        command = subparsers.add_parser(name, help=text)
        add_place(command)
        command.set_defaults(run=_run, name=name, text=[], json=False)
        if name in _TEXTS:
            nargs, metavar = _TEXTS[name]
            command.add_argument("text", nargs=nargs, metavar=metavar)
        if name == "search":
            _add_filters(command)
        if name == "receipts":
            command.add_argument("--limit", metavar="N", help="at most so many (default: 20)")
        if name in _IN_JSON:
            command.add_argument("--json", action="store_true", help="for programs: one JSON object")


def _add_filters(parser: argparse.ArgumentParser) -> None:
    """Let the shell take what `/memory search` takes in the chat; the command reads it."""
    for option, metavar, text in (
        ("--type", "W|B|O", "world, about the user, opinion"),
        ("--category", "NAME", "preference, decision, fact, instruction"),
        ("--since", "DAY", "from this day on, as YYYY-MM-DD"),
        ("--until", "DAY", "up to and with this day"),
        ("--session", "KEY", "said in the session of this key"),
        ("--limit", "N", "at most so many"),
    ):
        parser.add_argument(option, metavar=metavar, help=text)
    parser.add_argument("--explain", action="store_true", help="what makes each score")


def _rest(args: argparse.Namespace) -> str:
    """Return what would stand behind the command's name in the chat."""
    if args.name == "receipts":
        return args.limit or ""
    values = {name: getattr(args, name, None) for name in OPTIONS}
    chosen = [f"--{name}={value}" for name, value in values.items() if value is not None]
    return " ".join([*chosen, *(["--explain"] if getattr(args, "explain", False) else []), *args.text])


def _run(args: argparse.Namespace) -> int:
    from gateway_memory.commands.answers import Answer
    from gateway_memory.config.load import load_config
    from gateway_memory.memory import GatewayMemory
    from gateway_memory.phrases import SHELL

    if no_folder(args.workspace):
        return 1

    async def run() -> Answer | None:
        async with GatewayMemory(load_config(args.config), args.workspace, agent=args.agent) as memory:
            session = await memory.visit(user=owner_unless_named(args), room=args.room)
            session.commands_as = SHELL
            if args.json and session.settings.commands.enabled:
                record = await memory.record(session, args.name, _rest(args))
                return Answer(text=json.dumps(record, ensure_ascii=False))
            return await memory.answer(session, f"/memory {args.name} {_rest(args)}")

    answer = asyncio.run(run())
    if answer is None:
        sys.stderr.write("commands are off: commands.enabled is false in the config\n")
        return 1
    (sys.stdout if answer.done else sys.stderr).write(f"{answer.text}\n")
    return 0 if answer.done else 1
