"""Start a session: open it in the journal, deliver waiting updates, and build its opening."""

import secrets
from datetime import datetime
from typing import Final

from gateway_memory.capture.changes import MemoryChanges
from gateway_memory.context.builder import ContextBuilder
from gateway_memory.context.opening import OpeningBuilder
from gateway_memory.errors import UsageError
from gateway_memory.observability.logger import get_logger
from gateway_memory.runtime import Runtime
from gateway_memory.session import Session
from gateway_memory.sessions.hearing import Hearing
from gateway_memory.sessions.registry import SessionRegistry, features
from gateway_memory.sync.storage import Storage

__all__ = ["SessionStarter"]

log = get_logger(__name__)

_OPENING_SECONDS: Final = 2.0


class SessionStarter:
    """Starts the sessions of one memory."""

    def __init__(
        self,
        runtime: Runtime,
        storage: Storage,
        sessions: SessionRegistry,
        context: ContextBuilder,
        changes: MemoryChanges,
        hearing: Hearing,
    ) -> None:
        self._runtime = runtime
        self._storage = storage
        self._sessions = sessions
        self._context = context
        self._changes = changes
        self._hearing = hearing
        self._openings = OpeningBuilder(runtime, storage)

    async def start(self, session: Session) -> None:
        """Open an incarnation of the session if none is open: at its start, or at a message after its end."""
        async with session.starting:
            if not session.ended:
                return
            now = self._runtime.clock()
            session_id, opened = await self._storage.sessions.open(
                session.key, session.scope.key, secrets.token_hex(8), now.timestamp()
            )
            session.reset(session_id)
            await self._switched_before(session, opened=opened)
            self._sessions.opened(session)
            self._hearing.subscribe(session)
            waiting = set() if opened else await self._hearing.restore(session, now.timestamp())
            await self._storage.ledger.look_for_notices()
            generation = self._storage.recaller.generation
            await self._context.runner.completes("expire", _OPENING_SECONDS, self._changes.expire(session.scope))
            session.follow(generation, await self._context.changes.first(session, _OPENING_SECONDS))
            if session.settings.opening.enabled:
                await self._context.runner.completes("opening", _OPENING_SECONDS, self._open(session, waiting, now))
            session.start()
            log.info("session.open", session_id=session_id, type=session.type)

    async def switched(self, session: Session) -> None:
        """Apply and store the features that the user has just switched, for every process and after a restart."""
        self._hearing.subscribe(session)
        number, said = session.said, {str(feature): on for feature, on in session.switched.items()}
        await self._storage.sessions.switch(session.session_id, said)
        session.kept = number

    async def start_to_keep(self, session: Session) -> None:
        """Prepare a session for a write: start it as `start` does, and apply what other processes changed meanwhile.

        Raises:
            UsageError: the session has ended, and this process may not open another one.
        """
        if session.ended:
            await self.start(session)
            return
        number, session_id = session.said, session.session_id
        found = await self._storage.sessions.find(session_id)
        if found is None or session.ending:  # it is ending now, and earlier writes belong to it
            return
        if found.ended and session.session_id == session_id:
            if session.beside:
                raise UsageError(f"session {session_id!r} has ended; nothing more is saved of it")
            session.close()
            self._sessions.closed(session)
            self._hearing.unsubscribe(session_id)
            await self.start(session)
        elif session.said == session.kept == number:
            session.switched = features(found.switches)

    async def _switched_before(self, session: Session, *, opened: bool) -> None:
        """Apply the user's switches after a restart, and in the next incarnation of a session that continues."""
        if not session.switched:
            found = await self._storage.sessions.switches(session.session_id)
            session.switched = features(found)
        if opened and session.switched:
            await self.switched(session)

    async def _open(self, session: Session, waiting: set[str], now: datetime) -> None:
        """Build the opening of a session. If a slow disk delays it, the session still gets it later."""
        session_id = session.session_id
        opening, held = await self._openings.build(session.scope, session.settings.opening, now)
        if session.session_id == session_id:
            session.opening = opening
            # The conversation continues after a restart, so updates that waited are delivered although the opening has
            # them.
            session.mark_shown([item for item in held if item[0] not in waiting])
