"""`gateway-memory`: the memory's commands, the chat, the replay and the config, from a shell."""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from gateway_memory import agent_commands, config_command
from gateway_memory.errors import GatewayMemoryError
from gateway_memory.hooks import install

__all__ = ["configure_logging", "main"]

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
    configure_logging(verbose=args.verbose)
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
            nargs = "*" if name == "undo" else "+"
            command.add_argument("text", nargs=nargs, metavar="QUERY" if name == "search" else "ID")
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
    install.add_parser(subparsers)
    config_command.add_parser(subparsers)
    return parser


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workspace", type=Path, default=Path("workspace"), help="the memory's folder (default: %(default)s)"
    )
    parser.add_argument("--config", type=Path, help="a config.json5 (default: the built-in settings)")
    parser.add_argument(
        "--agent", default="main", metavar="ID", help="whose overrides in the config hold (default: %(default)s)"
    )
    whose = parser.add_mutually_exclusive_group()
    whose.add_argument("--user", metavar="NAME", help="a person's memory instead of the owner's")
    whose.add_argument("--room", metavar="NAME", help="a group's memory instead of the owner's")


def configure_logging(*, verbose: bool) -> None:
    """Let a command log errors alone, or everything."""
    import logging

    import structlog

    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG if verbose else logging.ERROR),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


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
    from gateway_memory.session import OWNER

    if _no_folder(args.workspace):
        return 1

    async def run() -> str | None:
        async with GatewayMemory(load_config(args.config), args.workspace, agent=args.agent) as memory:
            user = None if args.room else args.user or OWNER
            session = await memory.start_session(f"agent:{args.agent}:shell", user=user, room=args.room)
            answer = await memory.command(session, f"/memory {args.name} {' '.join(args.text)}")
            await memory.end_session(session, reason="user_close")
            return answer

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


def _run_chat(args: argparse.Namespace) -> int:
    from gateway_memory.agents import choose_agent
    from gateway_memory.chat import Chat
    from gateway_memory.config import load_config
    from gateway_memory.memory import GatewayMemory
    from gateway_memory.session import OWNER

    if args.room:
        sys.stderr.write("chat is a conversation with one person: use --user, not --room\n")
        return 2
    try:
        agent = choose_agent(args.model)
    except Exception as error:  # noqa: BLE001 - a missing key is the SDK's own error
        sys.stderr.write(f"{error}\n")
        return 2

    async def run() -> None:
        async with GatewayMemory(load_config(args.config), args.workspace, agent=args.agent) as memory:
            await Chat(memory, agent, user=args.user or OWNER).run()

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
