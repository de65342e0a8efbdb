"""Events and their JSON, the bus between the sessions of a process, and who announces an event to every channel."""

import asyncio
import json
from collections import OrderedDict, defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from typing import Final, Generic, Literal, Protocol, Self, TypeVar
from weakref import WeakSet

from gateway_memory.ground import get_logger

log = get_logger(__name__)


class NotifierError(Exception):
    """An event could not be read or sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryChange:
    """One memory that was added or removed.

    at: epoch seconds. text: "" of one that was removed. source: the key of the session that caused it, "" for none.
    replaces: the id of the memory that
    it supersedes, "" for none. by_hand: a person or a tool edited the file.
    """

    id: str
    text: str
    at: float
    source: str = ""
    action: Literal["added", "removed"] = "added"
    replaces: str = ""
    by_hand: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The changes of one batch in one scope, which are announced together. at: epoch seconds.

    origin: the instance that it comes from. number: its position among that instance's events, from 1. "" and 0 for an
    event that is not stored.
    """

    scope: str
    at: float
    changes: tuple[MemoryChange, ...]
    origin: str = ""
    number: int = 0


def journal_of(instance: str) -> str:
    """Return the journal's part of an instance id "<journal>.<slot>". Processes of one workspace share it."""
    return instance.partition(".")[0]


# What the notifier needs of the process that runs it, and its status.

State = Literal["connecting", "connected", "waiting"]


