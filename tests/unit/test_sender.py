"""Events leave in the order of their numbers, each as soon as it may, and what was read is not read again."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from typing import Never
from unittest.mock import AsyncMock, Mock

import pytest

from notifier import Event, MemoryChange, NotifierError
from notifier.ports import Ports
from notifier.receiver import Receiver
from notifier.sender import Sender
from notifier.wire import Wire

INSTANCE = f"{'a' * 16}.0"


def event(number: int) -> Event:
    change = MemoryChange(id="abcdefgh", text="the door is red", at=1.0)
    return Event(scope="owner", at=1.0, changes=(change,), origin=INSTANCE, number=number)


class Log:
    """Events in memory; those in `unready` hold up what comes after them."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.unready: set[int] = set()
        self.marks: dict[str, int] = {}

    def keep(self, *numbers: int) -> None:
        self.events += [event(number) for number in numbers]

    async def sent(self) -> dict[str, int]:
        return dict(self.marks)

    async def mark_sent(self, origin: str, upto: int) -> None:
        self.marks[origin] = upto

    async def ready(self, origin: str, after: int, limit: int) -> list[Event]:
        found: list[Event] = []
        for kept in self.events:
            if kept.origin == origin and kept.number > after and len(found) < limit:
                if kept.number in self.unready:
                    break
                found.append(kept)
        return found

    async def oldest(self, origin: str) -> int:
        return min((kept.number for kept in self.events if kept.origin == origin), default=1)

    async def received_upto(self) -> dict[str, int]:
        return {}

    async def commit_received(self, events: Sequence[Event], received_upto: Mapping[str, int], now: float) -> None:
        raise NotImplementedError

    def acquire_origin(self, origin: str) -> AbstractContextManager[object] | None:
        raise NotImplementedError


class Link:
    """A connection whose acknowledgements the test gives."""

    def __init__(self) -> None:
        self.posted: list[int] = []
        self.acknowledgements: list[asyncio.Future[None]] = []

    def post(self, topic: str, payload: bytes) -> asyncio.Future[None]:
        assert topic.endswith("/changed")
        self.posted.append(json.loads(payload)["number"])
        self.acknowledgements.append(asyncio.get_running_loop().create_future())
        return self.acknowledgements[-1]

    async def send(self, messages: list[tuple[str, bytes]]) -> None:
        raise NotImplementedError

    async def lost(self) -> Never:
        raise NotImplementedError

    def acknowledge(self) -> None:
        for future in self.acknowledgements:
            if not future.done():
                future.set_result(None)


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def sender(log: Log) -> Sender:
    wire = Wire(workspace="team", instance=INSTANCE, secrets={}, trust_broker=False, oldest_seconds=60)
    return Sender(wire=wire, event_log=log, clock=lambda: 1.0)


@asynccontextmanager
async def sending(sender: Sender, link: Link) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(sender.send(link))
    await turns()
    yield task
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_an_event_leaves_as_it_is_announced_and_waits_for_no_acknowledgement(log: Log, sender: Sender) -> None:
    link = Link()
    async with sending(sender, link):
        log.keep(1, 2)
        sender.announce(event(1))
        sender.announce(event(2))
        assert link.posted == [1, 2]
        assert sender.upto == 0
        link.acknowledge()
        await sender.drain()
        assert (sender.upto, sender.sent) == (2, 2)


async def test_what_waits_for_an_earlier_one_leaves_with_it(log: Log, sender: Sender) -> None:
    link = Link()
    log.unready = {1}
    async with sending(sender, link):
        log.keep(1, 2, 3)
        sender.announce(event(2))
        sender.announce(event(3))
        await turns()
        assert link.posted == []
        log.unready = set()
        sender.announce(event(1))
        await turns()
        assert link.posted == [1, 2, 3]


async def test_what_was_not_acknowledged_is_sent_again_over_the_next_connection(log: Log, sender: Sender) -> None:
    first, second = Link(), Link()
    log.keep(1, 2, 3)
    async with sending(sender, first) as task:
        assert first.posted == [1, 2, 3]
        first.acknowledgements[0].set_result(None)
        await turns()
        for future in first.acknowledgements[1:]:
            future.set_exception(NotifierError("lost"))
        with pytest.raises(NotifierError):
            await task
    assert sender.upto == 1
    async with sending(sender, second):
        assert second.posted == [2, 3]
        second.acknowledge()
        await sender.drain()
    assert (sender.upto, sender.sent) == (3, 3)


async def test_a_hundred_are_under_way_at_most(log: Log, sender: Sender) -> None:
    link = Link()
    async with sending(sender, link):
        log.keep(*range(1, 1501))
        for kept in log.events:
            sender.announce(kept)
        assert link.posted == list(range(1, 101))
        while sender.upto < 1500:
            before = len(link.posted)
            link.acknowledge()
            await turns()
            assert len(link.posted) - before <= 100
        assert link.posted == list(range(1, 1501))


async def test_numbers_that_were_never_given_are_said_to_be_gone(log: Log, sender: Sender) -> None:
    """A server that stepped back lets the numbers of its processes leap."""
    log.keep(1, 2, 1_000_000, 1_000_001)
    log.acquire_origin = lambda _: nullcontext()  # type: ignore[method-assign,assignment]

    sent: list[dict[str, object]] = []

    class Messages(Link):
        async def send(self, messages: list[tuple[str, bytes]]) -> None:
            sent.extend(json.loads(payload) for _, payload in messages)

    link = Messages()
    assert await sender.again(link, to=f"{'b' * 16}.0", origin=INSTANCE, first=2, last=500) == 1
    assert await sender.again(link, to=f"{'b' * 16}.0", origin=INSTANCE, first=3, last=500) == 0
    assert [message.get("number") or message.get("upto") for message in sent] == [2, 999_999, 999_999]


async def test_an_event_that_was_read_from_our_own_journal_is_not_read_again() -> None:
    log, told = Log(), list[Event]()
    log.keep(1, 2)
    wire = Wire(
        workspace="t", instance=f"{'a' * 16}.1", secrets={"a": b"secret"}, trust_broker=False, oldest_seconds=60
    )
    ports = Ports(publish=told.append, follow=AsyncMock(), clock=lambda: 1.0, on_error=Mock())
    receiver = Receiver(wire=wire, event_log=log, received_upto={}, ports=ports)
    receiver.expect(INSTANCE)
    working = asyncio.create_task(receiver.run())
    while len(told) < 2:
        await asyncio.sleep(0)
    log.keep(3)
    by_its_process = Wire(
        workspace="t", instance=INSTANCE, secrets={"a": b"secret"}, trust_broker=False, oldest_seconds=60
    )
    receiver.take(*by_its_process.changed(event(2), 1.0))
    assert receiver.dropped == {"duplicate": 1}
    receiver.take(*by_its_process.changed(event(3), 1.0))
    while len(told) < 3:
        await asyncio.sleep(0)
    assert [each.number for each in told] == [1, 2, 3]
    working.cancel()
