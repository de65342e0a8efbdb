"""The place that a process has among those that share a store."""

from contextlib import AbstractContextManager
from typing import Protocol

__all__ = ["Lease"]


class Lease(Protocol):
    """A process's place among those that share a store."""

    @property
    def number(self) -> int:
        """Which place it is; no other living process has it."""

    def is_alone(self) -> bool:
        """Return whether no other process has the store open."""

    def orphan(self, number: int) -> AbstractContextManager[object] | None:
        """Hold the place of a process that is gone, until the context ends; None while it lives."""
