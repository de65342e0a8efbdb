"""The in-process bus: an event reaches the inbox of every other session that may read its scope."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from weakref import WeakSet

from notifier.delivery.subscription import Subscription
from notifier.inbox import Inbox
from notifier.types import Event

__all__ = ["Bus"]


class Bus:
    """Delivers events to inboxes and subscriptions by scope, so that no other scope can hear of them.

    delivered_upto: by origin, the highest number of the events that were published here.
    """

    def __init__(self) -> None:
        self._listeners: defaultdict[str, dict[str, tuple[str, Inbox, Mapping[str, int]]]] = defaultdict(dict)
        self._subscriptions: defaultdict[str, WeakSet[Subscription]] = defaultdict(WeakSet)
        self.published = 0
        self.delivered_upto: dict[str, int] = {}

    def subscribe(
        self, session_id: str, key: str, scopes: Iterable[str], inbox: Inbox, after: Mapping[str, int] | None = None
    ) -> None:
        """Deliver changes of the scopes that a session may read.

        key: its key, which events name as source. after: up to which number of each origin it knows the events.
        """
        for scope in scopes:
            self._listeners[scope][session_id] = (key, inbox, after or {})

    def unsubscribe(self, session_id: str) -> None:
        """Stop delivering to a session; unknown ones are ignored."""
        for scope in list(self._listeners):
            self._listeners[scope].pop(session_id, None)
            if not self._listeners[scope]:
                del self._listeners[scope]

    def changes(self, scope: str, most: int) -> Subscription:
        """Return a stream of every change of a scope from now on, which ends when nobody holds it any more."""
        for key in [key for key, held in self._subscriptions.items() if not held]:
            del self._subscriptions[key]
        subscription = Subscription(most)
        self._subscriptions[scope].add(subscription)
        return subscription

    def close(self) -> None:
        """Close all streams that `changes` has returned."""
        for held in self._subscriptions.values():
            for subscription in list(held):
                subscription.close()
        self._subscriptions.clear()

    def publish(self, event: Event) -> None:
        """Queue each change for every session of its scope except the one that caused it, and for every stream."""
        self.published += 1
        if event.number:
            self.delivered_upto[event.origin] = max(event.number, self.delivered_upto.get(event.origin, 0))
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
