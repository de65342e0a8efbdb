"""Carries events between processes over a broker, and reconnects to the broker whenever the connection is lost."""

import asyncio
import math
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from random import SystemRandom
from typing import Final, TypeAlias

from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.policies import backoff, retry
from notifier.events import Event, NotifierError
from notifier.ports import EventLog, NotifierStatus, Ports, State
from notifier.receiver import Receiver
from notifier.sender import Link, Sender
from notifier.tracker import REQUESTED_AT_ONCE
from notifier.wire import Wire

log = get_logger(__name__)

_FIRST_RETRY_SECONDS: Final = 0.2
_LONGEST_RETRY_SECONDS: Final = 30
_LOSS_SECONDS: Final = 0.5
"""The longest wait after an established connection was lost: random, so that clients do not reconnect together."""
_RANDOM: Final = SystemRandom()
_STEADY_SECONDS: Final = 3.0
"""A connection that was lost within this time is no connection: its broker refuses what we send, for example."""
_HELLO_SECONDS: Final = 30.0
_ANSWER_SECONDS: Final = 0.1


Connect: TypeAlias = Callable[..., AbstractAsyncContextManager[Link]]
"""Opens a connection, or raises NotifierError when its context is entered.

receive: takes the topic and payload of each message, in order; it neither waits nor raises. refused: takes the
broker's reason when it acknowledges a publication and drops it.
"""


