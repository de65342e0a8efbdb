"""`gateway-memory read`: learn from conversations that were imported."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, time, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gateway_memory.cli.command import ShellCommand
from gateway_memory.cli.places import add_whose, add_workspace, named_of, no_folder

if TYPE_CHECKING:
    from gateway_memory.memory import GatewayMemory
    from gateway_memory.scope import Scope

__all__ = ["COMMAND", "read_backlog", "run"]

_LINES: Final = 10
"""The number of lines that tell of the progress where there is no terminal."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--since", type=_day, metavar="DATE", help="only what was said since this day (YYYY-MM-DD)")
    add_whose(parser, "only {} conversations")
    add_workspace(parser)
    parser.add_argument("--config", type=Path, metavar="FILE", help="a config.json5 (default: the built-in settings)")


COMMAND: Final = ShellCommand(
    name="read",
    help=(
        "learn from conversations that were imported, within the day's budget; again to go on",
        "从导入的对话中学习记忆，不超过当天的预算；再次运行则继续",
    ),
    add_arguments=_arguments,
    run="gateway_memory.cli.reading:run",
)


def run(args: argparse.Namespace) -> int:
    """Read what is unread and print what came of it; returns the exit code."""
    from gateway_memory.config.load import load_config
    from gateway_memory.memory import GatewayMemory
    from gateway_memory.scope import resolve_scope

    if no_folder(args.workspace):
        return 1
    named = named_of(args)
    scope = resolve_scope(**named) if named else None

    async def caught() -> list[str]:
        async with GatewayMemory(load_config(args.config), args.workspace) as memory:
            return await read_backlog(memory, scope, since=_start_of(args.since, memory.zone))

    print("\n".join(asyncio.run(caught())))  # noqa: T201
    return 0


async def read_backlog(memory: "GatewayMemory", scope: "Scope | None", *, since: float = 0.0) -> list[str]:
    """Read what is unread, show the progress, and return what came of it, in words.

    scope: None for every scope. since: epoch seconds.
    """
    with _progress(await memory.backlog.count(scope=scope, since=since)) as step:
        caught = await memory.backlog.read(scope=scope, since=since, progress=step)
    lines = [f"{caught.read} exchanges read; {caught.kept} memories kept, {caught.waiting} to be approved"]
    if caught.waiting:
        lines.append("what waits is kept when you approve it: gateway-memory review; approve ID, or approve all")
    if caught.left:
        why = "the day's budget is used up" if caught.over_budget else "it gave no answer"
        lines.append(f"{caught.left} exchanges wait for the model ({why}): gateway-memory read goes on")
    if caught.excluded:
        lines.append(f"{caught.excluded} exchanges are left out by autoExtract.enabled or excludeSessionTypes")
    return lines


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], object]]:
    """Yield what is called with the number of exchanges that were read: a bar on a terminal, else some lines."""
    if sys.stderr.isatty():
        from tqdm import tqdm

        with tqdm(desc="read", unit="exchange", total=total) as bar:
            yield bar.update
        return
    done = 0

    def step(number: int) -> None:
        nonlocal done
        told, done = done * _LINES // max(total, 1), done + number
        if done * _LINES // max(total, 1) > told:
            sys.stderr.write(f"read {done} of {total} exchanges\n")

    yield step


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no day; expected YYYY-MM-DD") from None


def _start_of(day: date | None, zone: tzinfo | None) -> float:
    return datetime.combine(day, time(), zone).timestamp() if day else 0.0
