"""A host's own code hears of the changes of a scope: all of them, no other scope's, and no longer than it wants."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from inside import parts

from gateway_memory import OWNER, ClosedError, Config, GatewayMemory, UsageError
from gateway_memory.config.settings import MemorySync
from notifier import Bus, Event, MemoryChange
from recall import EmbedderSettings, RecallSettings

CONFIG = Config(defaults=MemorySync(auto_recall=RecallSettings(embedder=EmbedderSettings(provider="none"))))


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[GatewayMemory]:
    async with GatewayMemory(CONFIG, tmp_path) as memory:
        yield memory


async def remember(memory: GatewayMemory, said: str, *, key: str = "one", user: Any = OWNER, room: Any = None) -> None:
    session = await memory.start_session(key, user=user, room=room)
    await memory.after_reply(session, user=said, reply="OK")
    await memory.flush()


async def test_what_is_learnt_forgotten_and_edited_is_heard(memory: GatewayMemory) -> None:
    session = await memory.start_session("one", user=OWNER)
    changes = memory.changes(session)
    await remember(memory, "记住：我的工位在三楼")
    learnt = await anext(changes)
    assert (learnt.action, learnt.text, learnt.source) == ("added", "我的工位在三楼", "one")
    with (memory.workspace / "MEMORY.md").open("a") as file:
        file.write("- The cat is called Tigger\n")
    await memory.command(session, "/memory list")
    assert (await anext(changes)).text == "The cat is called Tigger"
    await memory.command(session, f"/memory forget {learnt.id}")
    gone = await anext(changes)
    assert (gone.action, gone.id) == ("removed", learnt.id)


async def test_no_other_scope_is_heard(memory: GatewayMemory) -> None:
    heard = {
        "owner": memory.changes(user=OWNER),
        "zoe": memory.changes(user="zoe"),
        "yan": memory.changes(user="yan"),
        "room": memory.changes(room="zoe"),
    }
    await remember(memory, "Remember that the red door is mine.")
    await remember(memory, "Remember that the blue door is mine.", key="two", user="zoe")
    assert (await anext(heard["owner"])).text == "the red door is mine"
    assert (await anext(heard["zoe"])).text == "the blue door is mine"
    for changes in heard.values():
        changes.close()
        with pytest.raises(StopAsyncIteration):
            await anext(changes)


async def test_it_ends_when_the_memory_closes_after_what_still_waits(tmp_path: Path) -> None:
    async with GatewayMemory(CONFIG, tmp_path) as memory:
        changes = memory.changes(user=OWNER)
        waiting = memory.changes(user="zoe")

        async def wait() -> list[MemoryChange]:
            return [change async for change in waiting]

        task = asyncio.create_task(wait())
        await remember(memory, "Remember that the red door is mine.")
    assert [change.text async for change in changes] == ["the red door is mine"]
    assert await task == []
    with pytest.raises(ClosedError):
        memory.changes(user=OWNER)


@pytest.mark.parametrize("steps", range(6))
async def test_cancelling_who_waits_loses_nothing(memory: GatewayMemory, steps: int) -> None:
    changes = memory.changes(user=OWNER)
    task = asyncio.ensure_future(anext(changes))
    await asyncio.sleep(0)
    parts(memory).bus.publish(Event(scope="owner", at=1.0, changes=(MemoryChange(id="a", text="a", at=1.0),)))
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    with suppress(asyncio.CancelledError):
        assert (await task).id == "a"
        return
    assert (await anext(changes)).id == "a"


async def test_many_take_from_one_and_each_change_is_taken_once() -> None:
    bus = Bus()
    changes = bus.changes("owner", 100)

    async def take() -> list[str]:
        return [change.id async for change in changes]

    tasks = [asyncio.create_task(take()) for _ in range(3)]
    for number in range(50):
        bus.publish(Event(scope="owner", at=1.0, changes=(MemoryChange(id=str(number), text="", at=1.0),)))
        if number % 7 == 0:
            await asyncio.sleep(0)
    bus.close()
    taken = [identity for task in tasks for identity in await task]
    assert sorted(taken, key=int) == [str(number) for number in range(50)]


def test_what_nobody_takes_is_bounded_and_counted() -> None:
    bus = Bus()
    changes = bus.changes("owner", 3)
    for number in range(10):
        bus.publish(Event(scope="owner", at=1.0, changes=(MemoryChange(id=str(number), text="", at=1.0),)))
    assert changes.dropped == 7
    assert [change.id for change in changes._waiting] == ["7", "8", "9"]


async def test_whoever_stops_listening_is_forgotten(memory: GatewayMemory) -> None:
    async def first() -> str:
        async for change in memory.changes(user=OWNER):
            return change.text
        return ""

    task = asyncio.create_task(first())
    await asyncio.sleep(0)
    (held,) = parts(memory).bus._subscriptions["owner"]
    gone = weakref.ref(held)
    del held
    await remember(memory, "Remember that the red door is mine.")
    assert await task == "the red door is mine"
    del task
    gc.collect()
    assert gone() is None
    for number in range(5000):
        memory.changes(user=f"person {number}")
    assert len(parts(memory).bus._subscriptions) < 5


async def test_not_exactly_one_scope_is_refused(memory: GatewayMemory, tmp_path: Path) -> None:
    session = await memory.start_session("one", user=OWNER)
    wrong: list[dict[str, Any]] = [
        {},
        {"user": OWNER, "room": "a"},
        {"session": session, "user": "zoe"},
        {"user": ""},
        {"user": OWNER, "max_waiting": 0},
    ]
    for arguments in wrong:
        with pytest.raises(UsageError):
            memory.changes(**arguments)
    async with GatewayMemory(CONFIG, tmp_path / "other") as other:
        with pytest.raises(UsageError):
            other.changes(session)
