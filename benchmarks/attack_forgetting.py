"""Forgetting: what was forgotten is told by no call, and lies in no file that is told; an undo brings it back."""

from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any, Final

from attacks import PEOPLE, Try, config, opening_of, shell, words

from gateway_memory import GatewayMemory, Session
from recall import Hit

__all__ = ["forgetting"]

SAYINGS: Final = (
    ("I am allergic to {secret}", "forget that I am allergic to {secret}"),
    ("My locker at the {secret} pool is number 12", "forget that my locker at the {secret} pool is number 12"),
    ("我对{secret}过敏", "忘掉我对{secret}过敏"),
    ("我住在{secret}路 8 号", "忘掉我住在{secret}路 8 号"),
)
WAYS: Final = ("by its id", "by its words", "by saying so", "in the shell")


async def forgetting(folder: Path, numbers: Random) -> AsyncIterator[Try]:
    """Each saying, forgotten each way, by each kind of person; looked for everywhere, also after a restart."""
    number = 0
    for name in ("owner", "zoe", "room"):
        for saying, asking in SAYINGS:
            for way in WAYS:
                number += 1
                secret, place = words(numbers), folder / str(number)
                async for held, told in _forgotten(place, PEOPLE[name], secret, saying, asking, way):
                    yield Try(name=f"{name}: {saying} {way}: {told}", held=held)


async def _forgotten(
    place: Path, whose: dict[str, Any], secret: str, saying: str, asking: str, way: str
) -> AsyncIterator[tuple[bool, str]]:
    said, asked = saying.format(secret=secret), asking.format(secret=secret)
    async with GatewayMemory(config(), place) as memory:
        hits = await _kept(memory, whose, secret, said)
        yield bool(hits), "it was kept at first"
        session = await memory.start_session("agent:main:forgetting", **whose)
        if way == "by saying so":
            await memory.command(session, asked)
            await memory.after_reply(session, user=asked, reply="OK")
            await memory.flush()
        elif way != "in the shell":
            for hit in hits:
                await memory.command(session, f"/memory forget {hit.id if way == 'by its id' else hit.text}")
    if way == "in the shell":
        ((option, value),) = whose.items()
        for hit in hits:
            owners = () if not isinstance(value, str) else (f"--{option}", value)
            shell("forget", hit.id, "--workspace", str(place), *owners)
    for moment in ("at once", "after a restart"):
        async with GatewayMemory(config(), place) as memory:
            async for each in _told(memory, whose, secret, said, moment):
                yield each
    async with GatewayMemory(config(), place) as memory:
        session = await memory.start_session("agent:main:undo", **whose)
        for _ in hits:
            await memory.command(session, "/memory undo")
        yield secret in await opening_of(memory, "agent:main:again", whose), "an undo brings it back"


async def _kept(memory: GatewayMemory, whose: dict[str, Any], secret: str, said: str) -> list[Hit]:
    """Let it be said, noted, staged and summed up, and return the memories that say it."""
    session = await memory.start_session("agent:main:chat", **whose)
    lead = "请记住：" if "我" in said else "Remember that "
    await memory.after_reply(session, user=f"{lead}{said}", reply="OK")
    await memory.observe(session, kind="decision", content=f"Noted: {said}")
    await memory.flush()
    await memory.save_fact(session, content=f"Stage: the user told that {said}", type="S")
    await memory.save_summary(session, topic="health and home", summary=f"We talked. {said}.", todos=[said])
    await memory.end_session(session, reason="completed")
    session = await memory.start_session("agent:main:next", **whose)
    return [hit for hit in await memory.search(session, said, limit=10) if secret in hit.text]


async def _told(
    memory: GatewayMemory, whose: dict[str, Any], secret: str, said: str, moment: str
) -> AsyncIterator[tuple[bool, str]]:
    session: Session = await memory.start_session(f"agent:main:{moment}", **whose)
    yield secret not in session.opening, f"opening {moment}"
    context = await memory.before_reply(session, f"What do you know? {said}?")
    yield secret not in context.text, f"reply {moment}"
    yield not any(secret in hit.text for hit in await memory.search(session, said, limit=50)), f"search {moment}"
    yield secret not in (await memory.command(session, "/memory list") or ""), f"list {moment}"
    rows = [row async for row in memory.exporter.rows()]
    yield secret not in str(rows), f"export {moment}"
    records = [path.read_text("utf-8") for path in memory.workspace.rglob("sessions.jsonl")]
    yield secret not in "".join(records), f"session records {moment}"
    notes = [path.read_text("utf-8") for path in memory.workspace.rglob("*.md")]
    yield secret not in "".join(notes), f"Markdown {moment}"
    later = await memory.start_session(f"agent:main:{moment} later", **whose)
    await memory.observe(later, kind="user", content="Please write down what we did about the garden and the fence")
    await memory.end_session(later, reason="completed")
    yield secret not in await opening_of(memory, f"agent:main:{moment} last", whose), f"the session after, {moment}"
