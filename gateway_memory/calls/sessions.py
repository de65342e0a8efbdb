"""The calls about a session: who speaks, start, attach, opening and end."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Final, Unpack

from gateway_memory.calls.calls import Calls, only_our_errors
from gateway_memory.edge.content import Content, milliseconds_of, text_of
from gateway_memory.edge.session_key import without_secrets
from gateway_memory.errors import RefusedError, StoreError, UsageError
from gateway_memory.ground.logs import get_logger
from gateway_memory.identity import Facts, Refused, Speaker, sender_in_room, who
from gateway_memory.scope import LONGEST_NAME, Scope, Whose, is_name, named_in, resolve_scopes, shortened
from gateway_memory.sessions.session import Called, Session, Who
from gateway_memory.store.journal.names import shown_name
from gateway_memory.store.journal.sessions import End
from gateway_memory.store.journal.speakers import UNVERIFIED, Sender, sender_of
from gateway_memory.wiring import OpenMemory

log = get_logger(__name__)

_VISIT_SECONDS: Final = 10.0
_START_SECONDS: Final = 10.0


@only_our_errors
class SessionCalls(Calls):
    """Calls with which a gateway begins and ends sessions."""

    async def start_session(self, key: str, *, ephemeral: bool = False, **whose: Unpack[Whose]) -> Session:
        """Open a session, or resume the open session of the key.

        key: the host's session key; it has, as names and ids have, at most 800 bytes in UTF-8.
        whose: exactly one of `user=OWNER`, `user="name"` and `room="name"` selects the scope. `project="name"` beside
        it joins that project's memory, which all sessions that name it share. The session reads it too, and what is
        said about the project is kept there. Alone, it selects the project's memory.
        ephemeral: after each reply, the host drops the injected blocks, and keeps the turns. Such a host asks for the
        `opening` before each reply.

        Raises:
            UsageError: the key is empty, or not exactly one scope is named.
            StoreError: the session could not be opened, or not within ten seconds.
        """
        opened = self._opened()
        key = _check_key(key)
        origin, *joined = resolve_scopes(**whose)
        try:
            async with asyncio.timeout(_START_SECONDS):
                return await self._start(opened, key, origin, tuple(joined), ephemeral=ephemeral)
        except TimeoutError:
            raise StoreError(
                f"the session could not be opened within {_START_SECONDS:g} s: the store is slow"
            ) from None

    async def _start(
        self, opened: OpenMemory, key: str, origin: Scope, joined: tuple[Scope, ...], *, ephemeral: bool
    ) -> Session:
        try:
            scope = await opened.links.resolved(origin)
        except StoreError:  # the links can't be read now; an open session goes on: its turns are stored here first
            session = opened.sessions.open_of(key, origin)
            if session is None:
                raise
            return session
        session = opened.sessions.get(key, scope, origin)
        session.in_context.set_ephemeral(ephemeral=ephemeral)
        try:
            await opened.starter.join(session, joined)
            await opened.starter.start(session)
        except BaseException:
            opened.sessions.forget(session)
            raise
        return session

    async def attach_session(self, session_id: str, **whose: Unpack[Whose]) -> Session:
        """Return a handle to an open session by its id, for the tools of the session's agent.

        The session may be open in another process. The call does not resume it.

        whose: the scope to which the session must belong, and the project that it must have joined, as in
        `start_session`. Without it, any scope is accepted. The session reads the project that its host has named.

        Raises:
            UsageError: the session does not exist, has ended, belongs to another scope, or hasn't joined the project.
            StoreError: the journal could not be read.
        """
        opened = self._opened()
        unknown = f"session {session_id!r}: this memory knows no such session; take the id from its prompt"
        if not is_name(session_id):
            raise UsageError(unknown)
        known = await opened.storage.sessions.find(session_id)
        if known is None:
            raise UsageError(unknown)
        if known.ended:
            raise UsageError(f"session {session_id!r} has ended; nothing more is saved of it")
        named = resolve_scopes(**whose) if named_in(whose) else ()
        own = [scope for scope in named if not scope.kind.may_be_joined]
        if own and (await opened.links.resolved(own[0])).key != known.scope:
            raise UsageError(
                f"session {session_id!r} belongs to somebody else; leave the name out, or name whose it is"
            )
        scope, joined = Scope.parse(known.scope), Scope.parse_all(known.joined)
        strange = [each for each in named if each not in (*own, *joined, scope)]
        if strange:
            raise UsageError(
                f"session {session_id!r} has not joined {strange[0].key!r}; leave it out: the host says what is joined"
            )
        who = Who(key=known.key, scope=scope, origin=scope, joined=joined)
        return opened.sessions.detached(who, session_id, known.switches)

    async def visit(self, **whose: Unpack[Whose]) -> Session:
        """Return a session for commands outside a conversation, such as those of a shell. It leaves no record.

        whose: selects the scope, as in `start_session`.

        Raises:
            UsageError: not exactly one scope is named.
        """
        opened = self._opened()
        origin, *joined = resolve_scopes(**whose)
        scope = await opened.links.resolved(origin)
        await opened.builder.runner.run("sync", _VISIT_SECONDS, opened.storage.follower.refresh(scope))
        who = Who(key=f"agent:{self.agent}:shell", scope=scope, origin=scope, joined=tuple(joined))
        return opened.sessions.detached(who, "shell")

    def rule_text(self, session: Session, *, chinese: bool | None = None) -> str:
        """Return the prompt rule that tells a session's agent which commands save memories.

        The commands are complete and can be run unchanged. The rule is "" for a memory without a workspace, which no
        command can reach.

        chinese: the language of the rule; by default, the language of the user.
        """
        opened = self._opened(session)
        chinese = session.language == "zh" if chinese is None else chinese
        prompts = opened.sessions.prompts(session)
        return prompts.rule(session.session_id, chinese=chinese) if prompts else ""

    async def end_session(
        self, session: Session, *, reason: str, error: Content | None = "", duration_ms: float | None = None
    ) -> None:
        """End a session and save its summary if it has none. The next message under its key opens a new session.

        The call waits for no model. With one, it waits a second at most for the rules to read the last turns, and the
        record is by rules at first; `flush` waits for the model's. Without one, the rules read all of the last turns,
        which takes longer where many wait. A summary that cannot be made raises nothing. Ending a session twice has no
        effect. An end that was cancelled or that raised can be repeated.

        reason: completed, aborted, error, window_close, user_close, reset (`/new`), or a reason of the host's own.
        error: what went wrong, in the host's words. It is stored without secrets, and not stored for an incognito
        session.
        duration_ms: the duration of the session in milliseconds; by default, it is measured.

        Raises:
            UsageError: a text or the duration is invalid.
            StoreError: the end could not be written.
        """
        opened = self._opened(session)
        end = End.of(
            reason=text_of(reason, "reason"),
            error="" if session.incognito else text_of(error, "error"),
            duration_ms=None if duration_ms is None else milliseconds_of(duration_ms, "duration_ms"),
        )
        if not (session.is_open or session.ending) or opened.sessions.is_resumed(session):
            return
        session_id = session.session_id
        session.close(ending=True)
        opened.sessions.closed(session)
        opened.bus.unsubscribe(session_id)
        async with session.writing:  # wait for writes of this session that are in progress
            pass
        await opened.lifecycle.end(session_id, session.scope, session.key, end)
        session.ending = False  # it may have started again meanwhile

    async def identify(self, facts: Facts) -> Speaker | Refused:
        """Return who is speaking by the rules in `memorySync.identity`, or why the sender cannot be identified.

        Raises:
            UsageError: a fact has another type, or a text that is no name.
            StoreError: the links could not be read.
        """
        opened = self._opened()
        speaker = _who(opened, facts)
        if isinstance(speaker, Refused) or not isinstance(speaker.user, str):
            return speaker
        scope = await opened.links.resolved(speaker.scope)
        return replace(speaker, user=scope.name)

    async def session_of(self, facts: Facts, *, ephemeral: bool = False) -> Session:
        """Open or resume the session of the one who is speaking. Call it for each message: a key can be shared.

        In a room, the next call for the session (`after_reply`, `command`, `save_fact`) is this sender's.

        ephemeral: as in `start_session`.

        Raises:
            RefusedError: the sender cannot be identified.
            UsageError: a fact has another type, or a text that is no name.
            StoreError: the session could not be opened.
        """
        speaker = _who(self._opened(), facts)
        if isinstance(speaker, Refused):
            log.warning("speaker.refused", reason=speaker.reason)
            raise RefusedError(speaker.reason)
        session = await self.start_session(facts.key, ephemeral=ephemeral, **speaker.whose)
        key = ""
        if session.scope.kind.is_shared:
            key = await self._sender_key(facts)
        if facts.sender_name or facts.chat_title:
            session.called = Called(shown_name(facts.sender_name), shown_name(facts.chat_title))
        session.sender = sender_of(key, facts.sender_name) if key else Sender()  # at last: the next call takes it
        return session

    async def _sender_key(self, facts: Facts) -> str:
        """Return whose words a message in a room is: by links one person on all channels."""
        opened = self._opened()
        key = sender_in_room(facts, opened.runtime.settings_of(facts.key).identity)
        if not key:
            return f"{UNVERIFIED}{shown_name(facts.sender_name)}"
        with suppress(StoreError):  # then by the channel alone
            return (await opened.links.resolved(Scope.parse(key))).key
        return key

    async def open_sessions(self, key: str) -> list[Session]:
        """Return the open sessions of a key in every scope, also those that an earlier process left open.

        A host that knows only the key of a session that ends, or whose context is compacted, calls this.

        Raises:
            UsageError: the key is empty.
            StoreError: the sessions could not be read or resumed.
        """
        opened = self._opened()
        key = _check_key(key)
        sessions: list[Session] = []
        for scope, joined in await opened.storage.sessions.open_scopes(key):
            session = opened.sessions.get(key, Scope.parse(scope), joined=Scope.parse_all(joined))
            await opened.starter.start(session)
            sessions.append(session)
        return sessions

    async def opening(self, session: Session) -> str:
        """Return the opening of a session, made anew if its scope has changed.

        In an ephemeral session, the next `before_reply` injects nothing that this text has. In any other session, put
        this text in the place of the earlier opening; what was injected since is not in it.

        Raises:
            StoreError: the session could not be started.
        """
        return await self._opened(session).starter.opening(session)


def _check_key(key: str) -> str:
    """Return a session key without secrets. Raises UsageError: it is none."""
    if not is_name(key):
        raise UsageError(
            f"key={shortened(key)}: expected a session key that is not empty, of at most {LONGEST_NAME} bytes in UTF-8"
        )
    return without_secrets(key)


def _who(opened: OpenMemory, facts: Facts) -> Speaker | Refused:
    """Return who is speaking before links, by the settings of the agent that the key names."""
    key = getattr(facts, "key", "")
    return who(facts, opened.runtime.settings_of(key if is_name(key) else "").identity)
