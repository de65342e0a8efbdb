"""What the notifier needs of whoever keeps its events, and what it says of itself."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from notifier.types import Event

__all__ = ["EventLog", "NotifierStatus", "State"]

State = Literal["connecting", "connected", "waiting"]


class EventLog(Protocol):
    """Events by origin and number, on disk. `ready` events may be told; a number that isn't ready holds up the next."""

    async def sent(self) -> dict[str, int]:
        """Return up to which number each origin of this journal is known to have been sent."""
        ...

    async def mark_sent(self, origin: str, upto: int) -> None:
        """Note that an origin's events up to a number have been sent."""
        ...

    async def ready(self, origin: str, after: int, limit: int) -> list[Event]:
        """Return an origin's events that are ready, from the first one after a number, in order and without a hole."""
        ...

    async def oldest(self, origin: str) -> int:
        """Return the lowest number of an origin that is still kept; one past the last where none is."""
        ...

    async def heard(self) -> dict[str, int]:
        """Return up to which number this process has had each origin's events."""
        ...

    async def commit(self, events: Sequence[Event], heard: Mapping[str, int], now: float) -> None:
        """Keep events of other journals, and how far this process has come, in one transaction."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifierStatus:
    """How the connection stands since when (epoch seconds) and why, and what has come of it since the start."""

    state: State
    since: float
    reason: str = ""
    sent: int = 0
    received: int = 0
    dropped: Mapping[str, int] = field(default_factory=Counter)
