"""The changes that wait for one session."""

from collections import OrderedDict
from collections.abc import Iterable

from notifier.events import MemoryChange


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
