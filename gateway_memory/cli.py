"""`gateway-memory`: the memory's commands, the chat, the replay and the config, from a shell."""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from gateway_memory import agent_commands, config_command, transfer_commands
from gateway_memory.errors import GatewayMemoryError
from gateway_memory.hooks import install
from gateway_memory.logs import configure_logging
from gateway_memory.searching import OPTIONS
from gateway_memory.settings import LogSettings
from gateway_memory.whose import add_whose, owner_unless_named

__all__ = ["main"]

_MEMORY_COMMANDS = {
    "status": "what is on, how much is kept, what waits, what failed last",
    "list": "the newest memories",
    "search": "search the memories",
    "forget": "forget a memory by its id",
    "undo": "take back the last change, or the last one of a memory",
    "history": "what became of a memory",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    args = _parser().parse_args(arguments)
    configure_logging(verbose=args.verbose, workspace=_logged(args), settings=_log_settings(args))
    try:
        result: int = args.run(args)
    except GatewayMemoryError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0
    return result


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gateway-memory", description="Long-term memory for chat gateways.")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="log to standard error (never a message or a memory)"
    )
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, text in _MEMORY_COMMANDS.items():
        command = subparsers.add_parser(name, help=text)
        _add_place(command)
        if name in ("search", "forget", "history", "undo"):
            nargs = "*" if name in ("undo", "search") else "+"
            command.add_argument("text", nargs=nargs, metavar="QUERY" if name == "search" else "ID")
        if name == "search":
            _add_filters(command)
        command.set_defaults(run=_run_command, name=name, text=[])
    chat = subparsers.add_parser("chat", help="a small gateway in the terminal")
    _add_place(chat)
    chat.add_argument(
        "--model",
        metavar="PROVIDER/MODEL",
        help="openai/… or anthropic/…; default: by the key that is set, else offline",
    )
    chat.set_defaults(run=_run_chat)
    retry = subparsers.add_parser("retry", help="read the turns again on which the model failed")
    _add_place(retry)
    retry.set_defaults(run=_run_retry)
    distill = subparsers.add_parser("distill", help="move facts of the log that have earned it up to MEMORY.md")
    _add_place(distill)
    distill.add_argument("--dry-run", action="store_true", help="only show them, and why")
    distill.set_defaults(run=_run_distill)
    replay = subparsers.add_parser(
        "replay", help="feed a transcript (JSON lines: session, user, reply, at) through the memory"
    )
    _add_place(replay)
    replay.add_argument("file", type=Path)
    replay.add_argument("--turns", type=Path, metavar="FILE", help="write what became of each turn, as JSON lines")
    replay.set_defaults(run=_run_replay)
    listen = subparsers.add_parser("listen", help="print what gateways announce over MQTT, as it comes")
    _add_place(listen)
    listen.add_argument("--json", action="store_true", help="as JSON lines")
    listen.set_defaults(run=_run_listen)
    doctor = subparsers.add_parser("doctor", help="say what is wrong with a connection, in words")
    doctor.add_argument("part", choices=["mqtt"])
    _add_place(doctor)
    doctor.set_defaults(run=_run_doctor)
    demo = subparsers.add_parser("demo", help="the acceptance criteria, shown on a conversation")
    demo.set_defaults(run=_run_demo)
    agent_commands.add_parsers(subparsers)
    transfer_commands.add_parsers(subparsers)
    install.add_parser(subparsers)
    config_command.add_parser(subparsers)
    return parser


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


def _filters(args: argparse.Namespace) -> list[str]:
    values = {name: getattr(args, name, None) for name in OPTIONS}
    chosen = [f"--{name}={value}" for name, value in values.items() if value]
    return [*chosen, *(["--explain"] if getattr(args, "explain", False) else [])]


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workspace", type=Path, default=Path("workspace"), help="the memory's folder (default: %(default)s)"
    )
    parser.add_argument("--config", type=Path, help="a config.json5 (default: the built-in settings)")
    parser.add_argument(
        "--agent", default="main", metavar="ID", help="whose overrides in the config hold (default: %(default)s)"
    )
    add_whose(parser, user="a person's memory instead of the owner's", room="a group's memory instead of the owner's")


def _logged(args: argparse.Namespace) -> Path | None:
    """Return the workspace whose log a command writes; the one that deletes leaves no new line."""
    place: Path | str | None = getattr(args, "workspace", None)
    return Path(place) if place is not None and not getattr(args, "leaves_no_log", False) else None


def _log_settings(args: argparse.Namespace) -> LogSettings:
    from gateway_memory.config import load_config

    try:
        return load_config(getattr(args, "config", None)).for_agent(getattr(args, "agent", "main")).logs
    except GatewayMemoryError:  # which the command itself will say
        return LogSettings()


