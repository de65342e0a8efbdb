"""`gateway-memory`: the memory's commands, the chat, the replay and the config, from a shell."""

import argparse
import asyncio
import io
import json
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from gateway_memory.cli import agent as agent_commands
from gateway_memory.cli import config as config_command
from gateway_memory.cli import memory as memory_commands
from gateway_memory.cli import transfer as transfer_commands
from gateway_memory.cli.places import add_place, check_output, no_folder, owner_unless_named
from gateway_memory.config.settings import LogSettings
from gateway_memory.errors import GatewayMemoryError
from gateway_memory.hooks import install
from gateway_memory.observability.logs import configure_logging

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:  # noqa: PLR0911 - a return an error
    """Run the command line; returns the exit code."""
    parser = _parser()
    args = parser.parse_args(arguments)
    if not hasattr(args, "run"):
        parser.print_help()
        return 0
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for terminals that can't show every character
    configure_logging(verbose=args.verbose, workspace=_logged(args), settings=_log_settings(args))
    try:
        result: int = args.run(args)
        sys.stdout.flush()
    except GatewayMemoryError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0
    except UnicodeError:  # an argument of bytes that are no text, as shells hand them on
        sys.stderr.write("an argument is not valid Unicode\n")
        return 2
    except (OSError, sqlite3.Error) as error:  # a disk that is full, a file of another's
        sys.stderr.write(f"{error}\n")
        return 1
    return result


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gateway-memory", description="Long-term memory for chat gateways.")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="log to standard error (never a message or a memory)"
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    subparsers = parser.add_subparsers(metavar="COMMAND")
    memory_commands.add_parsers(subparsers)
    chat = subparsers.add_parser("chat", help="a small gateway in the terminal")
    add_place(chat)
    chat.add_argument(
        "--model",
        metavar="PROVIDER/MODEL",
        help="openai/… or anthropic/…; default: by the key that is set, else offline",
    )
    chat.set_defaults(run=_run_chat)
    retry = subparsers.add_parser("retry", help="read the turns again on which the model failed")
    add_place(retry)
    retry.set_defaults(run=_run_retry)
    distill = subparsers.add_parser("distill", help="move facts of the log that have earned it up to MEMORY.md")
    add_place(distill)
    distill.add_argument("--dry-run", action="store_true", help="only show them, and why")
    distill.set_defaults(run=_run_distill)
    replay = subparsers.add_parser(
        "replay", help="feed a transcript (JSON lines: session, user, reply, at) through the memory"
    )
    add_place(replay)
    replay.add_argument("file", type=Path)
    replay.add_argument("--turns", type=Path, metavar="FILE", help="write what became of each turn, as JSON lines")
    replay.set_defaults(run=_run_replay)
    listen = subparsers.add_parser("listen", help="print what gateways announce over MQTT, as it comes")
    add_place(listen)
    listen.add_argument("--json", action="store_true", help="as JSON lines")
    listen.set_defaults(run=_run_listen)
    doctor = subparsers.add_parser("doctor", help="say what is wrong with a connection, in words")
    doctor.add_argument("part", choices=["mqtt"])
    add_place(doctor)
    doctor.set_defaults(run=_run_doctor)
    demo = subparsers.add_parser("demo", help="the acceptance criteria, shown on a conversation")
    demo.set_defaults(run=_run_demo)
    completion = subparsers.add_parser("completion", help="print what lets a shell complete our commands")
    completion.add_argument("shell", choices=["bash", "zsh", "fish"])
    completion.set_defaults(run=_run_completion)
    agent_commands.add_parsers(subparsers)
    transfer_commands.add_parsers(subparsers)
    install.add_parser(subparsers)
    config_command.add_parser(subparsers)
    return parser


class _Version(argparse.Action):
    """Print the version of the package; it is looked up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        try:
            print(f"gateway-memory {version('gateway-memory')}", flush=True)  # noqa: T201
        except BrokenPipeError:
            parser.exit()
        except OSError as error:  # a disk that is full
            parser.exit(1, f"{error}\n")
        parser.exit()


def _logged(args: argparse.Namespace) -> Path | None:
    """Return the workspace whose log a command writes; the one that deletes leaves no new line."""
    place: Path | str | None = getattr(args, "workspace", None)
    return Path(place) if place is not None and not getattr(args, "leaves_no_log", False) else None


def _log_settings(args: argparse.Namespace) -> LogSettings:
    from gateway_memory.config.load import load_config

    try:
        return load_config(getattr(args, "config", None)).for_agent(getattr(args, "agent", "main")).logs
    except GatewayMemoryError:  # which the command itself will say
        return LogSettings()


def _run_retry(args: argparse.Namespace) -> int:
    from gateway_memory.config.load import load_config
    from gateway_memory.memory import GatewayMemory

    if no_folder(args.workspace):
        return 1

    async def run() -> tuple[int, int]:
        async with GatewayMemory(load_config(args.config), args.workspace, agent=args.agent) as memory:
            return await memory.retry()

    turns, failed = asyncio.run(run())
    print(f"{turns} turns were read again; the model failed on {failed} of them.")  # noqa: T201
    return 1 if failed else 0


def _run_distill(args: argparse.Namespace) -> int:
    from gateway_memory.capture.distiller import Distilled
    from gateway_memory.config.load import load_config
    from gateway_memory.memory import GatewayMemory

    if no_folder(args.workspace):
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
    from gateway_memory.cli.agents import choose_agent
    from gateway_memory.cli.chat import Chat
    from gateway_memory.config.load import load_config
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

    from gateway_memory.cli.replay import Report, read_transcript, replay
    from gateway_memory.config.load import load_config
    from gateway_memory.memory import GatewayMemory

    turns = read_transcript(args.file)
    check_output(args.turns)

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
    from gateway_memory.cli.mqtt import run_listen

    return run_listen(args)


def _run_doctor(args: argparse.Namespace) -> int:
    from gateway_memory.cli.mqtt import run_doctor

    return run_doctor(args)


def _run_completion(args: argparse.Namespace) -> int:
    import shtab

    parser = _parser()
    for action in _actions(parser):
        if action.type is Path:
            action.complete = shtab.DIR if action.dest == "workspace" else shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(parser, args.shell))  # noqa: T201
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the options and arguments of a parser and of the commands below it."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to ask
        yield action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - likewise
            for below in action.choices.values():
                yield from _actions(below)


def _run_demo(_: argparse.Namespace) -> int:
    from gateway_memory.cli.demo import main as demo

    return asyncio.run(demo())


if __name__ == "__main__":
    raise SystemExit(main())
