"""`gateway-memory read`: learn from conversations that were imported."""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, time
from typing import Final

from tqdm import tqdm

from gateway_memory.cli.memory import in_memory
from gateway_memory.cli.options import named_of, tell
from gateway_memory.edge.phrases import shown
from gateway_memory.memory import GatewayMemory
from gateway_memory.scope import Scope, resolve_scope

_LINES: Final = 10
"""The number of lines that tell of the progress where there is no terminal."""


def run_read(args: argparse.Namespace) -> int:
    """Read the unread episodes and print the result; returns the exit code."""
    named = named_of(args)
    scope = resolve_scope(**named) if named else None

    async def read(memory: GatewayMemory) -> list[str]:
        since = datetime.combine(args.since, time(), memory.zone).timestamp() if args.since else 0.0
        return await read_backlog(memory, scope, since=since)

    tell(*in_memory(args, read))
    return 0


async def read_backlog(memory: GatewayMemory, scope: Scope | None, *, since: float = 0.0) -> list[str]:
    """Read the unread episodes, show the progress, and return the result as lines.

    scope: None for every scope. since: epoch seconds.
    """
    with _progress(await memory.backlog.count(scope=scope, since=since)) as step:
        caught = await memory.backlog.read(scope=scope, since=since, progress=step)
    lines = [f"{caught.read} exchanges read; {caught.kept} memories kept, {caught.waiting} to be approved"]
    if caught.waiting:
        lines.append("what waits is kept when you approve it: gateway-memory review; approve ID, or approve all")
    if caught.remaining:
        why = "the day's budget is used up" if caught.over_budget else "it gave no answer"
        lines.append(f"{caught.remaining} exchanges wait for the model ({why}): gateway-memory read goes on")
    if caught.excluded:
        lines.append(f"{caught.excluded} exchanges are left out by autoExtract.enabled or excludeSessionTypes")
    return lines


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], object]]:
    """Yield a function that takes the number of exchanges read: it moves a bar on a terminal, else prints lines."""
    if sys.stderr.isatty():
        with tqdm(desc=shown("read"), unit=shown("exchange"), total=total) as bar:
            yield bar.update
        return
    done = 0

    def step(number: int) -> None:
        nonlocal done
        shown, done = done * _LINES // max(total, 1), done + number
        if done * _LINES // max(total, 1) > shown:
            tell(f"read {done} of {total} exchanges", beside=True)

    yield step
