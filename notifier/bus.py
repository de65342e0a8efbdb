"""The bus of one process: an event reaches the inbox of every other session that may read its scope, and streams."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from typing import Generic, Self, TypeVar
from weakref import WeakSet

from notifier.events import Event, MemoryChange
from notifier.inbox import Inbox

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
