"""What a session hears of the others: from now on, and what waited for it over a restart."""

from collections.abc import Awaitable, Callable

from gateway_memory.session import Session
from gateway_memory.sync.storage import Storage
from notifier import Bus

__all__ = ["Hearing"]


class Hearing:
    """Connects sessions with the bus. catch_up: stores what other processes have sent already."""

    def __init__(self, storage: Storage, bus: Bus, catch_up: Callable[[], Awaitable[None]] | None) -> None:
        self._storage = storage
        self._bus = bus
        self._catch_up = catch_up

    def subscribe(self, session: Session) -> None:
        """Let a session hear of the others, or not, as it is switched."""
        self._bus.unsubscribe(session.session_id)
        if session.on("notify"):
            self._bus.subscribe(session.session_id, session.key, [session.scope.key], session.inbox)

    def unsubscribe(self, session_id: str) -> None:
        """Let a session hear nothing more."""
        self._bus.unsubscribe(session_id)

    async def restore(self, session: Session, now: float) -> set[str]:
        """Give a session that was open before a restart the updates that waited for it; return their ids.

        now: epoch seconds.
        """
        if not session.on("notify"):
            return set()
        if self._catch_up:  # what came before this session was there is looked up where it is kept
            await self._catch_up()
        since = now - session.settings.notify.pending_max_age_seconds
        events = await self._storage.notices.undelivered(session.session_id, since=since)
        waited = [(event.at, change) for event in events for change in event.changes if change.source != session.key]
        session.inbox.restore(waited)
        session.restored = {event.origin: event.number for event in sorted(events, key=lambda event: event.number)}
        return {change.id for _, change in waited}
