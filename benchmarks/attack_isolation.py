"""Isolation: what one person's memory holds reaches no other session, by whichever call or command."""

import os
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any, Final

from attacks import PEOPLE, Try, answer_of, config, opening_of, said, words

from gateway_memory import GatewayMemory, Session
from gateway_memory.scope import Scope

__all__ = ["isolation"]

PUT_IN: Final = Path(Scope.parse("user:zoe").folder)
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_LINKS: Final[dict[str, Callable[[Path, Path], None]]] = {
    "a link": lambda place, owner: _in(place).joinpath("MEMORY.md").symlink_to(owner / "MEMORY.md"),
    "a second name": lambda place, owner: os.link(owner / "MEMORY.md", _in(place) / "MEMORY.md"),
    "a linked folder": lambda place, owner: place.symlink_to(owner),
    "linked records": lambda place, owner: _in(place).joinpath("sessions.jsonl").symlink_to(owner / "sessions.jsonl"),
    "a pipe": lambda place, _: os.mkfifo(_in(place) / "MEMORY.md"),
    "a device": lambda place, _: _in(place).joinpath("MEMORY.md").symlink_to("/dev/zero"),
}
"""What somebody may put into a person's folder."""

SAYINGS = ("Remember that the {secret} blooms in {hidden}.", "请记住：{secret} 在 {hidden} 开花。")


async def isolation(folder: Path, numbers: Random) -> AsyncIterator[Try]:
    """Everybody tells a secret; everybody else tries to get it, and to touch it."""
    secrets = {name: (words(numbers), words(numbers)) for name in PEOPLE}
    async with GatewayMemory(config(), folder) as memory:
        sessions = {name: await memory.start_session("agent:main:chat", **whose) for name, whose in PEOPLE.items()}
        for number, (name, (secret, hidden)) in enumerate(secrets.items()):
            await said(memory, sessions[name], SAYINGS[number % 2].format(secret=secret, hidden=hidden))
            await memory.save_fact(
                sessions[name], content=f"{secret} is a flower of {hidden}", entities=[secret, hidden]
            )
            await memory.observe(sessions[name], kind="tool", tool="bash", content=f"saw the {secret} in {hidden}")
            await memory.save_summary(sessions[name], topic=f"about {hidden}", summary=f"{secret} blooms in {hidden}")
        for victim, (secret, hidden) in secrets.items():
            (hit, *_) = await memory.search(sessions[victim], secret, limit=1)
            yield Try(name=f"{victim} finds their own", held=hidden in hit.text)
            for thief, session in sessions.items():
                if thief == victim:
                    continue
                for name, call in _ways(memory, session, secret, hit.id, sessions[victim]):
                    held = hidden not in await answer_of(call)
                    yield Try(name=f"{thief} asks for {victim}'s: {name}", held=held)
                opening = await opening_of(memory, f"agent:main:{thief}:{victim}", PEOPLE[thief])
                yield Try(name=f"{thief} opens a session after {victim}", held=hidden not in opening)
                updates = (await memory.before_reply(session, "hello")).updates
                held = not any(hidden in update.text for update in updates)
                yield Try(name=f"{thief} hears of {victim}", held=held)
            standing = await memory.search(sessions[victim], secret, limit=5)
            yield Try(name=f"{victim} keeps what others tried to forget", held=hit.id in {each.id for each in standing})
    async for each in _by_files(folder / "files", numbers):
        yield each


async def _by_files(folder: Path, numbers: Random) -> AsyncIterator[Try]:
    """What stands in a person's folder leads to the owner's files, and others on the machine look at all of them."""
    secret = words(numbers)
    for name, put in _LINKS.items():
        workspace = folder / f"by {name}"
        async with GatewayMemory(config(), workspace) as memory:
            owner = await memory.start_session("agent:main:chat", **PEOPLE["owner"])
            await said(memory, owner, f"Remember that the {secret} blooms in May")
            held = not [path for path in (workspace, *workspace.rglob("*")) if path.stat().st_mode & _OTHERS]
            yield Try(name="nobody else can read an open workspace", held=held)
        place = workspace / PUT_IN
        place.parent.mkdir(parents=True, exist_ok=True)
        put(place, workspace)
        before = (workspace / "MEMORY.md").read_bytes()
        async with GatewayMemory(config(), workspace) as memory:
            thief = await memory.start_session("agent:main:chat:zoe", **PEOPLE["zoe"])
            told = f"{thief.opening}{await answer_of(memory.before_reply(thief, f'when does the {secret} bloom?'))}"
            told += await answer_of(memory.search(thief, secret, limit=50))
            yield Try(name=f"{name} tells nothing", held="May" not in told and secret not in thief.opening)
            await said(memory, thief, "Remember that I play the oboe")
        yield Try(name=f"{name} changes nothing", held=(workspace / "MEMORY.md").read_bytes() == before)


def _ways(
    memory: GatewayMemory, session: Session, secret: str, identity: str, victim: Session
) -> list[tuple[str, Awaitable[object]]]:
    asked = f"when does the {secret} bloom?"
    commands = [
        f"search {secret}", f"search --session {victim.key} {secret}", f"search --since 2000-01-01 {secret}", "list",
        f"history {identity}", f"forget {identity}", f"undo {identity}", "undo", "why", "status",
        f"forget the {secret} blooms",
    ]  # fmt: skip
    escape = f"../{victim.scope.folder or '.'}/MEMORY.md"
    ways: list[tuple[str, Awaitable[Any]]] = [
        ("reply", memory.before_reply(session, asked)),
        ("reply in Chinese", memory.before_reply(session, f"{secret} 什么时候开花？")),
        ("search", memory.search(session, asked, limit=50)),
        ("search without words", memory.search(session, "", limit=50, since="2000-01-01")),
        ("search by session", memory.search(session, secret, session_key=victim.key, limit=50)),
        ("file of another", memory.file_written(session, escape)),
        ("same fact", memory.save_fact(session, content=f"the {identity} is what?")),
        ("attach", memory.attach_session(victim.session_id, **_whose(session))),
        ("natural forgetting", memory.command(session, f"forget that the {secret} blooms")),
        ("compaction", memory.before_compaction(session, usage=90, messages=50)),
        ("stop", memory.stop(session, "completed")),
        ("distill", memory.distill(session, dry_run=True)),
    ]
    return ways + [(f"/memory {line.split()[0]}", memory.command(session, f"/memory {line}")) for line in commands]


def _whose(session: Session) -> dict[str, Any]:
    return next(whose for name, whose in PEOPLE.items() if _key(whose) == session.scope.key)


def _key(whose: dict[str, Any]) -> str:
    ((kind, name),) = whose.items()
    return f"{kind}:{name}" if isinstance(name, str) else "owner"


def _in(place: Path) -> Path:
    place.mkdir()
    return place
