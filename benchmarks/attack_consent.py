"""Consent: after `/memory off` nothing of a session stays, whichever call is made, also after a restart."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from random import Random

from attacks import PEOPLE, Try, answer_of, config, everything, shell, words

from gateway_memory import GatewayMemory, Session

__all__ = ["consent"]

Call = Callable[[GatewayMemory, Session, str], Awaitable[object]]
CALLS: dict[str, Call] = {
    "before_reply": lambda memory, session, secret: memory.before_reply(session, f"Remember that I grow {secret}"),
    "after_reply": lambda memory, session, secret: memory.after_reply(
        session, user=f"Remember that I grow {secret}. 请记住我种{secret}。", reply=f"You grow {secret}."
    ),
    "save_fact": lambda memory, session, secret: memory.save_fact(session, content=f"The user grows {secret}"),
    "save_fact of a stage": lambda memory, session, secret: memory.save_fact(session, content=secret, type="S"),
    "save_summary": lambda memory, session, secret: memory.save_summary(
        session, topic=secret, summary=secret, decisions=[secret], todos=[secret]
    ),
    "observe": lambda memory, session, secret: memory.observe(session, kind="tool", tool=secret, content=secret),
    "search": lambda memory, session, secret: memory.search(session, secret),
    "/memory search": lambda memory, session, secret: memory.command(session, f"/memory search {secret}"),
    "before_compaction": lambda memory, session, _: memory.before_compaction(session, usage=90, messages=40),
    "stop": lambda memory, session, _: memory.stop(session, "completed"),
}


async def consent(folder: Path, numbers: Random) -> AsyncIterator[Try]:
    """Every call, for everybody, in an incognito session; then a restart, and the agent's own commands."""
    for number, (name, whose) in enumerate(PEOPLE.items()):
        place, secret = folder / str(number), words(numbers)
        async with GatewayMemory(config(), place) as memory:
            session = await memory.start_session("agent:main:chat", **whose)
            await memory.command(session, "/memory off" if number % 2 else "/memory off 全部")
            for called, call in CALLS.items():
                await answer_of(call(memory, session, secret))
                yield Try(name=f"{name}: {called}", held=secret.encode() not in everything(place))
            fact = ("--content", secret, f"--session={session.session_id}", "--workspace", str(place))
            shell("save-fact", *fact)
            yield Try(name=f"{name}: save-fact", held=secret.encode() not in everything(place))
        async with GatewayMemory(config(), place) as memory:
            session = await memory.start_session("agent:main:chat", **whose)
            for call in CALLS.values():
                await answer_of(call(memory, session, secret))
            await memory.flush()
            await memory.end_session(session, reason="completed")
            yield Try(name=f"{name}: after a restart", held=secret.encode() not in everything(place))
            opening = (await memory.start_session("agent:main:next", **whose)).opening
            yield Try(name=f"{name}: the next opening", held=secret not in opening)
        yield Try(name=f"{name}: closed", held=secret.encode() not in everything(place))
