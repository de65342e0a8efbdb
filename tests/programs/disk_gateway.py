"""A gateway on a disk that fails (`fail WORKSPACE KIND ERROR CUTS`), or is recorded (`record WORKSPACE`).

`recover SOURCE FOLDER KIND ERROR` recovers copies of a damaged memory in a folder, on a disk that fails.

It prints what it has acknowledged: the number of a turn a line, and "ended ID" for a session in which one was.
"failed N" says in how many lives of the gateway calls have failed.
"""

import asyncio
import contextlib
import errno
import shutil
import sys
from itertools import count
from pathlib import Path

from disk import Disk
from editor import WORDS_ALONE
from patience import seconds

from gateway_memory import OWNER, GatewayMemory, GatewayMemoryError, load_config
from gateway_memory.store.journal import recovery

TURNS = 2
FORGETS = 3
"""Each so many turns, one may be forgotten again."""
BEGINS, FORGOTTEN, ENDED = 1000, 2000, 3000
"""What is added to the number of a turn that is about to be forgotten, of one that is, and of a session that ended."""


def said(number: int) -> str:
    return f"locker {number} opens with {number * 7919 % 10007}"


def tell(line: object) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def talk(workspace: Path, number: int) -> None:
    """Open the memory, and say a few things; each that is acknowledged is told."""
    async with GatewayMemory(load_config(WORDS_ALONE), workspace) as memory:
        session, something = await memory.start_session(f"chat {number}", user=OWNER), False
        for turn in range(number * TURNS, (number + 1) * TURNS):
            await memory.before_reply(session, "which locker?")
            try:
                await memory.after_reply(session, user=f"Remember that {said(turn)}.", reply="OK")
            except GatewayMemoryError:
                continue
            something = True
            tell(turn)  # what was not acknowledged is not said again
        try:
            await asyncio.wait_for(memory.flush(), seconds(20))
            await memory.end_session(session, reason="completed")
        except GatewayMemoryError:
            return
        if something:
            tell(f"ended {session.session_id}")


async def fail(workspace: Path, kind: str, error: int, cuts: int) -> None:
    """Let one to three calls fail in each life of the gateway, from another one on each time, spread over all."""
    disk, failures = Disk(), 0
    await talk(workspace, 0)
    disk.fail(kind, error, at=1 << 30)
    await talk(workspace, 1)  # the first life makes more calls, and others follow it
    calls = disk.calls()
    disk.work()
    for cut in range(2, cuts + 2):
        disk.fail(kind, error, at=1 + (cut - 2) * calls // cuts, times=1 + cut % 3)
        try:
            await talk(workspace, cut)
        except GatewayMemoryError:
            failures += disk.work() > 0
            await talk(workspace, cut)  # its supervisor starts it again
        failures += disk.work() > 0
    tell(f"failed {failures}")


async def record(workspace: Path) -> None:
    disk = Disk()
    for number in range(8):
        async with GatewayMemory(load_config(WORDS_ALONE), workspace) as memory:
            session = await memory.start_session("chat", user=OWNER)
            for turn in range(number * FORGETS, (number + 1) * FORGETS):
                await memory.after_reply(session, user=f"Remember that {said(turn)}.", reply="OK")
                disk.note(turn)
            await memory.flush()
            if number % 2:
                disk.note(BEGINS + number * FORGETS)
                await memory.command(session, f"/memory forget {said(number * FORGETS)}")
                disk.note(FORGOTTEN + number * FORGETS)
            await memory.end_session(session, reason="completed")
            disk.note(ENDED + number)


def recover_copies(source: Path, folder: Path, kind: str, error: int) -> None:
    """Recover copies of a damaged memory while one call after the other fails, and then without a failure."""
    disk = Disk()
    setattr(recovery, "HOOK_BUSY_SECONDS", 0.0)  # noqa: B010 - no hook waits here
    for at in count(1):
        workspace = Path(shutil.copytree(source, folder / str(at)))
        disk.fail(kind, error, at=at)
        with contextlib.suppress(GatewayMemoryError):
            recovery.recover(workspace)
        if not disk.work():
            tell(f"failed {at - 1}")
            return
        recovery.recover(workspace)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["fail", workspace, kind, error, cuts]:
            asyncio.run(fail(Path(workspace), kind, getattr(errno, error), int(cuts)))
        case ["record", workspace]:
            asyncio.run(record(Path(workspace)))
        case ["recover", source, folder, kind, error]:
            recover_copies(Path(source), Path(folder), kind, getattr(errno, error))
