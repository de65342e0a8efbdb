"""What the parts of one memory share."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from typing import TYPE_CHECKING

from gateway_memory.config.settings import MemorySync
from gateway_memory.ground.times import date_of, day_of

if TYPE_CHECKING:
    from recall import TextEncoder
from gateway_memory.ground.metrics import Metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """The values that the parts of one memory share.

    clock: returns the current time (aware).
    zone: the zone in which days are counted; None is the machine's.
    settings_of: returns the settings of a session key; "" is the memory's own agent.
    encoder: makes the host's own encoder, in a thread; None for the one that the settings name.
    """

    clock: Callable[[], datetime]
    zone: tzinfo | None
    metrics: Metrics
    settings_of: Callable[[str], MemorySync]
    encoder: "Callable[[], TextEncoder] | None" = None

    @property
    def settings(self) -> MemorySync:
        """The settings of the memory's own agent."""
        return self.settings_of("")

    def timestamp(self) -> float:
        """Return the current time in epoch seconds."""
        return self.clock().timestamp()

    def day_of(self, at: float) -> str:
        """Return the day of a time (epoch seconds) as YYYY-MM-DD."""
        return day_of(at, self.zone)

    def date_of(self, at: float) -> date:
        """Return the day of a time (epoch seconds)."""
        return date_of(at, self.zone)

    def today(self) -> str:
        """Return the current day as YYYY-MM-DD."""
        return self.day_of(self.timestamp())

    def on_error(self, place: str, error: BaseException) -> None:
        """Count a failure, for `/memory status` of every process."""
        self.metrics.fail(self.clock(), place, error)
