"""Delivers the changes of other sessions to a session: new ones, and those that waited over a restart."""

from collections.abc import Awaitable, Callable

from gateway_memory.sessions.session import Session
from gateway_memory.store.journal.event_log import EventLog
from notifier import Bus


class Subscriptions:
    """Connects sessions with the bus. catch_up: commits events that have arrived and are not in the journal yet."""

    def __init__(self, event_log: EventLog, bus: Bus, catch_up: Callable[[], Awaitable[None]] | None) -> None:
        self._event_log = event_log
        self._bus = bus
        self._catch_up = catch_up

    def subscribe(self, session: Session) -> None:
        """Subscribe a session to the changes of its scope, if its notifications are enabled."""
        self._bus.unsubscribe(session.session_id)
        if session.on("notify"):
            scopes = [scope.key for scope in session.who.scopes]
            self._bus.subscribe(
                session.session_id, session.key, scopes, session.pending.inbox, session.pending.shown_upto
            )

    def unsubscribe(self, session_id: str) -> None:
        """End the subscription of a session."""
        self._bus.unsubscribe(session_id)

    async def restore(self, session: Session, now: float) -> set[str]:
        """Restore the updates that waited for a session over a restart, and return the ids of their memories.

        now: epoch seconds.
        """
        if not session.on("notify"):
            return set()
        if self._catch_up:  # store the events that were sent before this subscription
            await self._catch_up()
        since = now - session.settings.notify.pending_max_age_seconds
        events = [
            event
            for scope in session.who.scopes
            for event in await self._event_log.undelivered(scope.key, session.session_id, since=since)
        ]
        waited = [(event.at, change) for event in events for change in event.changes if change.source != session.key]
        session.pending.inbox.restore(waited)
        session.pending.restored_upto = {
            event.origin: event.number for event in sorted(events, key=lambda event: event.number)
        }
        return {change.id for _, change in waited}