class EventLog(Protocol):
    """Events on disk, by origin and number. Only ready events are sent: those whose plan is completed.

    One that is not ready holds up those behind it.
    """

    async def sent(self) -> dict[str, int]:
        """Return the last number that was sent, by origin of this journal."""

    async def mark_sent(self, origin: str, upto: int) -> None:
        """Note that an origin's events up to a number have been sent."""

    async def ready(self, origin: str, after: int, limit: int) -> list[Event]:
        """Return an origin's ready events after a number, in order and without a gap, at most `limit`."""

    async def oldest(self, origin: str) -> int:
        """Return the lowest number of an origin that is still stored; the last number plus one where none is."""

    async def received_upto(self) -> dict[str, int]:
        """Return the last number that this process has received, by origin."""

    async def commit_received(self, events: Sequence[Event], received_upto: Mapping[str, int], now: float) -> None:
        """Store events of other journals, and the last received numbers, in one transaction. now: epoch seconds."""

    def acquire_origin(self, origin: str) -> AbstractContextManager[object] | None:
        """Return the lock to hold while sending for an origin; None where another living process sends for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """What the notifier calls in the process that runs it.

    publish: delivers an event of another process to the sessions of this one. follow: updates the index from a scope's
    files, which another process of this workspace has changed. clock: returns epoch seconds. on_error: counts a failure
    by its place.
    """

    publish: Callable[[Event], None]
    follow: Callable[[str], Awaitable[None]]
    clock: Callable[[], float]
    on_error: Callable[[str, BaseException], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifierStatus:
    """The state of the connection to a broker, since when (epoch seconds) and why, and counts since the start."""

    state: State
    since: float
    reason: str = ""
    sent: int = 0
    received: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    broker: str = "MQTT"


# Events as JSON, for the journal.

MAX_CHANGES: Final = 16
"""The most changes of one event: with the longest memories it still fits into wire.MAX_PAYLOAD_BYTES."""


def encode(event: Event) -> str:
    """Return the event as one line of JSON, without its origin and number, which have columns of their own."""
    body = asdict(event)
    del body["origin"], body["number"]
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def decode(body: str, *, origin: str = "", number: int = 0) -> Event:
    """Return the event that `encode` wrote.

    Raises:
        NotifierError: the body is no event.
    """
    try:
        raw = json.loads(body)
        changes = tuple(MemoryChange(**change) for change in raw["changes"])
        if not isinstance(raw["scope"], str) or not all(map(_is_change, changes)):
            raise TypeError("a value of another type")  # noqa: TRY301 - every mistake ends in the same place
        return Event(scope=raw["scope"], at=float(raw["at"]), changes=changes, origin=origin, number=number)
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise NotifierError(f"no event: {type(error).__name__}") from error


def _is_change(change: MemoryChange) -> bool:
    texts = (change.id, change.text, change.source, change.replaces)
    known = change.action in ("added", "removed") and isinstance(change.at, int | float)
    return known and all(isinstance(text, str) for text in texts)


def split(event: Event) -> Iterator[Event]:
    """Yield the event in parts of at most MAX_CHANGES changes, in order; none where it has no change."""
    for start in range(0, len(event.changes), MAX_CHANGES):
        yield replace(event, changes=event.changes[start : start + MAX_CHANGES])


# The in-process bus: an event reaches the inbox of every other session that may read its scope, and subscriptions.


class Inbox:
    """Pending changes, oldest first, at most `limit`. One more drops the oldest, and `dropped` counts it.

    Of several changes of one memory only the newest is kept; a change also drops that of the memory it replaces. Times
    are epoch seconds of the announcement.
    """

    def __init__(self, limit: int, *, max_age_seconds: float = float("inf")) -> None:
        self._limit = limit
        self._max_age_seconds = max_age_seconds
        self._changes: OrderedDict[str, tuple[float, MemoryChange]] = OrderedDict()
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._changes)

    def put(self, change: MemoryChange, at: float = 0.0) -> None:
        """Queue a change. It replaces a pending one of the same memory, and of the memory that it supersedes."""
        self._changes.pop(change.id, None)
        if change.replaces:
            self._changes.pop(change.replaces, None)
        self._changes[change.id] = (at, change)
        if len(self._changes) > self._limit:
            self._changes.popitem(last=False)
            self.dropped += 1

    def restore(self, changes: Iterable[tuple[float, MemoryChange]]) -> None:
        """Put the changes that waited before a restart, oldest first, before those that came since."""
        since = list(self._changes.values())
        self._changes.clear()
        for at, change in (*changes, *since):
            self.put(change, at)

    def take(self, now: float = 0.0) -> tuple[MemoryChange, ...]:
        """Return the pending changes that are not too old, and clear the inbox."""
        oldest = now - self._max_age_seconds
        changes = tuple(change for at, change in self._changes.values() if at >= oldest)
        self._changes.clear()
        return changes


# Streams: of the changes of one scope for host code, and of events for a client of the service.

T = TypeVar("T")


class Stream(Generic[T]):
    """A queue of at most `most` items, of which one more drops the oldest. See `Subscription`."""

    def __init__(self, most: int) -> None:
        self._waiting: deque[T] = deque(maxlen=most)
        self._came = asyncio.Event()
        self._closed = False
        self.dropped = 0

    def put(self, item: T) -> None:
        """Queue an item."""
        if self._closed:
            return
        self.dropped += len(self._waiting) == self._waiting.maxlen
        self._waiting.append(item)
        self._came.set()

    def close(self) -> None:
        """Accept no more items, and end the iteration once the queue is empty."""
        self._closed = True
        self._came.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        while not self._waiting:
            if self._closed:
                raise StopAsyncIteration
            self._came.clear()
            await self._came.wait()
        return self._waiting.popleft()


class Subscription(Stream[MemoryChange]):
    """The changes of a scope from now on: `async for change in subscription`, in one task or several.

    Holds at most `most` changes that nobody has taken yet. One more drops the oldest, and `dropped` counts it.
    Cancelling a consumer loses no change. After `close` it yields what is left, and ends.
    """


class Bus:
    """Delivers events to inboxes and subscriptions by scope, so that no other scope can hear of them.

    published_upto: by origin, the highest number of the events that were published here.
    """

    def __init__(self) -> None:
        self._listeners: defaultdict[str, dict[str, tuple[str, Inbox, Mapping[str, int]]]] = defaultdict(dict)
        self._subscriptions: defaultdict[str, WeakSet[Subscription]] = defaultdict(WeakSet)
        self.published = 0
        self.published_upto: dict[str, int] = {}

    def subscribe(
        self, session_id: str, key: str, scopes: Iterable[str], inbox: Inbox, after: Mapping[str, int] | None = None
    ) -> None:
        """Deliver changes of the scopes that a session may read.

        key: its key, which events name as source. after: the last number of each origin that it has heard already.
        """
        for scope in scopes:
            self._listeners[scope][session_id] = (key, inbox, after or {})

    def scopes(self) -> set[str]:
        """Return the scopes of which somebody here hears."""
        return {*self._listeners, *(scope for scope, streams in self._subscriptions.items() if streams)}

    def unsubscribe(self, session_id: str) -> None:
        """Stop delivering to a session; unknown ones are ignored."""
        for scope in list(self._listeners):
            self._listeners[scope].pop(session_id, None)
            if not self._listeners[scope]:
                del self._listeners[scope]

    def changes(self, scope: str, most: int) -> Subscription:
        """Return a stream of every change of a scope from now on, which ends when nobody holds it any more."""
        for key in [key for key, subscriptions in self._subscriptions.items() if not subscriptions]:
            del self._subscriptions[key]
        subscription = Subscription(most)
        self._subscriptions[scope].add(subscription)
        return subscription

    def close(self) -> None:
        """Close all streams that `changes` has returned."""
        for subscriptions in self._subscriptions.values():
            for subscription in list(subscriptions):
                subscription.close()
        self._subscriptions.clear()

    def publish(self, event: Event) -> None:
        """Queue each change for every session of its scope except the one that caused it, and for every stream."""
        self.published += 1
        if event.number:
            self.published_upto[event.origin] = max(event.number, self.published_upto.get(event.origin, 0))
        for key, inbox, after in self._listeners.get(event.scope, {}).values():
            if event.number and event.number <= after.get(event.origin, 0):
                continue
            for change in event.changes:
                if change.source != key:
                    inbox.put(change, event.at)
        for subscription in list(self._subscriptions.get(event.scope, ())):
            for change in event.changes:
                subscription.put(change)

    def waiting(self) -> tuple[int, int]:
        """Return how many updates wait, and for how many sessions."""
        inboxes = {id(inbox): len(inbox) for of in self._listeners.values() for _, inbox, _ in of.values()}
        return sum(inboxes.values()), sum(bool(length) for length in inboxes.values())


# Announce every event of this process to every channel.


class Channel(Protocol):
    """Something that hears of changes: the sessions of this process, MQTT, a webhook.

    early: it hears of an event once the Markdown is written, before the commit. After a crash in between it hears of it
    again. Other channels hear of an event after its commit. After a crash right behind it, a channel without a log of
    its own misses it.
    """

    @property
    def name(self) -> str: ...

    @property
    def early(self) -> bool: ...

    def announce(self, event: Event) -> None:
        """Take in an event. It is called on the event loop, and must not block."""


class BusChannel:
    """The sessions of this process.

    origin: if MQTT is on, this process's own origin: events of others arrive over MQTT. None takes all.
    """

    name = "bus"
    early = True

    def __init__(self, bus: Bus, *, origin: str | None) -> None:
        self._bus = bus
        self._origin = origin

    def announce(self, event: Event) -> None:
        if self._origin is None or event.origin == self._origin:
            self._bus.publish(event)


class Announcer:
    """Hands events to channels. A channel that fails is logged, and holds up no other. on_error: counts it by place."""

    def __init__(self, channels: Sequence[Channel], *, on_error: Callable[[str, BaseException], None]) -> None:
        self._channels = list(channels)
        self._on_error = on_error

    def add(self, channel: Channel) -> None:
        """Let a channel hear of what happens from now on."""
        self._channels.append(channel)

    def announce(self, event: Event) -> None:
        """Announce an event that is committed already to all channels."""
        self.written(event)
        self.committed(event)

    def written(self, event: Event) -> None:
        """Announce an event to the early channels, once its changes are in the Markdown."""
        self._tell(event, early=True)

    def committed(self, event: Event) -> None:
        """Announce an event to the other channels: the index and the journal have it too."""
        self._tell(event, early=False)

    def _tell(self, event: Event, *, early: bool) -> None:
        for channel in self._channels:
            if channel.early is early:
                try:
                    channel.announce(event)
                except Exception as error:  # noqa: BLE001 - the other channels and the memory itself go on
                    log.error("notify.channel_failed", channel=channel.name, error=type(error).__name__)
                    self._on_error("notify", error)
