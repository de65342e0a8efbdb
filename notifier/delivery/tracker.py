"""Which events of each origin were received, and which are missing. Sans I/O; times are monotonic seconds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

__all__ = ["ASKED_AT_ONCE", "Gap", "Tracker"]

T = TypeVar("T")

ASKED_AT_ONCE: Final = 200
"""The most events of one request, so that its answer stays within the buffers of both sides."""
PATIENCE_SECONDS: Final = 0.5
"""How long a missing event may still be in transit; also the first wait between two requests."""
LONGEST_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A range of missing events of an origin; `first` and `last` are included."""

    origin: str
    first: int
    last: int


@dataclass(slots=True)
class _Origin(Generic[T]):
    received_upto: int
    head: int
    held: dict[int, T]
    lowest: int = 0
    due_at: float = 0.0
    wait_seconds: float = PATIENCE_SECONDS
    asked_upto: int = 0


class Tracker(Generic[T]):
    """Releases each event once, in the order of its origin's numbers. An event that comes early is held back.

    received_upto: the last released number by origin. limit: the most events that are held for an origin; any more are
    dropped, and requested again when it is their turn.
    """

    def __init__(self, received_upto: Mapping[str, int], *, limit: int = 2000) -> None:
        self._limit = limit
        self._origins: dict[str, _Origin[T]] = {
            name: _Origin(number, number, {}) for name, number in received_upto.items()
        }

    def received_upto(self, origin: str) -> int:
        """Return the last released number of an origin."""
        found = self._origins.get(origin)
        return found.received_upto if found else 0

    def offer(self, origin: str, number: int, item: T, now: float) -> list[T] | None:
        """Take an event in; return the events that are released by it, in order. None for a duplicate."""
        of = self._of(origin)
        if number <= of.received_upto or number in of.held:
            return None
        self._rises(of, number, now)
        if number != of.received_upto + 1 and len(of.held) >= self._limit:
            return []
        of.held[number] = item
        of.lowest = min(of.lowest or number, number)
        return self._release(of, now)

    def head(self, origin: str, number: int, now: float) -> None:
        """Note that an origin has events up to a number."""
        self._rises(self._of(origin), number, now)

    def gone(self, origin: str, upto: int, now: float) -> list[T]:
        """Give up on missing events up to a number; return the events that are released by that."""
        of = self._of(origin)
        upto = min(upto, of.head)
        given: list[T] = []
        while of.received_upto < upto:
            of.received_upto += 1
            if of.received_upto in of.held:
                given.append(of.held.pop(of.received_upto))
        of.lowest = min(of.held, default=0)
        return given + self._release(of, now)

    def due(self, now: float) -> list[Gap]:
        """Return the gaps to request now. The wait before the same gap is returned again doubles each time."""
        gaps: list[Gap] = []
        for name, of in self._origins.items():
            last = _last_missing(of)
            if last <= of.received_upto or of.due_at > now:
                continue
            last = min(last, of.received_upto + ASKED_AT_ONCE)
            gaps.append(Gap(origin=name, first=of.received_upto + 1, last=last))
            of.asked_upto = last
            of.due_at = now + of.wait_seconds
            of.wait_seconds = min(2 * of.wait_seconds, LONGEST_SECONDS)
        return gaps

    def next_due(self) -> float | None:
        """Return when the next request is due; None where nothing is missing."""
        return min((of.due_at for of in self._origins.values() if _last_missing(of) > of.received_upto), default=None)

    def _of(self, origin: str) -> _Origin[T]:
        return self._origins.setdefault(origin, _Origin(0, 0, {}))

    def _rises(self, of: _Origin[T], number: int, now: float) -> None:
        if _last_missing(of) <= of.received_upto:  # nothing was missing: a new gap may still be in transit
            of.due_at, of.wait_seconds = now + PATIENCE_SECONDS, PATIENCE_SECONDS
        of.head = max(of.head, number)

    def _release(self, of: _Origin[T], now: float) -> list[T]:
        given: list[T] = []
        while of.received_upto + 1 in of.held:
            of.received_upto += 1
            given.append(of.held.pop(of.received_upto))
        of.lowest = min(of.held, default=0) if given else of.lowest
        if given:
            answered = of.asked_upto and of.received_upto >= of.asked_upto
            of.due_at, of.wait_seconds = now if answered else now + PATIENCE_SECONDS, PATIENCE_SECONDS
            if answered:
                of.asked_upto = 0
        return given


def _last_missing(of: _Origin[T]) -> int:
    """Return the last missing number: before the first held event, or the head. `received_upto` if none is missing."""
    return of.lowest - 1 if of.held else of.head
