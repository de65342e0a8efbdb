"""Events for other sessions and processes."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from notifier import Event, MemoryChange
from notifier.ports import EventLog

__all__ = ["Notices"]


class Notices(EventLog, Protocol):
    """Events by origin and number. An origin is a process; its numbers have no hole. Calls may raise StoreError."""

    @property
    def journal(self) -> str:
        """The id of the store, the same for all of its processes."""

    @property
    def instance(self) -> str:
        """What this process is called as an origin."""

    def acquire_origin(self, origin: str) -> AbstractContextManager[object] | None:
        """Return what lets this process send an origin's events: its own, or those of a process that is gone."""

    async def planned(self, plan: int) -> list[Event]:
        """Return the events of a plan that isn't carried out, in order."""

    async def notice(self, scope: str, changes: Sequence[MemoryChange], now: float) -> list[Event]:
        """Keep events about edits that somebody else may have made, and return them numbered.

        What our own plans removed is left out, and so is what any process has noticed before.
        """

    async def missing(self, scope: str, ids: Sequence[str]) -> set[str]:
        """Return those of these memories that are in no document, as far as the store knows."""

    async def edited_since(self, scope: str, at: float) -> bool:
        """Return whether an edit by hand was noticed after a time (epoch seconds), as far back as events are kept."""

    async def mark_delivered(self, session_id: str, upto: Mapping[str, int]) -> None:
        """Note that a session was shown all events up to these numbers, by origin."""

    async def undelivered(self, session_id: str, *, since: float) -> list[Event]:
        """Return the events of an open session's scope that were not delivered to it since a time, oldest first."""

    async def tidy(self, *, before: float) -> None:
        """Delete events that are too old to be told, and what ended sessions were told."""
