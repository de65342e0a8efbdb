"""What every part of an open memory needs: the time, the zone, the settings, and where to note what happens."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, tzinfo

from gateway_memory.clock import day_of
from gateway_memory.config.settings import MemorySync
from gateway_memory.observability.metrics import Metrics
from gateway_memory.scope import Scope

__all__ = ["Runtime"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """Shared by the parts of one memory.

    clock: what time it is (aware). zone: in which days are counted; None is the host's. settings_of: the settings of a
    session key, "" for the memory's own agent. scope_of: the scope that its key names.
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
        """Return what time it is, in epoch seconds."""
        return self.clock().timestamp()

    def day_of(self, at: float) -> str:
        """Return the day of a time (epoch seconds) as YYYY-MM-DD."""
        return day_of(at, self.zone)

    def today(self) -> str:
        """Return the day that it is, as YYYY-MM-DD."""
        return self.day_of(self.timestamp())

    def on_error(self, place: str, error: BaseException) -> None:
        """Note a failure that nothing else shows, for `/memory status`."""
        self.metrics.fail(self.clock(), place, error)
