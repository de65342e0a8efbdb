"""The in-process bus: an event reaches the inbox of every other session that may read its scope."""

from collections import defaultdict
from collections.abc import Iterable

from notifier.inbox import Inbox
from notifier.types import Event

__all__ = ["Bus"]


class Bus:
    """Subscriptions by scope: publishing costs what its listeners cost, and no filter can forget a scope.

    `heard` holds, by origin, the highest number of the events that were published here.
    """

    def __init__(self) -> None:
        self._listeners: defaultdict[str, dict[str, tuple[str, Inbox]]] = defaultdict(dict)
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

    def publish(self, event: Event) -> None:
        """Queue each change for every listener of its scope but the session that caused it."""
        self.published += 1
        if event.number:
            self.heard[event.origin] = max(event.number, self.heard.get(event.origin, 0))
        for key, inbox in self._listeners.get(event.scope, {}).values():
            for change in event.changes:
                if change.source != key:
                    inbox.put(change, event.at)

    def waiting(self) -> tuple[int, int]:
        """Return how many updates wait, and for how many sessions."""
        inboxes = {id(inbox): len(inbox) for of in self._listeners.values() for _, inbox in of.values()}
        return sum(inboxes.values()), sum(bool(length) for length in inboxes.values())
