"""Each call to the disk fails once, SQLite's too; and the power fails: what was acknowledged is there, once."""

import asyncio
import random
import re
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import disk_gateway
import pytest
from disk import KINDS, Recorded, environment, library, records
from disk_gateway import BEGINS, ENDED, FORGOTTEN, said
from editor import WORDS_ALONE
from patience import seconds
from thorough import amount

from gateway_memory import OWNER, GatewayMemory, JournalDamagedError, load_config
from gateway_memory.store.summaries import read_records

pytestmark = pytest.mark.slow

PROGRAM = Path(disk_gateway.__file__)
CUTS = amount(50, 200)
"""Of each kind and error."""
POWER_CUTS = amount(40, 400)


def lockers(workspace: Path) -> Counter[int]:
    """Return how often each locker stands in the memory's files."""
    text = "".join(path.read_text("utf-8") for path in sorted(workspace.rglob("*.md")))
    return Counter(int(number) for number in re.findall(r"^- locker (\d+) opens", text, re.MULTILINE))


async def opened(workspace: Path) -> str:
    """Open the memory as the next gateway does, let it process what waits, and return its status."""
    async with GatewayMemory(load_config(WORDS_ALONE), workspace) as memory:
        session = await memory.start_session("after", user=OWNER)
        await memory.flush()
        await memory.before_reply(session, "which locker?")
        return await memory.command(session, "/memory status") or ""


def said_in(workspace: Path) -> Counter[str]:
    with closing(sqlite3.connect(workspace / "journal.sqlite")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return Counter(str(user) for (user,) in database.execute("SELECT user FROM episodes"))


def recorded(workspace: Path) -> list[str]:
    return [record["session_id"] for record in read_records(workspace / "sessions.jsonl")[0]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
def test_a_call_that_fails_loses_and_doubles_nothing(tmp_path: Path, kind: str, error: str) -> None:
    workspace = tmp_path / "memory"
    done = subprocess.run(
        [sys.executable, str(PROGRAM), "fail", str(workspace), kind, error, str(CUTS)],
        env=environment(library(tmp_path), workspace),
        check=False,
        capture_output=True,
        text=True,
        timeout=seconds(600),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = done.stdout.splitlines()
    acknowledged = [int(line) for line in lines if line.isdigit()]
    ended = {line.removeprefix("ended ") for line in lines if line.startswith("ended ")}
    assert int(lines[-1].removeprefix("failed ")) > CUTS // 2
    status = asyncio.run(opened(workspace))
    assert "were gone" not in status
    found, told = lockers(workspace), said_in(workspace)
    for number in acknowledged:
        assert found[number] == 1, number
        assert told[f"Remember that {said(number)}."] >= 1, number
    assert set(found.values()) == {1}
    assert len(acknowledged) > CUTS
    assert not [*workspace.rglob("*.tmp")]
    sessions = recorded(workspace)
    assert len(sessions) == len(set(sessions))
    assert ended <= set(sessions)
    assert len(ended) > CUTS // 4


async def damaged(workspace: Path) -> int:
    """Make a memory with a damaged journal and a new one; return how much was said."""
    for number in range(2):
        async with GatewayMemory(load_config(WORDS_ALONE), workspace) as memory:
            session = await memory.start_session("chat", user=OWNER)
            for turn in range(number * 3, number * 3 + 3):
                await memory.after_reply(session, user=f"Remember that {said(turn)}.", reply="OK")
            await memory.flush()
        if number == 0:
            path = workspace / "journal.sqlite"
            path.write_bytes(bytes(100) + path.read_bytes()[100:])
            with pytest.raises(JournalDamagedError):
                await GatewayMemory(load_config(WORDS_ALONE), workspace).__aenter__()
    return 6


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_that_fails_while_a_journal_is_recovered_changes_nothing(tmp_path: Path, kind: str) -> None:
    source, copies = tmp_path / "source", tmp_path / "copies"
    turns = asyncio.run(damaged(source))
    done = subprocess.run(
        [sys.executable, str(PROGRAM), "recover", str(source), str(copies), kind, "ENOSPC"],
        env=environment(library(tmp_path), copies),
        check=False,
        capture_output=True,
        text=True,
        timeout=seconds(300),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[-1]) >= len([*copies.iterdir()]) - 1
    for workspace in copies.iterdir():
        assert said_in(workspace) == {f"Remember that {said(turn)}.": 1 for turn in range(turns)}, workspace.name
        assert not [*workspace.glob("journal.sqlite.damaged-*")]
        assert not [*workspace.rglob("recovered*")]


@pytest.mark.parametrize("names", ["kept", "lost"])
def test_a_power_loss_loses_and_doubles_nothing(tmp_path: Path, names: str) -> None:
    """What was not synced is dropped. names: whether what was renamed without a sync of its folder has its new name."""
    workspace, log = tmp_path / "memory", tmp_path / "log"
    subprocess.run(
        [sys.executable, str(PROGRAM), "record", str(workspace)],
        env=environment(library(tmp_path), workspace, log),
        check=True,
        capture_output=True,
        timeout=seconds(300),
    )
    calls = list(records(log))
    first = next(number for number, call in enumerate(calls) if call[0] == "N")
    cuts = sorted(random.Random(46).sample(range(first, len(calls)), POWER_CUTS))  # noqa: S311
    disk, done = Recorded(), 0
    for cut in cuts:
        for call in calls[done:cut]:
            disk.apply(*call)
        done = cut
        left = tmp_path / str(cut)
        disk.leave(workspace, left, names=names)
        status = asyncio.run(opened(left))
        assert "damaged" not in status
        found, told = lockers(left), said_in(left)
        assert set(found.values()) <= {1}, cut
        going = {number - BEGINS for number in disk.noted if BEGINS <= number < FORGOTTEN}
        for number in disk.noted:
            if number < BEGINS:
                assert found[number] == 1 or number in going, (cut, number)
                assert told[f"Remember that {said(number)}."] == 1, (cut, number)
            elif FORGOTTEN <= number < ENDED:
                assert number - FORGOTTEN not in found, (cut, number)
        sessions = recorded(left)
        assert len(sessions) == len(set(sessions)) >= sum(number >= ENDED for number in disk.noted), cut
    assert len(disk.noted) > POWER_CUTS // 4