def _no_folder(workspace: Path) -> bool:
    """Say what is wrong where a workspace must be there and isn't."""
    if workspace.is_dir():
        return False
    what = "is a file; a workspace is a folder" if workspace.exists() else "there is no such folder"
    sys.stderr.write(f"{workspace}: {what}; name the workspace with --workspace\n")
    return True


def _run_command(args: argparse.Namespace) -> int:
    from gateway_memory.config import load_config
    from gateway_memory.memory import GatewayMemory

    if _no_folder(args.workspace):
        return 1

    async def run() -> str | None:
        async with GatewayMemory(load_config(args.config), args.workspace, agent=args.agent) as memory:
            session = await memory.visit(user=owner_unless_named(args), room=args.room)
            return await memory.command(session, f"/memory {args.name} {' '.join([*_filters(args), *args.text])}")

    print(asyncio.run(run()) or "Commands are off: commands.enabled is false in the config.")  # noqa: T201
    return 0


def _run_retry(args: argparse.Namespace) -> int:
    from gateway_memory.config import load_config
    from gateway_memory.memory import GatewayMemory

    if _no_folder(args.workspace):
        return 1

    async def run() -> tuple[int, int]:
        async with GatewayMemory(load_config(args.config), args.workspace, agent=args.agent) as memory:
            return await memory.retry()

    turns, failed = asyncio.run(run())
    print(f"{turns} turns were read again; the model failed on {failed} of them.")  # noqa: T201
    return 1 if failed else 0


def _run_distill(args: argparse.Namespace) -> int:
    from gateway_memory.config import load_config
    from gateway_memory.distilling import Distilled
    from gateway_memory.memory import GatewayMemory

    if not args.workspace.is_dir():
        sys.stderr.write(f"{args.workspace}: there is no such folder; name the workspace with --workspace\n")
        return 1

    async def run() -> list[Distilled]:
        async with GatewayMemory(load_config(args.config), args.workspace, agent=args.agent) as memory:
            session = await memory.visit(user=owner_unless_named(args), room=args.room)
            return await memory.distill(session, dry_run=args.dry_run)

    found = asyncio.run(run())
    said = {"moved": "would move" if args.dry_run else "moved", "known": "known there", "full": "no room"}
    for each in found:
        uses = f"recalled {each.uses.recalled}, said again {each.uses.repeated}, on {each.uses.days} days"
        why = f"{each.reason}: {uses}, confidence {each.memory.confidence:g}"
        print(f"{said[each.outcome]:<11} {each.memory.id} · {each.memory.text} ({why})")  # noqa: T201
    moved = sum(each.outcome == "moved" for each in found)
    print(f"{moved} facts {'would move' if args.dry_run else 'moved'} to MEMORY.md.")  # noqa: T201
    return 0


def _run_chat(args: argparse.Namespace) -> int:
    from gateway_memory.agents import choose_agent
    from gateway_memory.chat import Chat
    from gateway_memory.config import load_config
    from gateway_memory.memory import GatewayMemory

    user = owner_unless_named(args)
    if user is None:
        sys.stderr.write("chat is a conversation with one person: use --user, not --room\n")
        return 2
    try:
        agent = choose_agent(args.model)
    except Exception as error:  # noqa: BLE001 - a missing key is the SDK's own error
        sys.stderr.write(f"{error}\n")
        return 2

    async def run() -> None:
        async with GatewayMemory(load_config(args.config), args.workspace, agent=args.agent) as memory:
            await Chat(memory, agent, user=user).run()

    asyncio.run(run())
    return 0


def _run_replay(args: argparse.Namespace) -> int:
    from tqdm import tqdm

    from gateway_memory.config import load_config
    from gateway_memory.memory import GatewayMemory
    from gateway_memory.transcript import Report, read_transcript, replay

    turns = read_transcript(args.file)

    async def run() -> Report:
        async with GatewayMemory(load_config(args.config), args.workspace, agent=args.agent) as memory:
            with tqdm(total=len(turns), unit="turn", disable=None) as bar:
                return await replay(memory, turns, bar.update)

    report = asyncio.run(run())
    if args.turns:
        args.turns.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in report.rows), "utf-8")
    print("\n".join(report.lines()))  # noqa: T201
    return 0


def _run_listen(args: argparse.Namespace) -> int:
    from gateway_memory.listening import run_listen

    return run_listen(args)


def _run_doctor(args: argparse.Namespace) -> int:
    from gateway_memory.listening import run_doctor

    return run_doctor(args)


def _run_demo(_: argparse.Namespace) -> int:
    from gateway_memory.demo import main as demo

    return asyncio.run(demo())


if __name__ == "__main__":
    raise SystemExit(main())
