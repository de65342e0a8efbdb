"""When a batch of turns is due: after some quiet, or at the longest wait. Sans I/O; time is an argument."""

from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["Debouncer"]


Key = TypeVar("Key", bound=Hashable)


class Debouncer(Generic[Key]):
    """Keys that were touched become due once they rest, however busy they are at the latest after the longest wait.

    Times are seconds of any one monotonic clock. Not safe across threads: it belongs to the task that owns it.
    """

    def __init__(self, debounce_seconds: float, max_wait_seconds: float) -> None:
        self._quiet_seconds = debounce_seconds
        self._max_wait_seconds = max(debounce_seconds, max_wait_seconds)
        self._spans: dict[Key, tuple[float, float]] = {}  # key -> (first touch, last touch) since it was last due

    def __len__(self) -> int:
        return len(self._spans)

    def touch(self, key: Key, now: float) -> None:
        """Something new waits under this key."""
        first, last = self._spans.get(key, (now, now))
        self._spans[key] = (first, max(last, now))

    def due(self, now: float) -> list[Key]:
        """The keys whose time has come, the longest waiting first. They are forgotten: each is told once."""
        ready = sorted(
            (due_at, order, key)
            for order, (key, span) in enumerate(self._spans.items())
            if (due_at := self._due_at(span)) <= now
        )
        for _, _, key in ready:
            del self._spans[key]
        return [key for _, _, key in ready]

    def next_due(self) -> float | None:
        """When to ask `due` again at the latest; None while nothing waits."""
        return min(map(self._due_at, self._spans.values()), default=None)

    def drop(self, key: Key) -> None:
        """What waited under this key was handled otherwise (a flush, the session's end)."""
        self._spans.pop(key, None)

    def _due_at(self, span: tuple[float, float]) -> float:
        first, last = span
        return min(last + self._quiet_seconds, first + self._max_wait_seconds)
