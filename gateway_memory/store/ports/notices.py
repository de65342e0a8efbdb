"""The port for events, which are delivered to other sessions and processes."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from notifier import Event, EventLog, MemoryChange

__all__ = ["Notices"]


class Notices(EventLog, Protocol):
    """Events by origin and number. An origin is a process, and its numbers have no gaps. Calls may raise StoreError."""

    @property
    def journal(self) -> str:
        """The id of the store, which all of its processes share."""

    @property
    def instance(self) -> str:
        """The origin of this process."""

    async def planned(self, plan: int) -> list[Event]:
        """Return the events of a plan that is not completed, in order."""

    async def notice(self, scope: str, changes: Sequence[MemoryChange], now: float) -> list[Event]:
        """Store events about edits by hand, and return them with their numbers.

        Changes that our own plans made, and changes that any process has stored before, are left out.

        now: epoch seconds.
        """

    async def missing(self, scope: str, ids: Sequence[str]) -> set[str]:
        """Return those of these memories that, by the store, are in no document."""

    async def edited_since(self, scope: str, at: float) -> bool:
        """Return whether a stored event reports an edit by hand after a time (epoch seconds)."""

    async def completed(self) -> dict[str, int]:
        """Return the number before the first event whose plan is not completed, else the last one, by origin."""

    async def mark_delivered(self, session_id: str, upto: Mapping[str, int]) -> None:
        """Record that a session was shown all events up to these numbers, by origin."""

    async def delivered(self, session_id: str) -> dict[str, int]:
        """Return up to which number a session was shown all events, by origin."""

    async def undelivered(self, scope: str, session_id: str, *, since: float) -> list[Event]:
        """Return the events of an open session's scope that were not delivered to it, oldest first.

        Events from before the session was opened are left out.

        since: epoch seconds; older events have expired.
        """

    async def tidy(self, *, before: float) -> None:
        """Delete events from before a time (epoch seconds), and the delivery state of ended sessions."""
