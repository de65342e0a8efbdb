"""What waits for one session until its next reply."""

from collections import OrderedDict

from notifier.types import Change

__all__ = ["Inbox"]


class Inbox:
    """Pending changes, oldest first, at most `limit`: one more drops the oldest and counts it.

    Two changes of one memory are one.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._changes: OrderedDict[str, Change] = OrderedDict()
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._changes)

    def put(self, change: Change) -> None:
        """Queue a change; a newer one of the same memory takes the older one's place."""
        self._changes.pop(change.id, None)
        self._changes[change.id] = change
        if len(self._changes) > self._limit:
            self._changes.popitem(last=False)
            self.dropped += 1

    def take(self) -> tuple[Change, ...]:
        """Return what waits, and be empty."""
        changes = tuple(self._changes.values())
        self._changes.clear()
        return changes
