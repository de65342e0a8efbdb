"""How a session begins: it is opened in the journal, hears what waited for it, and gets its opening."""

import secrets
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Final, Protocol

from gateway_memory.capture.ingest import Ingest
from gateway_memory.context.builder import ContextBuilder
from gateway_memory.context.opening import OpeningBuilder
from gateway_memory.errors import UsageError
from gateway_memory.observability.logger import get_logger
from gateway_memory.session import Session
from gateway_memory.sessions.registry import Sessions, features
from gateway_memory.store.journal.journal import Journal
from gateway_memory.store.journal.session_state import find, switch, switches
from notifier import Bus
from recall import Recaller

if TYPE_CHECKING:
    from notifier.notifier import Notifier

__all__ = ["Beginning"]

log = get_logger(__name__)

_OPENING_SECONDS: Final = 2.0


class Parts(Protocol):
    """What a start needs of an open memory."""

    @property
    def journal(self) -> Journal: ...
    @property
    def bus(self) -> Bus: ...
    @property
    def recaller(self) -> Recaller: ...
    @property
    def context(self) -> ContextBuilder: ...
    @property
    def ingest(self) -> Ingest: ...
    @property
    def openings(self) -> OpeningBuilder: ...
    @property
    def notifier(self) -> "Notifier | None": ...


class Beginning:
    """Begins the sessions of one memory."""

    def __init__(self, parts: Parts, sessions: Sessions, clock: Callable[[], datetime]) -> None:
        self._parts = parts
        self._sessions = sessions
        self._clock = clock

    async def begin(self, session: Session) -> None:
        """Open an incarnation of the session where none is open: at its start, and at a message after its end."""
        async with session.starting:
            if not session.ended:
                return
            now = self._clock()
            session_id, opened = await self._parts.journal.open_session(
                session.key, session.scope.key, secrets.token_hex(8), now.timestamp()
            )
            session.begin(session_id)
            await self._switched_before(session, opened=opened)
            self._sessions.opened(session)
            self.subscribe(session)
            waiting = set() if opened or not session.on("notify") else await self._restore(session, now.timestamp())
            await self._parts.journal.marks.look_for_untold()
            session.generation = self._parts.recaller.generation
            await self._parts.context.within.done("expire", _OPENING_SECONDS, self._parts.ingest.expire(session.scope))
            session.revision = await self._parts.context.changes.first(session, _OPENING_SECONDS)
            if session.settings.opening.enabled:
                await self._parts.context.within.done("opening", _OPENING_SECONDS, self._open(session, waiting, now))
            session.ended = False
            log.info("session.open", session_id=session_id, type=session.type)

    async def switched(self, session: Session) -> None:
        """Let what the user has just switched hold: at once, after a restart, and for every process."""
        self.subscribe(session)
        number, said = session.said, {str(feature): on for feature, on in session.switched.items()}
        await self._parts.journal.transact(lambda database: switch(database, session.session_id, said))
        session.kept = number

    async def begin_to_keep(self, session: Session) -> None:
        """Begin as `begin` does, for what is to be kept: by what other processes did with the session meanwhile.

        Raises:
            UsageError: it has ended, and it is not ours to open another one.
        """
        if session.ended:
            await self.begin(session)
            return
        number, session_id = session.said, session.session_id
        found = await self._parts.journal.transact(lambda database: find(database, session_id))
        if found is None or session.ending:  # it ends just now, and what came before its end belongs to it
            return
        if found.ended and session.session_id == session_id:
            if session.beside:
                raise UsageError(f"session {session_id!r} has ended; nothing more is saved of it")
            session.ended = True
            self._sessions.closed(session)
            self._parts.bus.unsubscribe(session_id)
            await self.begin(session)
        elif session.said == session.kept == number:
            session.switched = features(found.switches)

    async def _switched_before(self, session: Session, *, opened: bool) -> None:
        """Let what the user switched hold: after a restart, and in the next incarnation of a session that goes on."""
        if not session.switched:
            found = await self._parts.journal.transact(lambda database: switches(database, session.session_id))
            session.switched = features(found)
        if opened and session.switched:
            await self.switched(session)

    def subscribe(self, session: Session) -> None:
        """Let a session hear of the others, or not, as it is switched."""
        self._parts.bus.unsubscribe(session.session_id)
        if session.on("notify"):
            self._parts.bus.subscribe(session.session_id, session.key, [session.scope.key], session.inbox)

    async def _open(self, session: Session, waiting: set[str], now: datetime) -> None:
        """Give a session its opening; a late one, of a disk that hangs, is there for whoever looks later."""
        session_id = session.session_id
        opening, held = await self._parts.openings.build(session.scope, session.settings.opening, now)
        if session.session_id == session_id:
            session.opening = opening
            # Its conversation goes on after a restart: what waited for it is told, though a new opening has it too.
            session.hold([item for item in held if item[0] not in waiting])

    async def _restore(self, session: Session, now: float) -> set[str]:
        """Give a session that was open before a restart the updates that waited for it; return their ids."""
        if self._parts.notifier:  # what came by MQTT before this session was there is looked up where it is kept
            await self._parts.notifier.keep()
        since = now - session.settings.notify.pending_max_age_seconds
        events = await self._parts.journal.event_log.untold(session.session_id, since=since)
        waited = [(event.at, change) for event in events for change in event.changes if change.source != session.key]
        session.inbox.restore(waited)
        session.restored = {event.origin: event.number for event in sorted(events, key=lambda event: event.number)}
        return {change.id for _, change in waited}
