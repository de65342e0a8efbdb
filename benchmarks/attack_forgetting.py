"""Forgetting: what was forgotten is told by no call, and lies in no file that is told; an undo brings it back.

A memory is forgotten in four ways, and with its exchange or its session as a whole. What was only said, and never kept,
is forgotten with its exchange or its session.
"""

from collections.abc import AsyncIterator, Sequence
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
SAID: Final = (
    "The clinic called because of the {secret} rash on my knee again",
    "诊所打电话来说{secret}疹子又长在膝盖上了",
)
"""What nobody asked to keep; it is an exchange alone, or what a model may make of it."""
WHOLE: Final = ("with its exchange", "with its session", "with its session, in the shell")
WAYS: Final = ("by its id", "by its words", "by saying so", "in the shell", *WHOLE)
_KINDS: Final = ("memory", "note", "episode", "record", "observation")


async def forgetting(folder: Path, numbers: Random) -> AsyncIterator[Try]:
    """Each saying, forgotten each way, by each kind of person; looked for everywhere, also after a restart."""
    number = 0
    for name in ("owner", "zoe", "room"):
        cases = [(saying, asking, way) for saying, asking in SAYINGS for way in WAYS]
        cases += [(saying, saying, way) for saying in SAID for way in WHOLE]
        for saying, asking, way in cases:
            number += 1
            secret, place = words(numbers), folder / str(number)
            async for held, told in _forgotten(place, PEOPLE[name], secret, saying, asking, way):
                yield Try(name=f"{name}: {saying} {way}: {told}", held=held)


async def _forgotten(
    place: Path, whose: dict[str, Any], secret: str, saying: str, asking: str, way: str
) -> AsyncIterator[tuple[bool, str]]:
    said, asked = saying.format(secret=secret), asking.format(secret=secret)
    async with GatewayMemory(config(), place) as memory:
        hits, session_id = await _kept(memory, whose, secret, said, lead=saying not in SAID)
        yield bool(hits), "it was kept at first"
        memories, turns = _targets(hits)
        ids = [hit.id for hit in memories]
        if "shell" not in way:
            session = await memory.start_session("agent:main:forgetting", **whose)
            await _forget(memory, session, hits, asked, way, session_id)
    if "shell" in way:
        ((option, value),) = whose.items()
        for what in [("session", session_id)] if way in WHOLE else [(each,) for each in ids or turns]:
            owners = () if not isinstance(value, str) else (f"--{option}", value)
            shell("forget", *what, "--workspace", str(place), *owners)
    for moment in ("at once", "after a restart"):
        async with GatewayMemory(config(), place) as memory:
            async for each in _told(memory, whose, secret, said, moment, [hit.id for hit in hits]):
                yield each
    async with GatewayMemory(config(), place) as memory:
        session = await memory.start_session("agent:main:undo", **whose)
        for _ in memories or hits[:1]:
            await memory.command(session, "/memory undo")
        told = await opening_of(memory, "agent:main:again", whose)
        found = await memory.search(session, said, limit=50)
        yield secret in told + " ".join(hit.text for hit in found), "an undo brings it back"


async def _forget(
    memory: GatewayMemory, session: Session, hits: Sequence[Hit], asked: str, way: str, session_id: str
) -> None:
    """Forget what the hits tell, in one of the ways that a chat has."""
    if way == "by saying so":
        await memory.command(session, asked)
        await memory.after_reply(session, user=asked, reply="OK")
        await memory.flush()
        return
    memories, turns = _targets(hits)
    named = {
        "by its id": [hit.id for hit in memories] or turns,
        "by its words": [hit.text for hit in memories] or turns,
        "with its exchange": turns,
        "with its session": [f"session {session_id}"],
    }
    for what in named[way]:
        await memory.command(session, f"/memory forget {what}")


def _targets(hits: Sequence[Hit]) -> tuple[list[Hit], list[str]]:
    """Return those hits that are memories, and the ids of the exchanges. Not all that is said is kept as a memory."""
    turns = sorted({f"e{hit.turn}" for hit in hits if hit.kind == "episode"})
    return [hit for hit in hits if hit.kind == "memory"], turns


async def _kept(
    memory: GatewayMemory, whose: dict[str, Any], secret: str, said: str, *, lead: bool
) -> tuple[list[Hit], str]:
    """Let it be said, noted, staged and summed up; return the hits that say it, and the session's id."""
    session = await memory.start_session("agent:main:chat", **whose)
    asked = ("请记住：" if "我" in said else "Remember that ") if lead else ""
    await memory.after_reply(session, user=f"{asked}{said}", reply=f"I see, {secret}.")
    await memory.observe(session, kind="decision", content=f"Noted: {said}")
    await memory.flush()
    await memory.save_fact(session, content=f"Stage: the user told that {said}", type="S")
    await memory.save_summary(session, topic="health and home", summary=f"We talked. {said}.", todos=[said])
    await memory.end_session(session, reason="completed")
    session_id = session.session_id
    session = await memory.start_session("agent:main:next", **whose)
    await memory.before_reply(session, f"What do you know? {said}?")
    await memory.after_reply(session, user="What do you know?", reply="Not much.")
    await memory.flush()
    found = [await memory.search(session, said, limit=10, kinds=[kind]) for kind in ("memory", "episode")]
    return [hit for hits in found for hit in hits if secret in hit.text], session_id


async def _told(
    memory: GatewayMemory, whose: dict[str, Any], secret: str, said: str, moment: str, ids: Sequence[str]
) -> AsyncIterator[tuple[bool, str]]:
    session: Session = await memory.start_session(f"agent:main:{moment}", **whose)
    yield secret not in session.opening, f"opening {moment}"
    context = await memory.before_reply(session, f"What do you know? {said}?")
    yield secret not in context.text, f"reply {moment}"
    hits = await memory.search(session, said, limit=50, kinds=_KINDS)
    yield not any(secret in hit.text for hit in hits), f"search {moment}"
    for command in ("list", "why", "receipts 50", "review", "status", *(f"history {each}" for each in ids)):
        told = await memory.command(session, f"/memory {command}") or ""
        yield secret not in told, f"{command.partition(' ')[0]} {moment}"
    for each in ids:
        yield not any(secret in hit.text for hit in await memory.get(session, each)), f"an id {moment}"
    summed = await memory.before_compaction(session, usage=90, messages=40, wants="text")
    yield secret not in summed, f"text for a compaction {moment}"
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
