"""Incoming messages: verified, put in order, delivered to the sessions, then committed; and which are missing."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Generic, TypeVar

from tenacity import AsyncRetrying, RetryCallState, wait_random_exponential

from gateway_memory.ground import get_logger
from notifier.events import Event, journal_of
from notifier.ports import EventLog, Ports
from notifier.wire import Ask, DroppedError, EventMessage, Gone, Hello, Wire

log = get_logger(__name__)

# Which events of each origin were received, and which are missing. Sans I/O; times are monotonic seconds.

T = TypeVar("T")

REQUESTED_AT_ONCE: Final = 200
"""The most events of one request, so that its answer stays within the buffers of both sides."""
FIRST_WAIT_SECONDS: Final = 0.5
"""How long a missing event may still be in transit; also the first wait between two requests."""
LONGEST_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A range of missing events of an origin; `first` and `last` are included."""

    origin: str
    first: int
    last: int


@dataclass(slots=True)
class _Origin(Generic[T]):
    received_upto: int
    head: int
    pending: dict[int, T]
    lowest: int = 0
    due_at: float = 0.0
    wait_seconds: float = FIRST_WAIT_SECONDS
    requested_upto: int = 0


class Tracker(Generic[T]):
    """Releases each event once, in the order of its origin's numbers. An event that comes early is kept pending.

    received_upto: the last released number by origin. limit: the most pending events of an origin; any more are
    dropped, and requested again when it is their turn.
    """

    def __init__(self, received_upto: Mapping[str, int], *, limit: int = 2000) -> None:
        self._limit = limit
        self._origins: dict[str, _Origin[T]] = {
            name: _Origin(number, number, {}) for name, number in received_upto.items()
        }

    def received_upto(self, origin: str) -> int:
        """Return the last released number of an origin."""
        known = self._origins.get(origin)
        return known.received_upto if known else 0

    def offer(self, origin: str, number: int, item: T, now: float) -> list[T] | None:
        """Take an event in; return the events that are released by it, in order. None for a duplicate."""
        of = self._of(origin)
        if number <= of.received_upto or number in of.pending:
            return None
        self._rises(of, number, now)
        if number != of.received_upto + 1 and len(of.pending) >= self._limit:
            return []
        of.pending[number] = item
        of.lowest = min(of.lowest or number, number)
        return self._release(of, now)

    def head(self, origin: str, number: int, now: float) -> None:
        """Note that an origin has events up to a number."""
        self._rises(self._of(origin), number, now)

    def skip(self, origin: str, upto: int, now: float) -> list[T]:
        """Give up on missing events up to a number; return the events that are released by that."""
        of = self._of(origin)
        return self._release(of, now, upto=min(upto, of.head))

    def due(self, now: float) -> list[Gap]:
        """Return the gaps to request now. The wait before the same gap is returned again doubles each time."""
        gaps: list[Gap] = []
        for name, of in self._origins.items():
            last = _last_missing(of)
            if last <= of.received_upto or of.due_at > now:
                continue
            last = min(last, of.received_upto + REQUESTED_AT_ONCE)
            gaps.append(Gap(origin=name, first=of.received_upto + 1, last=last))
            of.requested_upto = last
            of.due_at = now + of.wait_seconds
            of.wait_seconds = min(2 * of.wait_seconds, LONGEST_SECONDS)
        return gaps

    def next_due(self) -> float | None:
        """Return when the next request is due; None where nothing is missing."""
        return min((of.due_at for of in self._origins.values() if _last_missing(of) > of.received_upto), default=None)

    def _of(self, origin: str) -> _Origin[T]:
        return self._origins.setdefault(origin, _Origin(0, 0, {}))

    def _rises(self, of: _Origin[T], number: int, now: float) -> None:
        if _last_missing(of) <= of.received_upto:  # nothing was missing: a new gap may still be in transit
            of.due_at, of.wait_seconds = now + FIRST_WAIT_SECONDS, FIRST_WAIT_SECONDS
        of.head = max(of.head, number)

    def _release(self, of: _Origin[T], now: float, upto: int = 0) -> list[T]:
        released: list[T] = []
        while of.received_upto < upto or of.received_upto + 1 in of.pending:
            of.received_upto += 1
            if of.received_upto in of.pending:
                released.append(of.pending.pop(of.received_upto))
        of.lowest = min(of.pending, default=0) if released else of.lowest
        if released:
            answered = of.requested_upto and of.received_upto >= of.requested_upto
            of.due_at, of.wait_seconds = now if answered else now + FIRST_WAIT_SECONDS, FIRST_WAIT_SECONDS
            if answered:
                of.requested_upto = 0
        return released


def _last_missing(of: _Origin[T]) -> int:
    """Return the last missing number, before the first pending event or the head; without one, `received_upto`."""
    return of.lowest - 1 if of.pending else of.head


# Incoming messages: verified, put in order, delivered to the sessions, then committed.
#
# An event is delivered before it is on disk, so that the disk delays nobody. If the process dies in between, so do
# its sessions; after the restart the event is missing, and is requested again.

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
        def note(state: RetryCallState) -> None:
            error = state.outcome.exception() if state.outcome else None
            if error:
                log.warning("notify.will_retry", error=type(error).__name__, attempt=state.attempt_number)
                self._ports.on_error("notify", error)

        waits = wait_random_exponential(multiplier=0.5, max=_LONGEST_RETRY_SECONDS)
        while True:
            await event.wait()
            if pause:
                await asyncio.sleep(pause)
            event.clear()
            try:
                await work()  # the retrying object costs more than the work itself, so it is made only after a failure
            except Exception as error:  # noqa: BLE001 - a full disk, a lock held for too long
                log.warning("notify.will_retry", error=type(error).__name__, attempt=0)
                await AsyncRetrying(wait=waits, before_sleep=note)(work)

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
