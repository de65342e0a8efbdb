"""Carries events between processes: keeps a connection to the broker, whatever becomes of it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from random import SystemRandom
from typing import Final, Never, Protocol

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_random_exponential

from notifier.delivery.receiver import Receiver
from notifier.delivery.sender import Link, Sender
from notifier.delivery.tracker import ASKED_AT_ONCE
from notifier.log import get_logger
from notifier.ports import EventLog, NotifierStatus, State
from notifier.protocol.wire import Wire
from notifier.types import Event, NotifierError

__all__ = ["Duplex", "Notifier"]

log = get_logger(__name__)

_LONGEST_RETRY_SECONDS: Final = 30
_LOSS_SECONDS: Final = 0.5
"""The longest wait after a connection that stood was lost: a broker's clients come back one by one."""
_RANDOM: Final = SystemRandom()
_HELLO_SECONDS: Final = 30.0
_ANSWER_SECONDS: Final = 0.1


class Duplex(Link, Protocol):
    """A connection, both ways: what comes is handed to `Notifier.take`."""

    async def lost(self) -> Never:
        """Wait for the loss of the connection, and raise NotifierError."""
        ...


class Notifier:
    """Sends this process's events to the others and theirs to the sessions here, from `run` until it is cancelled.

    connect: makes a connection, or raises NotifierError. heard: what `event_log.heard` returned. publish, follow,
    speaks_for: see Receiver and Sender. clock: epoch seconds. fail: notes a failure by its place.
    """

    name = "mqtt"
    early = False

    def __init__(
        self,
        *,
        wire: Wire,
        event_log: EventLog,
        heard: Mapping[str, int],
        connect: Callable[[], AbstractAsyncContextManager[Duplex]],
        publish: Callable[[Event], None],
        follow: Callable[[str], Awaitable[None]],
        speaks_for: Callable[[str], AbstractContextManager[object] | None],
        clock: Callable[[], float],
        fail: Callable[[str, BaseException], None],
    ) -> None:
        self._wire = wire
        self._event_log = event_log
        self._connect = connect
        self._clock = clock
        self._fail = fail
        self._receiver = Receiver(
            wire=wire, event_log=event_log, heard=heard, publish=publish, follow=follow, clock=clock, fail=fail
        )
        self._sender = Sender(wire=wire, event_log=event_log, speaks_for=speaks_for, clock=clock)
        self._state: State = "connecting"
        self._since = clock()
        self._reason = ""

    def announce(self, event: Event) -> None:
        """Tell the other processes of an event that is on disk and ready; one of a dead process's is left to `run`."""
        if event.origin == self._wire.instance:
            self._sender.announce(event)
        else:
            self._receiver.ring(event.origin)

    def take(self, topic: str, payload: bytes) -> None:
        """Take in a message that the connection has read; neither waits nor raises."""
        self._receiver.take(topic, payload)

    def refused(self, reason: str) -> None:
        """Note that the broker took a message and dropped it."""
        self._receiver.drop("refused_by_broker")
        self._reason = f"the broker drops what we publish: {reason}"

    def status(self) -> NotifierStatus:
        """Return how it stands."""
        return NotifierStatus(
            state=self._state,
            since=self._since,
            reason=self._reason,
            sent=self._sender.sent,
            received=self._receiver.received,
            dropped=dict(self._receiver.dropped),
        )

    def gauges(self) -> dict[str, float]:
        """Return the same as numbers by dotted name."""
        status = self.status()
        return {
            "notify.connected": float(status.state == "connected"),
            "notify.sent": float(status.sent),
            "notify.received": float(status.received),
            **{f"notify.dropped.{reason}": float(number) for reason, number in status.dropped.items()},
        }

    async def keep(self) -> None:
        """Put on disk what the sessions here were told so far, which otherwise happens behind."""
        await self._receiver.keep()

    async def drained(self, seconds: float) -> None:
        """Wait until all is sent, for so long and where there is a connection; then note what was sent and heard."""
        if self._state == "connected":
            try:
                async with asyncio.timeout(seconds):
                    await self._sender.drained()
            except TimeoutError:
                log.warning("notify.closed_early")
        await self._sender.mark_now()
        await self._receiver.keep()

    async def run(self) -> None:
        """Work until cancelled."""
        receiving = asyncio.create_task(self._receiver.run(), name="gateway-memory-notify-receiver")
        try:
            await self._stay_connected()  # and not in a group, which would pass a second cancel on to nobody
        finally:
            receiving.cancel()
            await asyncio.wait([receiving])

    async def _stay_connected(self) -> None:
        waits = wait_random_exponential(multiplier=0.2, max=_LONGEST_RETRY_SECONDS)
        retrying = retry_if_exception_type(Exception)
        while True:
            await AsyncRetrying(retry=retrying, wait=waits, before_sleep=self._note)(self._one_connection)

    def _note(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        kind = getattr(error, "kind", type(error).__name__)
        log.warning("notify.disconnected", reason=kind, attempt=state.attempt_number)
        if error and not isinstance(error, NotifierError):
            self._fail("notify", error)

    def _become(self, state: State, reason: str = "") -> None:
        self._state, self._since, self._reason = state, self._clock(), reason

    async def _one_connection(self) -> None:
        """Stand by one connection until it is lost; raise where it did not come about."""
        connected = False
        try:
            async with self._connect() as link:
                connected = True
                self._become("connected")
                log.info("notify.connected")
                await self._talk(link)
        except Exception as error:  # noqa: BLE001 - whatever it was, this task must outlive it
            first = _first(error)
            kind = getattr(first, "kind", type(first).__name__)
            self._become("waiting", f"{kind}: {first}")
            if not connected:
                raise first from None
            log.warning("notify.disconnected", reason=kind, attempt=0)
            if not isinstance(first, NotifierError):
                self._fail("notify", first)
            await asyncio.sleep(_RANDOM.uniform(0, _LOSS_SECONDS))

    async def _talk(self, link: Duplex) -> None:
        for origin in await self._event_log.sent():
            self._receiver.ring(origin)  # what other processes of this journal said while we were away
        async with asyncio.TaskGroup() as group:
            group.create_task(link.lost(), name="gateway-memory-notify-lost")
            for work in (
                self._sender.send,
                self._sender.sweep,
                self._say_hello,
                self._greet,
                self._ask,
                self._answer,
            ):
                group.create_task(work(link), name=f"gateway-memory-notify{work.__name__}")
            group.create_task(self._sender.mark(), name="gateway-memory-notify-mark")

    async def _say_hello(self, link: Duplex) -> None:
        want = True
        while True:
            await link.send([self._wire.hello(await self._sender.heads(), self._clock(), want=want)])
            want = False
            await asyncio.sleep(_HELLO_SECONDS)

    async def _greet(self, link: Duplex) -> None:
        """Answer those who want to hear how far we have come; several at once with one answer."""
        while True:
            await self._receiver.wanted.wait()
            await asyncio.sleep(_ANSWER_SECONDS)
            self._receiver.wanted.clear()
            await link.send([self._wire.hello(await self._sender.heads(), self._clock(), want=False)])

    async def _ask(self, link: Duplex) -> None:
        missing = self._receiver.missing
        while True:
            missing.clear()
            gaps = self._receiver.due()
            if gaps:
                now = self._clock()
                await link.send([self._wire.ask(gap.origin, gap.first, gap.last, now) for gap in gaps])
                log.info("notify.asked", origins=len(gaps))
            try:
                async with asyncio.timeout(self._receiver.due_in()):
                    await missing.wait()
            except TimeoutError:
                pass

    async def _answer(self, link: Duplex) -> None:
        asked = self._receiver.asked
        while True:
            await self._receiver.to_answer.wait()
            self._receiver.to_answer.clear()
            while asked:
                _, ask = asked.popitem()
                last = min(ask.last, ask.first + ASKED_AT_ONCE - 1)
                number = await self._sender.again(link, to=ask.sender, origin=ask.origin, first=ask.first, last=last)
                if number:
                    log.info("notify.sent_again", events=number)


def _first(error: BaseException) -> Exception:
    """Return the error that a group is about: a lost connection ends several tasks at once, each with its own."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, Exception)
    return error
