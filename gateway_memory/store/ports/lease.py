"""The port for the slots of the processes that share a store."""

from collections.abc import Collection
from contextlib import AbstractContextManager
from typing import Protocol

__all__ = ["Lease"]


class Lease(Protocol):
    """The slot that this process leases among the processes that share a store."""

    @property
    def number(self) -> int:
        """The number of the slot. No other living process has the same number."""

    def is_alone(self) -> bool:
        """Return whether no other process has the store open."""

    async def living(self, numbers: Collection[int]) -> frozenset[int]:
        """Return which of these slots a living process holds. May raise StoreError."""

    def orphan(self, number: int) -> AbstractContextManager[object] | None:
        """Return a context that holds the slot of a dead process, or None while that process lives."""
