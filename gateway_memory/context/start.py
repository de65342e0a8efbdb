"""Starts sessions: each gets its place in the files, its subscriptions and its opening."""

import asyncio
import secrets
from collections.abc import Awaitable, Collection
from dataclasses import replace
from datetime import datetime
from typing import Final

from gateway_memory.capture.changes import MemoryChanges
from gateway_memory.context.builder import ContextBuilder
from gateway_memory.context.digest import weekly_digest
from gateway_memory.context.opening import OpeningBuilder
from gateway_memory.context.subscriptions import Subscriptions
from gateway_memory.errors import StoreError, UsageError
from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.runtime import Runtime
from gateway_memory.scope import OWNER_SCOPE, Scope
from gateway_memory.sessions.registry import SessionRegistry
from gateway_memory.sessions.session import Session
from gateway_memory.store.journal.links import root_of
from gateway_memory.store.journal.opened import SHARED_KEY
from gateway_memory.store.journal.sessions import KnownSession
from gateway_memory.sync.storage import Storage

log = get_logger(__name__)


_OPENING_SECONDS: Final = 2.0
_KNOWN_SECONDS: Final = 0.25


class SessionStarter:
    """Starts the sessions of one memory."""

    def __init__(
        self,
        runtime: Runtime,
        storage: Storage,
        sessions: SessionRegistry,
        builder: ContextBuilder,
        changes: MemoryChanges,
        subscriptions: Subscriptions,
    ) -> None:
        self._runtime = runtime
        self._storage = storage
        self._sessions = sessions
        self._builder = builder
        self._changes = changes
        self._subscriptions = subscriptions
        self._openings = OpeningBuilder(runtime, storage)

    async def join(self, session: Session, joined: tuple[Scope, ...]) -> None:
        """Let a session read shared scopes beside its own, from now on."""
        if session.who.joined != joined:
            session.who = replace(session.who, joined=joined)
            if session.is_open:
                self._subscriptions.subscribe(session)
                await self._storage.sessions.join(session.session_id, session.who.joined_keys)

    async def start(self, session: Session) -> None:
        """Open a session under the key if none is open: at its start, or at a message after its end."""
        async with session.starting:
            if session.is_open:
                return
            root = root_of(await self._storage.links.of(session.who.origin.key), session.who.origin.key)
            if root != session.scope.key:
                self._sessions.move(session, Scope.parse(root))
            now = self._runtime.clock()
            if await self._storage.sessions.is_open_elsewhere(session.key, session.scope.key):
                self._runtime.on_error(SHARED_KEY, UsageError("neither process receives what the other one received"))
            session_id, opened = await self._storage.sessions.open(
                session.key, session.scope.key, secrets.token_hex(8), now.timestamp(), joined=session.who.joined_keys
            )
            session.reset(session_id)
            await self._switched_before(session, opened=opened)
            if not opened:  # another process may have shown this session events that this one has not seen yet
                session.pending.shown_upto = await self._storage.event_log.delivered(session.scope.key, session_id)
            self._sessions.opened(session)
            self._subscriptions.subscribe(session)
            waiting = set() if opened else await self._subscriptions.restore(session, now.timestamp())
            await self._storage.ledger.look_for_notices()
            await self._builder.runner.completes("expire", _OPENING_SECONDS, self._changes.expire(session.scope))
            await self.prepare(session, waiting)
            session.is_open = True
            log.info("session.open", session_id=session_id, type=session.types[0])

    async def prepare(self, session: Session, waiting: Collection[str] = ()) -> None:
        """Give a new session its place in the files, and its opening. waiting: as in `_open`."""
        session.positions = await self._builder.detector.first(session, _OPENING_SECONDS)
        if session.settings.opening.enabled:
            await self._in_time(session, self._open(session, waiting))

    async def opening(self, session: Session) -> str:
        """Return the current opening of a session. It is made anew when its scope has changed since."""
        await self.start(session)
        if not session.settings.opening.enabled or session.incognito:
            return ""
        async with session.starting:
            await self._in_time(session, self._open(session, anew=True))
        session.in_context.opens_reply = True
        session.in_context.inject(session.pending.in_opening)
        session.pending.in_opening = ()
        return session.opening

    async def _in_time(self, session: Session, work: Awaitable[None]) -> None:
        """Wait for an opening.

        If it is late or fails and there is no earlier one, a line that says so is the opening.
        """
        done = await self._builder.runner.completes("opening", _OPENING_SECONDS, work)
        if not done and not session.opening:
            session.open_with("", [], partial=True)

    async def switched(self, session: Session) -> None:
        """Apply and store the features that the user has just switched, for every process and after a restart."""
        self._subscriptions.subscribe(session)
        count = session.switches.count
        await self._storage.sessions.switch(session.session_id, session.switches.features)
        session.switches.stored = count

    async def ready_to_write(self, session: Session) -> None:
        """Prepare a session for a write: start it as `start` does, and apply what other processes changed meanwhile.

        Raises:
            UsageError: the session has ended, and this process may not open another one.
        """
        if not session.is_open:
            await self.start(session)
            return
        count, session_id = session.switches.count, session.session_id
        known = await self._known(session_id)
        if known is None or session.ending:  # it is ending now, and earlier writes belong to it
            return
        if known.ended and session.session_id == session_id:
            if session.detached:
                raise UsageError(f"session {session_id!r} has ended; nothing more is saved of it")
            await self._start_anew(session)
        elif session.switches.count == session.switches.stored == count:
            session.switches.features = known.switches

    async def start_if_deleted(self, session: Session) -> None:
        """Start the session anew if another process has deleted its person. Its pending updates are dropped."""
        session_id = session.session_id
        if await self._storage.sessions.find(session_id) is None and session.session_id == session_id:
            await self._start_anew(session)

    async def _start_anew(self, session: Session) -> None:
        """Start anew under the key of a session that another process has ended."""
        session.close()
        self._sessions.closed(session)
        self._subscriptions.unsubscribe(session.session_id)
        await self.start(session)

    async def _known(self, session_id: str) -> KnownSession | None:
        """Return what the store knows of a session; None where a shared store does not answer in time.

        The caller then relies on what this process knows, and its write waits on this machine.
        """
        if self._storage.wait_notified is None:
            return await self._storage.sessions.find(session_id)
        try:
            async with asyncio.timeout(_KNOWN_SECONDS):
                return await self._storage.sessions.find(session_id)
        except (StoreError, TimeoutError):
            return None

    async def _switched_before(self, session: Session, *, opened: bool) -> None:
        """Apply the user's switches after a restart, and in the session that continues an abandoned one."""
        if not session.switches.features:
            session.switches.features = await self._storage.sessions.switches(session.session_id)
        if opened and session.switches.features:
            await self.switched(session)

    async def _open(self, session: Session, waiting: Collection[str] = (), *, anew: bool = False) -> None:
        """Make the opening of a session, and record that its memories are in context.

        If a part is late, the next call of `opening` makes it again.

        waiting: the ids of updates that waited over a restart. The conversation goes on, so they are delivered although
        the opening has them.
        anew: do nothing unless a scope has changed; keep the week's digest.
        """
        session_id, now = session.session_id, self._runtime.clock()
        state = await self._openings.state(session.who.scopes, now)
        if anew:
            if state == session.opening_state:
                return
            await self._changes.expire(session.scope)  # a memory expires with a day, which is a part of the state
            state = await self._openings.state(session.who.scopes, now)
        (opening, items), late = await self._openings.build(session, now)
        if not anew:
            session.digest = await self._digest(session, now)
        if session.session_id == session_id:
            session.opening_state = None if late else state  # what is missing is looked for again
            text = f"{opening}\n\n{session.digest}".strip()
            session.pending.in_opening = [item for item in items if item[0] in waiting]
            session.open_with(text, [item for item in items if item[0] not in waiting], partial=late)

    async def _digest(self, session: Session, now: datetime) -> str:
        """Return the week's digest for the first session of the owner in a week, else ""."""
        if not session.settings.opening.weekly_digest or session.scope != OWNER_SCOPE or session.detached:
            return ""
        only_tries = self._builder.only_tries
        return await weekly_digest(self._runtime, self._storage, session.scope, now, only_tries=only_tries)
