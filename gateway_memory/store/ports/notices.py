"""The port of the store for events, which other sessions and processes are shown."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from notifier import Event, EventLog, MemoryChange

__all__ = ["Notices"]


class Notices(EventLog, Protocol):
    """Events by origin and number. An origin is a process; its numbers have no gap. Calls may raise StoreError."""

    @property
    def journal(self) -> str:
        """The id of the store, the same for all of its processes."""

    @property
    def instance(self) -> str:
        """This process's origin."""

    async def planned(self, plan: int) -> list[Event]:
        """Return the events of a plan that isn't carried out, in order."""

    async def notice(self, scope: str, changes: Sequence[MemoryChange], now: float) -> list[Event]:
        """Store events about edits by hand, and return them numbered.

        Changes that our own plans made are left out, and so are those that any process has stored before.
        """

    async def missing(self, scope: str, ids: Sequence[str]) -> set[str]:
        """Return those of these memories that the store knows to be in no document."""

    async def edited_since(self, scope: str, at: float) -> bool:
        """Return whether a stored event tells of an edit by hand after a time (epoch seconds)."""

    async def mark_delivered(self, session_id: str, upto: Mapping[str, int]) -> None:
        """Note that a session was shown all events up to these numbers, by origin."""

    async def undelivered(self, session_id: str, *, since: float) -> list[Event]:
        """Return the events of an open session's scope that were not delivered to it, oldest first.

        since: epoch seconds; older events have expired. Events from before the session was opened are left out.
        """

    async def tidy(self, *, before: float) -> None:
        """Delete events from before a time (epoch seconds), and what was recorded of ended sessions."""