class Notifier:
    """The channel between processes: sends the events of this one, and hands those of others to the sessions here.

    It works while `run` does. received_upto: what `event_log.received_upto` returned. broker: its name for people.
    """

    early = False

    def __init__(
        self,
        *,
        wire: Wire,
        event_log: EventLog,
        received_upto: Mapping[str, int],
        connect: Connect,
        ports: Ports,
        broker: str = "MQTT",
    ) -> None:
        self._broker, self.name = broker, broker.lower()
        self._wire = wire
        self._event_log = event_log
        self._connect = connect
        self._clock = ports.clock
        self._on_error = ports.on_error
        self._receiver = Receiver(wire=wire, event_log=event_log, received_upto=received_upto, ports=ports)
        self._sender = Sender(wire=wire, event_log=event_log, clock=ports.clock)
        self._state: State = "connecting"
        self._since = ports.clock()
        self._reason = ""

    def announce(self, event: Event) -> None:
        """Send an event that is on disk and ready. An event of a dead process is only read from the log, by `run`."""
        if event.origin == self._wire.instance:
            self._sender.announce(event)
        else:
            self._receiver.expect(event.origin)

    def _refused(self, reason: str) -> None:
        """Count a publication that the broker acknowledged and dropped. reason: the broker's."""
        self._receiver.drop("refused_by_broker")
        self._reason = f"the broker drops what we publish: {reason}"

    def status(self) -> NotifierStatus:
        """Return the state of the connection, and what was sent, received and dropped."""
        return NotifierStatus(
            state=self._state,
            since=self._since,
            reason=self._reason,
            sent=self._sender.sent,
            received=self._receiver.received,
            dropped=dict(self._receiver.dropped),
            broker=self._broker,
        )

    def gauges(self) -> dict[str, float]:
        """Return the status as numbers by dotted name."""
        status = self.status()
        return {
            "notify.connected": float(status.state == "connected"),
            "notify.sent": float(status.sent),
            "notify.received": float(status.received),
            **{f"notify.dropped.{reason}": float(number) for reason, number in status.dropped.items()},
        }

    async def commit(self) -> None:
        """Commit now what was delivered to the sessions here; `run` does it in the background otherwise."""
        await self._receiver.commit()

    async def drain(self, seconds: float) -> None:
        """If connected, wait until all events are sent, for some seconds. Then commit what was sent and received."""
        if self._state == "connected":
            try:
                async with asyncio.timeout(seconds):
                    await self._sender.drain()
            except TimeoutError:
                log.warning("notify.closed_early")
        await self._sender.mark_now()
        await self._receiver.commit()

    async def run(self) -> None:
        """Work until cancelled."""
        receiving = asyncio.create_task(self._receiver.run(), name="gateway-memory-notify-receiver")
        try:
            await self._stay_connected()  # not in a TaskGroup: it would swallow a second cancel
        finally:
            receiving.cancel()
            await asyncio.wait([receiving])

    async def _stay_connected(self) -> None:
        def pause(error: Exception, attempt: int) -> float:
            self._disconnected(error, attempt)
            return backoff(attempt, longest=_LONGEST_RETRY_SECONDS, first=_FIRST_RETRY_SECONDS)

        while True:
            await retry(self._one_connection, pause)

    def _disconnected(self, error: BaseException, attempt: int) -> None:
        log.warning("notify.disconnected", reason=_kind(error), attempt=attempt)
        if not isinstance(error, NotifierError):
            self._on_error("notify", error)

    def _become(self, state: State, reason: str = "") -> None:
        self._state, self._since, self._reason = state, self._clock(), reason

    async def _one_connection(self) -> None:
        """Use one connection until it is lost. Raises where it could not be opened, or hardly lasted."""
        connected_at = math.inf
        try:
            async with self._connect(receive=self._receiver.take, refused=self._refused) as link:
                connected_at = self._clock()
                self._become("connected")
                log.info("notify.connected")
                await self._talk(link)
        except Exception as error:  # noqa: BLE001 - this task must survive every error
            first = _first(error)
            self._become("waiting", f"{_kind(first)}: {first}")
            if self._clock() - connected_at < _STEADY_SECONDS:  # the next try waits longer each time
                raise first from None
            self._disconnected(first, 0)
            await asyncio.sleep(_RANDOM.uniform(0, _LOSS_SECONDS))

    async def _talk(self, link: Link) -> None:
        for origin in await self._event_log.sent():
            self._receiver.expect(origin)  # what other processes of this journal announced meanwhile
        async with asyncio.TaskGroup() as group:
            group.create_task(link.lost(), name="gateway-memory-notify-lost")
            for work in (
                self._sender.send,
                self._sender.sweep,
                self._say_hello,
                self._ask,
                self._answer,
            ):
                group.create_task(work(link), name=f"gateway-memory-notify{work.__name__}")
            group.create_task(self._sender.mark(), name="gateway-memory-notify-mark")

    async def _say_hello(self, link: Link) -> None:
        """Tell our event numbers from time to time, and soon if somebody asks. One answer serves several of them."""
        want = True  # the first one asks the others for theirs
        while True:
            await link.send([self._wire.hello(await self._sender.heads(), self._clock(), want=want)])
            want = False
            with suppress(TimeoutError):
                async with asyncio.timeout(_HELLO_SECONDS):
                    await self._receiver.wanted.wait()
                    await asyncio.sleep(_ANSWER_SECONDS)
            self._receiver.wanted.clear()

    async def _ask(self, link: Link) -> None:
        missing = self._receiver.missing
        while True:
            missing.clear()
            gaps = self._receiver.due()
            if gaps:
                now = self._clock()
                await link.send([self._wire.ask(gap.origin, gap.first, gap.last, now) for gap in gaps])
                log.info("notify.asked", origins=len(gaps))
            with suppress(TimeoutError):
                async with asyncio.timeout(self._receiver.due_in()):
                    await missing.wait()

    async def _answer(self, link: Link) -> None:
        requests = self._receiver.requests
        while True:
            await self._receiver.to_answer.wait()
            self._receiver.to_answer.clear()
            while requests:
                _, ask = requests.popitem()
                last = min(ask.last, ask.first + REQUESTED_AT_ONCE - 1)
                number = await self._sender.again(link, to=ask.sender, origin=ask.origin, first=ask.first, last=last)
                if number:
                    log.info("notify.sent_again", events=number)


def _kind(error: BaseException) -> str:
    return str(getattr(error, "kind", type(error).__name__))


def _first(error: BaseException) -> Exception:
    """Return the first error of a group: a lost connection fails several tasks at once."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, Exception)
    return error
