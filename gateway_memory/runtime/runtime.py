"""The services that every part of an open memory needs: clock, zone, settings, metrics and error reports."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, tzinfo

from gateway_memory.config.settings import MemorySync
from gateway_memory.observability.metrics import Metrics
from gateway_memory.runtime.clock import day_of
from gateway_memory.scope import Scope

__all__ = ["Runtime"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """The values that the parts of one memory share.

    clock: returns the current time (aware).
    zone: the zone in which days are counted; None is the host's.
    settings_of: returns the settings of a session key; "" is the memory's own agent.
    scope_of: returns the scope of a scope key.
    """

    clock: Callable[[], datetime]
    zone: tzinfo | None
    metrics: Metrics
    settings_of: Callable[[str], MemorySync]
    scope_of: Callable[[str], Scope]

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

    def today(self) -> str:
        """Return the current day as YYYY-MM-DD."""
        return self.day_of(self.timestamp())

    def on_error(self, place: str, error: BaseException) -> None:
        """Count a failure, for `/memory status` of every process."""
        self.metrics.fail(self.clock(), place, error)
