"""The port for candidates that wait for a person's review. Plans add and settle them, in their transaction."""

from collections.abc import Sequence
from typing import Protocol

from gateway_memory.store.review import Review, ReviewState

__all__ = ["Reviews"]


class Reviews(Protocol):
    """Every call may raise StoreError. What was forgotten in the meantime is never returned."""

    async def waiting(self, scope: str, *, limit: int = 1000) -> list[Review]:
        """Return the reviews of a scope that wait, oldest first."""

    async def of_owner(self, *, limit: int = 1000) -> list[Review]:
        """Return the reviews that wait in the scopes of guests and rooms and are about the owner, oldest first."""

    async def find(self, scope: str, identity: str) -> Review | None:
        """Return a review in any state."""

    async def declined(self, scope: str) -> Sequence[Review]:
        """Return the newest reviews of a scope that are never to be asked about again."""

    async def count(self, scope: str = "") -> int:
        """Return how many reviews wait in a scope, or in all of them."""

    async def states(self, scope: str, ids: Sequence[str]) -> dict[str, ReviewState]:
        """Return the state of each of these reviews that is known."""

    async def due(self, scope: str, *, before: float, day: str) -> list[str]:
        """Return the ids of the reviews that have waited since before a time, or whose last day is past.

        before: epoch seconds, 0 for no such time. day: the current day, YYYY-MM-DD.
        """
