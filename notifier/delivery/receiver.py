"""Incoming messages: verified, put in order, handed to the sessions, then committed.

Sessions hear of an event before it is on disk, so that the disk delays nobody. If the process dies in between, so
do its sessions; after the restart the event is missing, and is requested again.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from tenacity import AsyncRetrying, RetryCallState, wait_random_exponential

from notifier.delivery.tracker import Gap, Tracker
from notifier.log import get_logger
from notifier.ports import EventLog
from notifier.protocol.messages import Ask, DroppedError, EventMessage, Gone, Hello
from notifier.protocol.wire import Wire
from notifier.types import Event, journal_of

__all__ = ["Receiver"]

log = get_logger(__name__)

_UNCOMMITTED: Final = 2000
"""Events that may wait for their commit. Any more are dropped, show up as a gap, and are requested again."""
_RUNG_AT_ONCE: Final = 500
_LONGEST_RETRY_SECONDS: Final = 30
_KEEP_SECONDS: Final = 0.1
"""How long events wait for their commit, so that one commit serves many."""
_FOLLOW_SECONDS: Final = 0.05
"""How long the index waits before it follows the files. A reply that comes earlier scans them itself."""


class Receiver:
    """Takes messages in without waiting; `run` does what needs the disk.

    heard: the last event number that this process has received, by origin. publish: tells the sessions of this process.
    follow: updates the index from a scope's files, which another process of this workspace has changed. clock: epoch
    seconds. on_error: counts a failure by its place.
    """

    def __init__(
        self,
        *,
        wire: Wire,
        event_log: EventLog,
        heard: Mapping[str, int],
        publish: Callable[[Event], None],
        follow: Callable[[str], Awaitable[None]],
        clock: Callable[[], float],
        on_error: Callable[[str, BaseException], None],
    ) -> None:
        self._wire = wire
        self._event_log = event_log
        self._journal = journal_of(wire.instance)
        self._publish = publish
        self._follow = follow
        self._clock = clock
        self._on_error = on_error
        self._here = {origin: number for origin, number in heard.items() if journal_of(origin) == self._journal}
        self._tracker: Tracker[Event | None] = Tracker(
            {origin: number for origin, number in heard.items() if origin not in self._here}
        )
        self._bells: set[str] = set()
        self._rung = asyncio.Event()
        self._kept: list[Event] = []
        self._heard: dict[str, int] = {}
        self._to_keep = asyncio.Event()
        self._keeping = asyncio.Lock()
        self._scopes: set[str] = set()
        self._to_follow = asyncio.Event()
        self.missing = asyncio.Event()
        """Set when a gap may have become due to be requested."""
        self.asked: dict[tuple[str, str], Ask] = {}
        self.to_answer = asyncio.Event()
        self.wanted = asyncio.Event()
        """Set when another instance asks for our event numbers."""
        self.received = 0
        self.dropped: Counter[str] = Counter()

    def take(self, topic: str, payload: bytes) -> None:
        """Take one message in."""
        try:
            message = self._wire.read(topic, payload, self._clock())
            if isinstance(message, Ask):
                self._ask(message)
            elif isinstance(message, Hello):
                self._hello(message)
            elif isinstance(message, Gone):
                self._gone(message)
            else:
                self._changed(message)
        except DroppedError as error:
            self.drop(error.reason)

    def drop(self, reason: str) -> None:
        """Count a dropped message by its reason."""
        self.dropped[reason] += 1
        if reason not in ("echo", "duplicate"):
            log.warning("notify.dropped", reason=reason)

    def ring(self, origin: str) -> None:
        """Note that another process of this journal may have committed events, which are to be read."""
        if origin != self._wire.instance:
            self._bells.add(origin)
            self._rung.set()

    def due(self) -> list[Gap]:
        """Return the gaps that are to be requested now."""
        return self._tracker.due(time.monotonic())

    def due_in(self) -> float | None:
        """Return in how many seconds the next request is due; None where nothing is missing."""
        due_at = self._tracker.next_due()
        return None if due_at is None else max(0.0, due_at - time.monotonic())

    def _believed(self, *, trusted: bool) -> None:
        if not trusted:
            raise DroppedError("untrusted")

    def _changed(self, message: EventMessage) -> None:
        if journal_of(message.origin) == self._journal:  # its text is in our own journal, whoever sent the message
            if message.number <= self._here.get(message.origin, 0):
                raise DroppedError("duplicate")
            self.ring(message.origin)
            return
        self._believed(trusted=message.trusted and (message.event is not None or message.stale))
        if len(self._kept) >= _UNCOMMITTED:
            self._tracker.head(message.origin, message.number, time.monotonic())
            self.missing.set()
            raise DroppedError("overflow")
        given = self._tracker.offer(message.origin, message.number, message.event, time.monotonic())
        if given is None:
            raise DroppedError("duplicate")
        if message.stale:
            self.drop("stale")
        self._give(message.origin, given)

    def _hello(self, message: Hello) -> None:
        for origin, number in message.heads.items():
            if journal_of(origin) == self._journal:
                if number > self._here.get(origin, 0):
                    self.ring(origin)
            elif message.trusted and journal_of(origin) == journal_of(message.sender):
                self._tracker.head(origin, number, time.monotonic())
        self.missing.set()
        if message.want and (message.trusted or journal_of(message.sender) == self._journal):
            self.wanted.set()

    def _ask(self, message: Ask) -> None:
        self._believed(trusted=message.trusted)
        if journal_of(message.origin) == self._journal and len(self.asked) < _UNCOMMITTED:
            self.asked[message.sender, message.origin] = message
            self.to_answer.set()

    def _gone(self, message: Gone) -> None:
        self._believed(trusted=message.trusted)
        if journal_of(message.origin) != journal_of(message.sender) or journal_of(message.origin) == self._journal:
            raise DroppedError("malformed")
        self.dropped["gone"] += max(0, message.upto - self._tracker.heard(message.origin))
        self._give(message.origin, self._tracker.gone(message.origin, message.upto, time.monotonic()))

    def _give(self, origin: str, events: list[Event | None]) -> None:
        for event in events:
            if event is not None:
                self._tell(event)
                self._kept.append(event)
        self._keep(origin, self._tracker.heard(origin))
        self.missing.set()

    def _tell(self, event: Event) -> None:
        self.received += 1
        try:
            self._publish(event)
        except Exception as error:  # noqa: BLE001 - a failing listener must not stop the others
            log.error("notify.listener_failed", error=type(error).__name__)
            self._on_error("notify", error)

    def _keep(self, origin: str, number: int) -> None:
        self._heard[origin] = number
        self._to_keep.set()

    async def run(self) -> None:
        """Do what needs the disk, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for name, event, work, pause in (
                ("keep", self._to_keep, self.keep, _KEEP_SECONDS),
                ("read", self._rung, self._answer_bells, 0.0),
                ("follow", self._to_follow, self._follow_files, _FOLLOW_SECONDS),
            ):
                group.create_task(self._forever(event, work, pause), name=f"gateway-memory-notify-{name}")

    async def _forever(self, event: asyncio.Event, work: Callable[[], Awaitable[None]], pause: float) -> None:
        def note(state: RetryCallState) -> None:
            error = state.outcome.exception() if state.outcome else None
            if error:
                log.warning("notify.will_retry", error=type(error).__name__, attempt=state.attempt_number)
                self._on_error("notify", error)

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

    async def keep(self) -> None:
        """Commit the events that the sessions were told, and how far each origin was received."""
        async with self._keeping:
            events, heard = list(self._kept), dict(self._heard)
            if not heard:
                return
            await self._event_log.commit(events, heard, self._clock())
            del self._kept[: len(events)]
            for origin, number in heard.items():
                if self._heard.get(origin) == number:
                    del self._heard[origin]

    async def _answer_bells(self) -> None:
        while self._bells:
            origin = next(iter(self._bells))
            self._bells.discard(origin)
            try:
                events = await self._event_log.ready(origin, self._here.get(origin, 0), _RUNG_AT_ONCE)
                for event in events:
                    self._here[origin] = event.number
                    self._tell(event)
                    self._scopes.add(event.scope)
                if events:
                    self._keep(origin, events[-1].number)
                    self._to_follow.set()
                if len(events) == _RUNG_AT_ONCE:  # later events ring again by themselves
                    self._bells.add(origin)
            except BaseException:
                self._bells.add(origin)
                raise

    async def _follow_files(self) -> None:
        while self._scopes:
            scope = next(iter(self._scopes))
            self._scopes.discard(scope)
            try:
                await self._follow(scope)
            except BaseException:
                self._scopes.add(scope)
                raise
