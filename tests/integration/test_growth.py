"""A gateway lives for months: what it holds of each session and each person in memory does not grow for ever."""

import asyncio
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from inside import parts
from thorough import amount

from gateway_memory import OWNER, Config, GatewayMemory
from gateway_memory.config.settings import MemorySync
from recall import EmbedderSettings, RecallSettings

pytestmark = pytest.mark.slow

CONFIG = Config(defaults=MemorySync(auto_recall=RecallSettings(embedder=EmbedderSettings(provider="none"))))
PACKAGES = ("gateway_memory", "extractor", "recall", "notifier")


def tables(root: object) -> Iterator[tuple[str, int]]:
    """Every dict, list, set and deque that our objects hold, by where it is held, with its size."""
    seen: set[int] = set()
    waiting: list[tuple[str, Any]] = [(type(root).__name__, root)]
    while waiting:
        place, value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if hasattr(value, "__len__") and not isinstance(value, str | bytes):
            yield place, len(value)
        if isinstance(value, dict):
            waiting += [(f"{place}[]", each) for each in value.values()]
        elif type(value).__module__.split(".")[0] in PACKAGES:
            names = [*getattr(value, "__dict__", {}), *getattr(type(value), "__slots__", ())]
            waiting += [(f"{place}.{name}", getattr(value, name, None)) for name in names]
        elif hasattr(value, "__self__"):
            waiting.append((f"{place}()", value.__self__))


def sizes(memory: GatewayMemory) -> dict[str, int]:
    gc.collect()
    found: dict[str, int] = {}
    for place, size in tables(memory):
        found[place] = max(size, found.get(place, 0))
    return found


async def live(memory: GatewayMemory, numbers: range, *, person: bool) -> None:
    async def one(number: int) -> None:
        user: Any = f"person {number}" if person else OWNER
        session = await memory.start_session(f"key {number}", user=user)
        await memory.before_reply(session, "hello")
        await memory.command(session, "/memory list")
        await memory.end_session(session, reason="completed")

    for start in range(numbers.start, numbers.stop, 50):
        await asyncio.gather(*(one(number) for number in range(start, min(start + 50, numbers.stop))))


@pytest.mark.parametrize("person", [False, True])
async def test_nothing_grows_with_sessions_and_persons_that_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, person: bool
) -> None:
    number = amount(300, 1200)
    for limit in (
        "gateway_memory.sync.follower._MOST_SCOPES",
        "gateway_memory.sync.episodes._MOST_SCOPES",
        "recall.index.index._RESIDENT_SCOPES",
    ):
        monkeypatch.setattr(limit, number // 4)  # so that as many sessions as these reach it
    async with GatewayMemory(CONFIG, tmp_path) as memory:
        await live(memory, range(number), person=person)
        before = sizes(memory)
        await live(memory, range(number, 2 * number), person=person)
        after = sizes(memory)
    grown = {place: (before.get(place, 0), size) for place, size in after.items() if size > before.get(place, 0) + 100}
    assert grown == {}
    assert len(after) > 30, "the objects were looked through"


async def test_a_session_that_could_not_begin_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with GatewayMemory(CONFIG, tmp_path) as memory:

        async def fail(*_: object, **__: object) -> None:
            raise OSError("the disk is gone")

        monkeypatch.setattr(parts(memory).storage.sessions, "open", fail)
        for number in range(300):
            with pytest.raises(Exception, match="the disk is gone"):
                await memory.start_session(f"key {number}", user=f"person {number}")
        assert len(memory._sessions._by_key) == 0


async def test_scopes_past_the_most_are_followed_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway_memory.sync.follower._MOST_SCOPES", 2)
    monkeypatch.setattr("recall.index.index._RESIDENT_SCOPES", 2)
    async with GatewayMemory(CONFIG, tmp_path) as memory:
        sessions = [await memory.start_session("a", user=f"person {number}") for number in range(6)]
        for session in sessions:
            await memory.after_reply(session, user=f"Remember that I am {session.scope.key[5:]} indeed", reply="OK")
        await memory.flush()
        for turn in range(3):
            for session in sessions:
                file = tmp_path / session.scope.folder / "MEMORY.md"
                with file.open("a") as notes:
                    notes.write(f"- the {turn} note of {session.scope.key[5:]}\n")
                context = await memory.before_reply(session, "what is noted?")
                assert [row.entry.text for row in context.changes] == [f"the {turn} note of {session.scope.key[5:]}"]
        assert len(parts(memory).storage.follower._scopes) <= 2
