"""What every channel is told: the same by the bus, by MQTT with a real broker, and by a class of a host's own."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from inside import mqtt_status
from mosquitto import MOSQUITTO, Mosquitto
from mqtt_gateway import config
from patience import until

from gateway_memory import OWNER, Config, GatewayMemory
from gateway_memory.config.settings import MemorySync
from notifier import Announcer, Bus, BusChannel, Event, MemoryChange
from recall.settings import EmbedderSettings, RecallSettings

pytestmark = pytest.mark.xdist_group("alone")  # not beside another test of brokers or deadlines

HERE = Config(defaults=MemorySync(auto_recall=RecallSettings(embedder=EmbedderSettings(provider="none"))))
CHANNELS = [
    "bus",
    pytest.param(
        "mqtt", marks=[pytest.mark.slow, pytest.mark.skipif(MOSQUITTO is None, reason="no mosquitto is installed")]
    ),
    "a host's own",
]


class Noting:
    """All that a third channel takes."""

    name = "noting"
    early = False

    def __init__(self) -> None:
        self.heard: list[MemoryChange] = []

    def announce(self, event: Event) -> None:
        self.heard += event.changes


class Failing:
    def __init__(self, *, early: bool) -> None:
        self.name = "failing"
        self.early = early

    def announce(self, event: Event) -> None:
        raise OSError(event.scope)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A memory, and what its channel has told so far."""

    memory: GatewayMemory
    changes: Callable[[], Sequence[MemoryChange]]

    async def say(self, *said: str) -> None:
        session = await self.memory.start_session("speaker", user=OWNER)
        for text in said:
            await self.memory.after_reply(session, user=text, reply="OK")
        await self.memory.flush()

    async def texts(self, number: int) -> list[str]:
        await until(lambda: len(self.changes()) >= number)
        return [change.text for change in self.changes()]


def is_connected(memory: GatewayMemory) -> bool:
    status = mqtt_status(memory)
    return status is not None and status.state == "connected"


@pytest.fixture(params=CHANNELS)
async def told(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Told]:
    broken = (Failing(early=True), Failing(early=False))  # in every test: they must hold up nobody
    heard: list[MemoryChange] = []
    async with AsyncExitStack() as stack:
        if request.param == "a host's own":
            noting = Noting()
            opened = GatewayMemory(HERE, tmp_path / "one", channels=[*broken, noting])
            yield Told(memory=await stack.enter_async_context(opened), changes=lambda: noting.heard)
            return
        if request.param == "bus":
            memory = there = await stack.enter_async_context(GatewayMemory(HERE, tmp_path / "one", channels=broken))
        else:
            monkeypatch.setenv("TEAM_SECRET", "a secret for the tests only")
            broker = stack.enter_context(Mosquitto(tmp_path))
            settings = config(broker.port, workspace_id="team", secret_env="TEAM_SECRET")  # noqa: S106 - its name
            memory, there = [
                await stack.enter_async_context(GatewayMemory(settings, tmp_path / name, channels=broken))
                for name in ("one", "two")
            ]
            for each in (memory, there):
                await until(partial(is_connected, each))
        subscription = there.changes(user=OWNER)

        async def hear() -> None:
            async for change in subscription:
                heard.append(change)  # noqa: PERF401 - the tests look at it meanwhile

        subscriptions = asyncio.create_task(hear())
        yield Told(memory=memory, changes=lambda: heard)
        subscriptions.cancel()


async def test_a_new_memory_is_told_once_and_in_order(told: Told) -> None:
    await told.say("Remember that the red door is locked.", "Remember that the blue door is open.")
    assert await told.texts(2) == ["the red door is locked", "the blue door is open"]
    await told.say("Remember that the green door is mine.")
    assert (await told.texts(3))[2:] == ["the green door is mine"], "and nothing twice"


async def test_what_is_forgotten_is_told_as_removed(told: Told) -> None:
    await told.say("Remember that the red door is locked.")
    await told.texts(1)
    session = await told.memory.start_session("speaker", user=OWNER)
    await told.memory.command(session, "/memory forget red door")
    await told.texts(2)
    added, removed = told.changes()
    assert (added.action, removed.action, removed.id) == ("added", "removed", added.id)


async def test_a_line_written_by_hand_is_told(told: Told) -> None:
    await told.say("Remember that the red door is locked.")
    await told.texts(1)
    with (told.memory.workspace / "MEMORY.md").open("a", encoding="utf-8") as file:
        file.write("- The lift is out of order.\n")
    session = await told.memory.start_session("another", user=OWNER)
    await told.memory.before_reply(session, "is anything broken?")
    assert (await told.texts(2))[1] == "The lift is out of order."
    assert told.changes()[1].by_hand


async def test_a_channel_that_fails_is_counted(tmp_path: Path) -> None:
    async with GatewayMemory(HERE, tmp_path, channels=[Failing(early=False)]) as memory:
        told = Told(memory=memory, changes=list)
        await told.say("Remember that the red door is locked.")
        session = await memory.start_session("speaker", user=OWNER)
        assert [hit.text for hit in await memory.search(session, "red door")] == ["the red door is locked"]
        assert "OSError" in str(await memory.command(session, "/memory status"))


def test_the_bus_leaves_to_the_network_what_others_have_said() -> None:
    bus = Bus()
    announcer = Announcer([BusChannel(bus, origin="journal.1")], on_error=lambda *_: None)
    for origin in ("journal.1", "journal.2"):
        announcer.announce(Event(scope="owner", at=1.0, changes=(), origin=origin, number=1))
    assert bus.published_upto == {"journal.1": 1}


def test_early_channels_are_told_first() -> None:
    told: list[str] = []

    class Naming(Noting):
        def __init__(self, name: str, *, early: bool) -> None:
            super().__init__()
            self.name, self.early = name, early

        def announce(self, event: Event) -> None:
            told.append(self.name)

    announcer = Announcer([Naming("late", early=False), Naming("early", early=True)], on_error=lambda *_: None)
    event = Event(scope="owner", at=1.0, changes=())
    announcer.written(event)
    assert told == ["early"]
    announcer.committed(event)
    assert told == ["early", "late"]
