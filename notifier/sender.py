"""Outgoing events: in the order of their numbers, in bounded batches, at least once."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final, Never, Protocol

from notifier.events import Event
from notifier.ports import EventLog
from notifier.wire import Wire

_BATCH: Final = 100
_SWEEP_SECONDS: Final = 5.0
_MARK_SECONDS: Final = 0.2
"""How long a sent event waits until the journal notes it. A crash in between sends it twice; receivers ignore that."""


class Link(Protocol):
    """A connection to a broker, or what a test has in its place."""

    def post(self, topic: str, payload: bytes) -> asyncio.Future[None]:
        """Publish in order. The future resolves when the broker has acknowledged, or fails with NotifierError."""

    async def send(self, messages: list[tuple[str, bytes]]) -> None:
        """Publish (topic, payload) pairs in order, and return when the broker has acknowledged all."""

    async def lost(self) -> Never:
        """Wait until the connection is lost, and raise NotifierError."""


class Sender:
    """Sends the events of this instance, and those that a dead process of the same journal left behind.

    clock: epoch seconds.
    """

    def __init__(self, *, wire: Wire, event_log: EventLog, clock: Callable[[], float]) -> None:
        self._wire = wire
        self._event_log = event_log
        self._clock = clock
        self._link: Link | None = None
        """The connection, once it has been given all ready events: the next one may be sent at once."""
        self._posted = 0
        self._waiting = 0
        """The highest number that was announced and not posted at once."""
        self._under_way: dict[int, asyncio.Future[None]] = {}
        """Events that were posted and are not acknowledged yet, by number, in order."""
        self._wake = asyncio.Event()
        self._to_mark = asyncio.Event()
        self._idle = asyncio.Event()
        self.upto = 0
        """The highest event number of this instance that the broker has acknowledged."""
        self.sent = 0

    def announce(self, event: Event) -> None:
        """Send an event that is on disk and ready: at once if nothing waits before it, else in its turn."""
        self._idle.clear()
        room = len(self._under_way) < _BATCH and self._waiting <= self._posted  # one may have waited for this one
        if self._link and event.number == self._posted + 1 and room:
            self._post(self._link, event)
            return
        self._waiting = max(self._waiting, event.number)  # it is read when it is sent: it may be forgotten by then
        self._wake.set()

    async def drain(self) -> None:
        """Wait until all events are sent."""
        await self._idle.wait()

    async def send(self, link: Link) -> None:
        """Send this instance's events over a connection, until it is lost."""
        instance = self._wire.instance
        self.upto = max(self.upto, (await self._event_log.sent()).get(instance, 0))
        self._posted = self.upto
        self._under_way.clear()
        try:
            while True:
                self._link = None  # events that are announced meanwhile wait
                while batch := await self._event_log.ready(instance, self._posted, _BATCH):
                    for event in batch:
                        self._post(link, event)
                    await asyncio.gather(*self._under_way.values())
                self._link = link
                self._settle()
                await self._wake.wait()
                self._wake.clear()
        finally:
            self._link = None

    def _post(self, link: Link, event: Event) -> None:
        acknowledged = link.post(*self._wire.changed(event, self._clock()))
        self._posted = event.number
        self._under_way[event.number] = acknowledged
        acknowledged.add_done_callback(partial(self._note, event.number))

    def _note(self, number: int, acknowledged: asyncio.Future[None]) -> None:
        """Note an acknowledgement. One that comes before an earlier event's waits for that one."""
        if self._under_way.get(number) is not acknowledged:
            return  # of an earlier connection
        for first, future in list(self._under_way.items()):
            if not future.done() or future.cancelled() or future.exception() is not None:
                break
            self.upto = first
            self.sent += 1
            del self._under_way[first]
        self._to_mark.set()
        self._settle()

    def _settle(self) -> None:
        if self._link and not self._under_way and not self._wake.is_set():
            self._idle.set()

    async def sweep(self, link: Link) -> None:
        """Send what dead processes left behind, every few seconds."""
        while True:
            for origin, upto in (await self._event_log.sent()).items():
                if origin != self._wire.instance:
                    await self._send_left(link, origin, upto)
            await asyncio.sleep(_SWEEP_SECONDS)

    async def _send_left(self, link: Link, origin: str, upto: int) -> None:
        if not await self._event_log.ready(origin, upto, 1):
            return
        lock = self._event_log.acquire_origin(origin)
        if lock is None:
            return
        with lock:
            while batch := await self._event_log.ready(origin, upto, _BATCH):
                now = self._clock()
                await link.send([self._wire.changed(event, now) for event in batch])
                self.sent += len(batch)
                upto = batch[-1].number
                await self._event_log.mark_sent(origin, upto)

    async def mark(self) -> None:
        """Note in the journal what was sent, until cancelled."""
        while True:
            await self._to_mark.wait()
            await asyncio.sleep(_MARK_SECONDS)
            await self.mark_now()

    async def mark_now(self) -> None:
        """Note in the journal what was sent so far."""
        if self._to_mark.is_set():
            self._to_mark.clear()
            await self._event_log.mark_sent(self._wire.instance, self.upto)

    async def heads(self) -> dict[str, int]:
        """Return the last event number of each origin of this journal."""
        heads = await self._event_log.sent()
        return heads | {self._wire.instance: max(self.upto, heads.get(self._wire.instance, 0))}

    async def again(self, link: Link, *, to: str, origin: str, first: int, last: int) -> int:
        """Send events again to an instance that misses them; return how many. 0 where their own process does it."""
        lock = self._event_log.acquire_origin(origin)
        if lock is None:
            return 0
        with lock:
            now = self._clock()
            oldest = await self._event_log.oldest(origin)
            messages, sent, expected = [], 0, first
            for event in await self._event_log.ready(origin, max(first, oldest) - 1, last - first + 1):
                if event.number > expected:
                    messages.append(self._wire.gone(origin, event.number - 1, now, to=to))
                if event.number > last:
                    break
                messages.append(self._wire.changed(event, now, to=to))
                sent, expected = sent + 1, event.number + 1
            if not sent and not messages and oldest > first:
                messages.append(self._wire.gone(origin, oldest - 1, now, to=to))
            await link.send(messages)
            return sent
