"""Durability: what was accepted is there once, whatever becomes of the process, the disk, or the files beside it."""

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

from attacks import PEOPLE, Try, config, shell

from gateway_memory import GatewayMemory, GatewayMemoryError
from recall import EmbedderSettings

__all__ = ["durability"]

PROGRAM = Path(__file__).with_name("attacked_gateway.py")
KILLS, FLIPS, LINES = 12, 40, 400
_WORDS = EmbedderSettings(provider="none")


async def durability(folder: Path, numbers: Random) -> AsyncIterator[Try]:
    """Kills, appends by another tool, damaged files, a journal that is gone, and a full disk."""
    for number in range(KILLS):
        yield await _killed(folder / f"kill {number}", numbers)
    for file in ("MEMORY.md", "day"):
        yield await _appended(folder / f"append {file}", file)
    async for each in _flipped(folder / "flip", numbers):
        yield each
    for harm in ("removed", "overwritten"):
        yield await _without_journal(folder / f"journal {harm}", harm)
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, str(PROGRAM), "full", str(folder / "full")], capture_output=True, check=False, timeout=120
    )
    for line in done.stdout.decode().splitlines():
        name, came = line.rsplit(" ", 1)
        yield Try(name=f"full disk: {name}", held=came == "ok")
    yield Try(name="full disk: the process lives on", held=done.returncode == 0)


async def _killed(place: Path, numbers: Random) -> Try:
    child = await asyncio.create_subprocess_exec(
        sys.executable, str(PROGRAM), "speak", str(place), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert child.stdout is not None
    accepted = [await child.stdout.readline()]
    await asyncio.sleep(numbers.uniform(0.0, 0.5))
    child.kill()
    accepted += (await child.stdout.read()).splitlines()
    await child.wait()
    last = int([line for line in accepted if line.strip()][-1])
    async with GatewayMemory(config(), place) as memory:
        await memory.flush()
    text = "".join(path.read_text("utf-8") for path in place.rglob("*.md"))
    held = all(text.count(f"crate number {number:05d} ") == 1 for number in range(last + 1))
    return Try(name=f"kill {place.name}: {last + 1} turns", held=held)


async def _appended(place: Path, file: str) -> Try:
    async with GatewayMemory(config(), place) as memory:
        session = await memory.start_session("agent:main:chat", **PEOPLE["owner"])
        await memory.save_fact(session, content="The first line of the day")
        (day,) = place.glob("memory/*.md")
        path = place / "MEMORY.md" if file == "MEMORY.md" else day
        path.touch()
        child = await asyncio.create_subprocess_exec(sys.executable, str(PROGRAM), "append", str(path), str(LINES))
        saved = 0
        while child.returncode is None:
            said = f"Remember that shelf {saved} holds {saved * 31} jars"
            await memory.after_reply(session, user=said, reply="OK")
            await memory.flush()
            saved += 1
    text = "".join(each.read_text("utf-8") for each in place.rglob("*.md"))
    lines = all(text.count(f"tool line {number:05d}") == 1 for number in range(LINES))
    ours = all(text.count(f"shelf {number} ") == 1 for number in range(saved))
    return Try(name=f"{LINES} lines of another tool in {path.name}, {saved} of ours", held=lines and ours)


async def _flipped(place: Path, numbers: Random) -> AsyncIterator[Try]:
    for number in range(FLIPS):
        async with GatewayMemory(config(auto_recall={"embedder": _WORDS}), place) as memory:
            session = await memory.start_session("agent:main:chat", **PEOPLE["owner"])
            await memory.save_fact(session, content=f"Box {number} holds {number} spoons")
        index = place / "index.sqlite"
        content = bytearray(index.read_bytes())
        for _ in range(16):
            content[numbers.randrange(len(content))] ^= 1 << numbers.randrange(8)
        index.write_bytes(content)
        if number % 4 == 0:
            with sqlite3.connect(place / "journal.sqlite") as journal:
                journal.execute("UPDATE events SET body = '{' WHERE id = (SELECT max(id) FROM events)")
            journal.close()
        try:
            async with GatewayMemory(config(auto_recall={"embedder": _WORDS}), place) as memory:
                session = await memory.start_session("agent:main:next", **PEOPLE["owner"])
                found = await memory.search(session, f"Box {number} spoons", limit=50)
                held = any(f"Box {number} " in hit.text for hit in found)
        except Exception:  # noqa: BLE001 - which is what is looked for
            held = False
        yield Try(name=f"flipped bytes {number}", held=held)


async def _without_journal(place: Path, harm: str) -> Try:
    """Take the journal from a living gateway: what it accepts afterwards is there, or it accepts nothing."""
    accepted: list[int] = []
    try:
        async with GatewayMemory(config(), place) as memory:
            session = await memory.start_session("agent:main:chat", **PEOPLE["owner"])
            journal = place / "journal.sqlite"
            if harm == "removed":
                journal.rename(place / "elsewhere.sqlite")
            else:
                journal.write_bytes(b"no database" * 500)
            shell("list", "--workspace", str(place))
            for number in range(5):
                try:
                    await memory.after_reply(session, user=f"Remember that jug {number} holds {number} l", reply="OK")
                except GatewayMemoryError:
                    continue
                accepted.append(number)
    except GatewayMemoryError:
        pass
    try:
        async with GatewayMemory(config(), place) as memory:
            await memory.flush()
    except GatewayMemoryError:  # it was set aside; the next start is a new one
        pass
    text = "".join(path.read_text("utf-8") for path in place.rglob("*.md"))
    return Try(name=f"journal {harm}", held=all(f"jug {number} " in text for number in accepted))
