"""Which events of each origin were received, and which are missing. Sans I/O; times are monotonic."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

T = TypeVar("T")

REQUESTED_AT_ONCE: Final = 200
"""The most events of one request, so that its answer stays within the buffers of both sides."""
FIRST_WAIT_SECONDS: Final = 0.5
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
    pending: dict[int, T]
    lowest: int = 0
    due_at: float = 0.0
    wait_seconds: float = FIRST_WAIT_SECONDS
    requested_upto: int = 0


class Tracker(Generic[T]):
    """Releases each event once, in the order of its origin's numbers. An event that comes early is kept pending.

    received_upto: the last released number by origin. limit: the most pending events of an origin; any more are
    dropped, and requested again when it is their turn.
    """

    def __init__(self, received_upto: Mapping[str, int], *, limit: int = 2000) -> None:
        self._limit = limit
        self._origins: dict[str, _Origin[T]] = {
            name: _Origin(number, number, {}) for name, number in received_upto.items()
        }

    def received_upto(self, origin: str) -> int:
        """Return the last released number of an origin."""
        known = self._origins.get(origin)
        return known.received_upto if known else 0

    def offer(self, origin: str, number: int, item: T, now: float) -> list[T] | None:
        """Take an event in; return the events that are released by it, in order. None for a duplicate."""
        of = self._of(origin)
        if number <= of.received_upto or number in of.pending:
            return None
        self._rises(of, number, now)
        if number != of.received_upto + 1 and len(of.pending) >= self._limit:
            return []
        of.pending[number] = item
        of.lowest = min(of.lowest or number, number)
        return self._release(of, now)

    def head(self, origin: str, number: int, now: float) -> None:
        """Note that an origin has events up to a number."""
        self._rises(self._of(origin), number, now)

    def skip(self, origin: str, upto: int, now: float) -> list[T]:
        """Give up on missing events up to a number; return the events that are released by that."""
        of = self._of(origin)
        return self._release(of, now, upto=min(upto, of.head))

    def due(self, now: float) -> list[Gap]:
        """Return the gaps to request now. The wait before the same gap is returned again doubles each time."""
        gaps: list[Gap] = []
        for name, of in self._origins.items():
            last = _last_missing(of)
            if last <= of.received_upto or of.due_at > now:
                continue
            last = min(last, of.received_upto + REQUESTED_AT_ONCE)
            gaps.append(Gap(origin=name, first=of.received_upto + 1, last=last))
            of.requested_upto = last
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
            of.due_at, of.wait_seconds = now + FIRST_WAIT_SECONDS, FIRST_WAIT_SECONDS
        of.head = max(of.head, number)

    def _release(self, of: _Origin[T], now: float, upto: int = 0) -> list[T]:
        released: list[T] = []
        while of.received_upto < upto or of.received_upto + 1 in of.pending:
            of.received_upto += 1
            if of.received_upto in of.pending:
                released.append(of.pending.pop(of.received_upto))
        of.lowest = min(of.pending, default=0) if released else of.lowest
        if released:
            answered = of.requested_upto and of.received_upto >= of.requested_upto
            of.due_at, of.wait_seconds = now if answered else now + FIRST_WAIT_SECONDS, FIRST_WAIT_SECONDS
            if answered:
                of.requested_upto = 0
        return released


def _last_missing(of: _Origin[T]) -> int:
    """Return the last missing number, before the first pending event or the head; without one, `received_upto`."""
    return of.lowest - 1 if of.pending else of.head
