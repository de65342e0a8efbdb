"""When a batch of turns is due: after a quiet time, or after the longest wait. Sans I/O; time is an argument."""

from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class Debouncer(Generic[Key]):
    """A key becomes due when it was not touched for a while, or at the latest after the longest wait.

    Times are seconds of one monotonic clock. It is not thread-safe.
    """

    def __init__(self, debounce_seconds: float, max_wait_seconds: float) -> None:
        self._quiet_seconds = debounce_seconds
        self._max_wait_seconds = max(debounce_seconds, max_wait_seconds)
        self._spans: dict[Key, tuple[float, float]] = {}  # key -> (first touch, last touch) since it was last due

    def touch(self, key: Key, now: float) -> None:
        """Note new work for a key."""
        first, last = self._spans.get(key, (now, now))
        self._spans[key] = (first, max(last, now))

    def due(self, now: float) -> list[Key]:
        """Return the due keys, the longest waiting first, and forget them."""
        ready = sorted(
            (due_at, order, key)
            for order, (key, span) in enumerate(self._spans.items())
            if (due_at := self._due_at(span)) <= now
        )
        for _, _, key in ready:
            del self._spans[key]
        return [key for _, _, key in ready]

    def next_due(self) -> float | None:
        """Return the time at which the next key is due; None while nothing waits."""
        return min(map(self._due_at, self._spans.values()), default=None)

    def drop(self, key: Key) -> None:
        """Forget a key whose work was done otherwise (a flush, the session's end)."""
        self._spans.pop(key, None)

    def _due_at(self, span: tuple[float, float]) -> float:
        first, last = span
        return min(last + self._quiet_seconds, first + self._max_wait_seconds)
