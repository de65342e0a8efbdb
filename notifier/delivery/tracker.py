"""What has come of each origin's events, and what is missing. Sans I/O; time is an argument, in monotonic seconds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

__all__ = ["ASKED_AT_ONCE", "Gap", "Tracker"]

T = TypeVar("T")

ASKED_AT_ONCE: Final = 200
"""Events that one question is about: what is asked for must fit into the answerer's hands and ours."""
PATIENCE_SECONDS: Final = 0.5
"""How long what is missing may still be under way; also the first of the waits between two questions."""
LONGEST_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Events of an origin that are missing, both ends included."""

    origin: str
    first: int
    last: int


@dataclass(slots=True)
class _Origin(Generic[T]):
    heard: int
    head: int
    held: dict[int, T]
    lowest: int = 0
    due_at: float = 0.0
    wait_seconds: float = PATIENCE_SECONDS
    asked_upto: int = 0


class Tracker(Generic[T]):
    """Gives out each event once, in the order of its origin's numbers; one that comes too early is held back.

    At most `limit` are held for an origin: one more is let go, and is asked for when its turn comes.
    """

    def __init__(self, heard: Mapping[str, int], *, limit: int = 2000) -> None:
        self._limit = limit
        self._origins: dict[str, _Origin[T]] = {name: _Origin(number, number, {}) for name, number in heard.items()}

    def heard(self, origin: str) -> int:
        """Return up to which number an origin's events were given out."""
        found = self._origins.get(origin)
        return found.heard if found else 0

    def offer(self, origin: str, number: int, item: T, now: float) -> list[T] | None:
        """Take an event in; return those whose turn it is now, in order. None: this one was here before."""
        of = self._of(origin)
        if number <= of.heard or number in of.held:
            return None
        self._rises(of, number, now)
        if number != of.heard + 1 and len(of.held) >= self._limit:
            return []
        of.held[number] = item
        of.lowest = min(of.lowest or number, number)
        return self._release(of, now)

    def head(self, origin: str, number: int, now: float) -> None:
        """Note that an origin has come as far as a number."""
        self._rises(self._of(origin), number, now)

    def gone(self, origin: str, upto: int, now: float) -> list[T]:
        """Wait no longer for the events up to a number; return those whose turn it is now."""
        of = self._of(origin)
        upto = min(upto, of.head)
        given: list[T] = []
        while of.heard < upto:
            of.heard += 1
            if of.heard in of.held:
                given.append(of.held.pop(of.heard))
        of.lowest = min(of.held, default=0)
        return given + self._release(of, now)

    def due(self, now: float) -> list[Gap]:
        """Return what is to be asked for now; it isn't asked for again before a while that doubles."""
        gaps: list[Gap] = []
        for name, of in self._origins.items():
            last = _last_missing(of)
            if last <= of.heard or of.due_at > now:
                continue
            last = min(last, of.heard + ASKED_AT_ONCE)
            gaps.append(Gap(origin=name, first=of.heard + 1, last=last))
            of.asked_upto = last
            of.due_at = now + of.wait_seconds
            of.wait_seconds = min(2 * of.wait_seconds, LONGEST_SECONDS)
        return gaps

    def next_due(self) -> float | None:
        """Return when something will be due, None where nothing is missing."""
        return min((of.due_at for of in self._origins.values() if _last_missing(of) > of.heard), default=None)

    def _of(self, origin: str) -> _Origin[T]:
        return self._origins.setdefault(origin, _Origin(0, 0, {}))

    def _rises(self, of: _Origin[T], number: int, now: float) -> None:
        if _last_missing(of) <= of.heard:  # nothing was missing: what is missing from now on may be on its way
            of.due_at, of.wait_seconds = now + PATIENCE_SECONDS, PATIENCE_SECONDS
        of.head = max(of.head, number)

    def _release(self, of: _Origin[T], now: float) -> list[T]:
        given: list[T] = []
        while of.heard + 1 in of.held:
            of.heard += 1
            given.append(of.held.pop(of.heard))
        of.lowest = min(of.held, default=0) if given else of.lowest
        if given:
            answered = of.asked_upto and of.heard >= of.asked_upto
            of.due_at, of.wait_seconds = now if answered else now + PATIENCE_SECONDS, PATIENCE_SECONDS
            if answered:
                of.asked_upto = 0
        return given


def _last_missing(of: _Origin[T]) -> int:
    """Return the last number before the first event that is held, or the head; `heard` where nothing is missing."""
    return of.lowest - 1 if of.held else of.head
