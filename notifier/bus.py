"""The in-process bus: an event reaches the inbox of every other session that may read its scope."""

from collections import defaultdict
from collections.abc import Iterable
from weakref import WeakSet

from notifier.delivery.subscription import Subscription
from notifier.inbox import Inbox
from notifier.types import Event

__all__ = ["Bus"]


class Bus:
    """Subscriptions by scope: publishing costs what its listeners cost, and no filter can forget a scope.

    `heard` holds, by origin, the highest number of the events that were published here.
    """

    def __init__(self) -> None:
        self._listeners: defaultdict[str, dict[str, tuple[str, Inbox]]] = defaultdict(dict)
        self._subscriptions: defaultdict[str, WeakSet[Subscription]] = defaultdict(WeakSet)
        self.published = 0
        self.heard: dict[str, int] = {}

    def subscribe(self, session_id: str, key: str, scopes: Iterable[str], inbox: Inbox) -> None:
        """Let a session hear of the scopes that it may read. `key` is how events name it as their source."""
        for scope in scopes:
            self._listeners[scope][session_id] = (key, inbox)

    def unsubscribe(self, session_id: str) -> None:
        """Forget a session; one that never subscribed is fine."""
        for scope in list(self._listeners):
            self._listeners[scope].pop(session_id, None)
            if not self._listeners[scope]:
                del self._listeners[scope]

    def changes(self, scope: str, most: int) -> Subscription:
        """Return what hears of every change of a scope from now on, for as long as somebody holds it."""
        for key in [key for key, held in self._subscriptions.items() if not held]:
            del self._subscriptions[key]
        subscription = Subscription(most)
        self._subscriptions[scope].add(subscription)
        return subscription

    def close(self) -> None:
        """End all that `changes` has given out."""
        for held in self._subscriptions.values():
            for subscription in list(held):
                subscription.close()
        self._subscriptions.clear()

    def publish(self, event: Event) -> None:
        """Queue each change for every listener of its scope but the session that caused it, and every subscription."""
        self.published += 1
        if event.number:
            self.heard[event.origin] = max(event.number, self.heard.get(event.origin, 0))
        for key, inbox in self._listeners.get(event.scope, {}).values():
            for change in event.changes:
                if change.source != key:
                    inbox.put(change, event.at)
        for subscription in list(self._subscriptions.get(event.scope, ())):
            for change in event.changes:
                subscription.put(change)

    def waiting(self) -> tuple[int, int]:
        """Return how many updates wait, and for how many sessions."""
        inboxes = {id(inbox): len(inbox) for of in self._listeners.values() for _, inbox in of.values()}
        return sum(inboxes.values()), sum(bool(length) for length in inboxes.values())
