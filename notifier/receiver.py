"""Incoming messages: verified, put in order, delivered to the sessions, then committed.

An event is delivered before it is on disk, so that the disk delays nobody. If the process dies, so do its sessions;
after the restart the event is missing, and is requested again.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.policies import backoff, retry
from notifier.events import Event, journal_of
from notifier.messages import Ask, DroppedError, EventMessage, Gone, Hello
from notifier.ports import EventLog, Ports
from notifier.tracker import Gap, Tracker
from notifier.wire import Wire

log = get_logger(__name__)


_MOST_UNCOMMITTED: Final = 2000
"""Events that may wait for their commit. Any more are dropped, show up as a gap, and are requested again."""
_READ_AT_ONCE: Final = 500
_LONGEST_RETRY_SECONDS: Final = 30
_COMMIT_SECONDS: Final = 0.1
"""How long events wait for their commit, so that one commit serves many."""
_FOLLOW_SECONDS: Final = 0.05
"""How long the index waits before it follows the files. A reply that comes earlier scans them itself."""


class Receiver:
    """Takes messages in without waiting; `run` does what needs the disk.

    received_upto: the last event number that this process has received, by origin.
    """

    def __init__(self, *, wire: Wire, event_log: EventLog, received_upto: Mapping[str, int], ports: Ports) -> None:
        self._wire = wire
        self._event_log = event_log
        self._journal = journal_of(wire.instance)
        self._ports = ports
        self._read_upto = {
            origin: number for origin, number in received_upto.items() if journal_of(origin) == self._journal
        }
        """The last number that was read from our own journal, by origin: one for each process of the workspace."""
        self._tracker: Tracker[Event | None] = Tracker(
            {origin: number for origin, number in received_upto.items() if origin not in self._read_upto}
        )
        self._unread: set[str] = set()
        """Origins of our own journal that may have new events."""
        self._to_read = asyncio.Event()
        self._uncommitted: list[Event] = []
        self._uncommitted_upto: dict[str, int] = {}
        self._to_commit = asyncio.Event()
        self._committing = asyncio.Lock()
        self._scopes: set[str] = set()
        self._to_follow = asyncio.Event()
        self.missing = asyncio.Event()
        """Set when a gap may have become due to be requested."""
        self.requests: dict[tuple[str, str], Ask] = {}
        self.to_answer = asyncio.Event()
        self.wanted = asyncio.Event()
        """Set when another instance asks for our event numbers."""
        self.received = 0
        self.dropped: Counter[str] = Counter()

    def take(self, topic: str, payload: bytes) -> None:
        """Take one message in."""
        try:
            message = self._wire.read(topic, payload, self._ports.clock())
            if isinstance(message, Ask):
                self._ask(message)
            elif isinstance(message, Hello):
                self._hello(message)
            elif isinstance(message, Gone):
                self._gone(message)
            elif isinstance(message, EventMessage):
                self._changed(message)
        except DroppedError as error:
            self.drop(error.reason)

    def drop(self, reason: str) -> None:
        """Count a dropped message by its reason."""
        self.dropped[reason] += 1
        if reason not in ("echo", "duplicate"):
            log.warning("notify.dropped", reason=reason)

    def expect(self, origin: str) -> None:
        """Note that another process of this journal may have committed events, which are to be read."""
        if origin != self._wire.instance:
            self._unread.add(origin)
            self._to_read.set()

    def due(self) -> list[Gap]:
        """Return the gaps that are to be requested now."""
        return self._tracker.due(time.monotonic())

    def due_in(self) -> float | None:
        """Return in how many seconds the next request is due; None where nothing is missing."""
        due_at = self._tracker.next_due()
        return None if due_at is None else max(0.0, due_at - time.monotonic())

    def _require_trust(self, *, trusted: bool) -> None:
        if not trusted:
            raise DroppedError("untrusted")

    def _changed(self, message: EventMessage) -> None:
        if journal_of(message.origin) == self._journal:  # its text is in our own journal, whoever sent the message
            if message.number <= self._read_upto.get(message.origin, 0):
                raise DroppedError("duplicate")
            self.expect(message.origin)
            return
        self._require_trust(trusted=message.trusted and (message.event is not None or message.stale))
        if len(self._uncommitted) >= _MOST_UNCOMMITTED:
            self._tracker.head(message.origin, message.number, time.monotonic())
            self.missing.set()
            raise DroppedError("overflow")
        # The tracker orders events before the sessions see one: a replacement must not come before what it replaces. An
        # event beyond a gap stays pending until the gap is sent again, or the origin says that it is deleted.
        released = self._tracker.offer(message.origin, message.number, message.event, time.monotonic())
        if released is None:
            raise DroppedError("duplicate")
        if message.stale:
            self.drop("stale")
        self._release(message.origin, released)

    def _hello(self, message: Hello) -> None:
        for origin, number in message.heads.items():
            if journal_of(origin) == self._journal:
                if number > self._read_upto.get(origin, 0):
                    self.expect(origin)
            elif message.trusted and journal_of(origin) == journal_of(message.sender):
                self._tracker.head(origin, number, time.monotonic())
        self.missing.set()
        if message.want and (message.trusted or journal_of(message.sender) == self._journal):
            self.wanted.set()

    def _ask(self, message: Ask) -> None:
        self._require_trust(trusted=message.trusted)
        if journal_of(message.origin) == self._journal and len(self.requests) < _MOST_UNCOMMITTED:
            self.requests[message.sender, message.origin] = message
            self.to_answer.set()

    def _gone(self, message: Gone) -> None:
        self._require_trust(trusted=message.trusted)
        if journal_of(message.origin) != journal_of(message.sender) or journal_of(message.origin) == self._journal:
            raise DroppedError("malformed")
        self.dropped["gone"] += max(0, message.upto - self._tracker.received_upto(message.origin))
        self._release(message.origin, self._tracker.skip(message.origin, message.upto, time.monotonic()))

    def _release(self, origin: str, events: list[Event | None]) -> None:
        for event in events:
            if event is not None:
                self._deliver(event)
                self._uncommitted.append(event)
        self._note_received(origin, self._tracker.received_upto(origin))
        self.missing.set()

    def _deliver(self, event: Event) -> None:
        self.received += 1
        try:
            self._ports.publish(event)
        except Exception as error:  # noqa: BLE001 - a failing listener must not stop the others
            log.error("notify.listener_failed", error=type(error).__name__)
            self._ports.on_error("notify", error)

    def _note_received(self, origin: str, number: int) -> None:
        self._uncommitted_upto[origin] = number
        self._to_commit.set()

    async def run(self) -> None:
        """Do what needs the disk, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for name, event, work, pause in (
                ("commit", self._to_commit, self.commit, _COMMIT_SECONDS),
                ("read", self._to_read, partial(_each, self._unread, self._read_origin), 0.0),
                ("follow", self._to_follow, partial(_each, self._scopes, self._ports.follow), _FOLLOW_SECONDS),
            ):
                group.create_task(self._forever(event, work, pause), name=f"gateway-memory-notify-{name}")

    async def _forever(self, event: asyncio.Event, work: Callable[[], Awaitable[None]], pause: float) -> None:
        def wait_longer(error: Exception, attempt: int) -> float:
            log.warning("notify.will_retry", error=type(error).__name__, attempt=attempt)
            self._ports.on_error("notify", error)
            return backoff(attempt, longest=_LONGEST_RETRY_SECONDS)

        while True:
            await event.wait()
            if pause:
                await asyncio.sleep(pause)
            event.clear()
            await retry(work, wait_longer)  # a full disk, a lock held for too long

    async def commit(self) -> None:
        """Commit the events that were delivered, and up to which number each origin was received."""
        async with self._committing:
            events, upto = list(self._uncommitted), dict(self._uncommitted_upto)
            if not upto:
                return
            await self._event_log.commit_received(events, upto, self._ports.clock())
            del self._uncommitted[: len(events)]
            for origin, number in upto.items():
                if self._uncommitted_upto.get(origin) == number:
                    del self._uncommitted_upto[origin]

    async def _read_origin(self, origin: str) -> None:
        events = await self._event_log.ready(origin, self._read_upto.get(origin, 0), _READ_AT_ONCE)
        for event in events:
            self._read_upto[origin] = event.number
            self._deliver(event)
            self._scopes.add(event.scope)
        if events:
            self._note_received(origin, events[-1].number)
            self._to_follow.set()
        if len(events) == _READ_AT_ONCE:  # there may be more
            self._unread.add(origin)


async def _each(waiting: set[str], work: Callable[[str], Awaitable[None]]) -> None:
    """Do the work for each name that waits. One whose work fails waits again."""
    while waiting:
        name = waiting.pop()
        try:
            await work(name)
        except BaseException:
            waiting.add(name)
            raise
