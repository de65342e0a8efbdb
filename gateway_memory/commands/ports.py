"""What the commands need of the memory whose commands they are."""

from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import Protocol

from gateway_memory.config.settings import MemorySync
from gateway_memory.observability.metrics import Metrics
from gateway_memory.session import Session
from recall import Hit

__all__ = ["Commanded"]


class Commanded(Protocol):
    """A memory, as the commands see it."""

    zone: tzinfo | None
    settings: MemorySync
    metrics: Metrics

    def now(self) -> datetime:
        """Return what time it is."""

    async def search(self, session: Session, query: str, *, limit: int = 5, explain: bool = False) -> Sequence[Hit]:
        """Return the hits of a search, best first; it takes filters too."""

    async def session_counts(self) -> dict[str, int]:
        """Return how sessions ended and who saved them."""
