"""The calls of a conversation: who speaks, start, before and after each reply, observations, and end."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Final, Unpack

from extractor import spoken
from gateway_memory.calls.calls import Calls, only_our_errors
from gateway_memory.capture.requests import Request, request_in
from gateway_memory.context.builder import Context, with_notice
from gateway_memory.edge.content import (
    Content,
    as_query,
    instant_of,
    is_untrusted,
    milliseconds_of,
    text_of,
    texts_of,
    well_formed,
)
from gateway_memory.edge.session_key import without_secrets
from gateway_memory.errors import RefusedError, StoreError, UsageError, place_of
from gateway_memory.ground.logs import get_logger
from gateway_memory.identity import Facts, Refused, Speaker, sender_in_room, who
from gateway_memory.scope import LONGEST_NAME, Scope, Whose, is_name, named_in, resolve_scopes, shortened
from gateway_memory.sessions.session import FEATURES, Called, Position, Session, Who
from gateway_memory.store.journal.names import shown_name
from gateway_memory.store.journal.sessions import End
from gateway_memory.store.journal.speakers import UNVERIFIED, Sender, sender_of
from gateway_memory.store.report import OF_SESSION, ReplyReport, Requested
from gateway_memory.wiring import OpenMemory

log = get_logger(__name__)


_VISIT_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.25
_START_SECONDS: Final = 10.0
_RULES_SECONDS: Final = 1.0
"""How long an edited message waits for the rules to have read what it replaces."""


@only_our_errors
class ConversationCalls(Calls):
    """Calls that a gateway makes during a conversation."""

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

    async def before_reply(self, session: Session, message: Content | None, *, at: datetime | None = None) -> Context:
        """Return the context to add to the prompt of this reply, within `timeoutMs`.

        A part that fails is left out and logged.

        message: a string, or content parts as in the OpenAI and Anthropic APIs; only their text is
        used. None is the empty message. Other calls accept text in the same forms.
        at: the time of the message (aware); by default, now.

        Raises:
            UsageError: `message` is not text, or `at` is not a valid time.
        """
        opened = self._opened(session)
        query = as_query(spoken(text_of(message, "message")), session.secrets_asked)
        at = opened.runtime.clock() if at is None else at
        instant_of(at)
        timeout = session.settings.auto_recall.timeout_ms / 1000
        deadline = asyncio.get_running_loop().time() + timeout
        with self.metrics.timed("before_reply"):
            if session.on("autoExtract"):
                self.metrics.message_seen(opened.runtime.clock())
            try:
                context = await _context(opened, session, query.text, at, deadline)
            except Exception as error:  # noqa: BLE001 - a reply matters more than its context
                log.error("context.failed", error=type(error).__name__, place=place_of(error))
                opened.runtime.on_error("context", error)
                context = Context()
            context = with_notice(context, session, query)
        session.receive(query.text)
        session.asked = (query.text, context.request)
        if context.report is None and context.outcome == "timeout":
            context = replace(context, report=ReplyReport(outcome="timeout", milliseconds={"total": 1000 * timeout}))
        session.recalled, session.report = tuple(hit.id for hit in context.recalled), context.report
        session.in_context.opens_reply = False  # an ephemeral opening is not part of the next reply
        return context

    async def after_reply(
        self,
        session: Session,
        *,
        user: Content | None,
        reply: Content | None,
        at: datetime | None = None,
        turn_id: str = "",
        provenance: str = "",
        sender: str = "",
        sender_name: str = "",
        replaces: Sequence[str] = (),
    ) -> int:
        """Accept a turn. It is durable when this returns, and is processed in the background.

        user, reply: the texts of the turn, as in `before_reply`. A part with a `provenance` of its own that is not the
        user's is left out, as the output of tools is.
        at: the time of the turn (aware); by default, now.
        turn_id: the host's own id of the turn. Two calls with the same id under one session key store one turn. Another
        reply to the same words takes the place of the first, unless it is empty: it was made again.
        provenance: whose words `user` are: "", "user" or "external_user" for the user's own. Anything else ("tool",
        "web", "inter_session") says that they are not. It is not stored as a turn: nothing is extracted from it, it is
        never quoted, and its requests are ignored. Its text, without instructions, becomes an observation of a tool of
        that name. The call returns 0.

        sender, sender_name: in a room, who speaks: an id that stays, and what others call them. By default, the sender
        of the facts by which `session_of` returned the session; a name alone is its own id.

        replaces: the `turn_id` of each turn whose place this one takes, since the user has edited the message. What was
        learnt from those is taken back, they are not quoted any more, and `/memory undo` brings them back.

        What a host puts into a person's turn is cut: stamps, envelopes, runtime context, quoted replies. A turn in
        which the host alone speaks, such as a heartbeat or a scheduled run, is not kept.

        Returns the number of the turn, from 1, which receipts refer to. 0 says that the turn was not kept: the session
        keeps none, the user asked that it is not, nobody speaks in it, or the database refuses this one. `UNNUMBERED`
        (-1) says that it is kept: it is durable on this machine, and the database gives it its number later. So
        whatever is not 0 was kept.

        Raises:
            StoreError: the turn could not be written, for instance because the disk is full. Nothing was stored.
            UsageError: a text, `at` or `turn_id` is invalid.
        """
        opened = self._opened(session)
        message, answer = text_of(user, "user"), text_of(reply, "reply")
        when = None if at is None else instant_of(at)
        if turn_id and not is_name(turn_id):
            raise UsageError(
                f"turn_id={shortened(turn_id)}: expected visible characters, of at most {LONGEST_NAME} bytes in UTF-8"
            )
        provenance = text_of(provenance, "provenance")
        by = speaking(session, text_of(sender, "sender"), text_of(sender_name, "sender_name"))
        async with session.writing:
            await opened.starter.ready_to_write(session)
            for each in texts_of(replaces, "replaces"):
                if each != turn_id:
                    await _take_back(opened, session, each)
            if is_untrusted(provenance):
                return await opened.intake.keep_untrusted(session, message, provenance, identity=turn_id)
            said, answer = await opened.intake.heard(message, answer)
            if (message.strip() and not said) or not await _kept_as_asked(opened, session, said):
                return 0
            return await opened.intake.accept_turn(session, said, answer, at=when, turn_id=turn_id, sender=by)

    async def observe(
        self,
        session: Session,
        *,
        kind: str,
        content: Content | None,
        tool: str | None = "",
        private: bool = False,
        id: str = "",  # noqa: A002 - the host's name for it
    ) -> None:
        """Store an observation in the session's log, shortened according to its kind.

        kind: user, assistant, tool, decision, error, todo, or a kind of the host's own.
        content: a text, or a tool's output, which may be JSON.
        tool: the name of the tool.
        private: store the observation without its content.
        id: the host's own id. Two calls with the same id under one session key store one observation, for seven days.

        Raises:
            UsageError: an argument is not text.
            StoreError: the observation could not be written.
        """
        opened = self._opened(session)
        kind, tool = text_of(kind, "kind"), text_of(tool, "tool")
        content = text_of(content, "content", tools=True)
        if id and not is_name(id):
            raise UsageError(f"id={id!r}: expected a string of visible characters")
        if not session.on("observations"):
            return
        async with session.writing:
            await opened.starter.ready_to_write(session)
            if session.on("observations"):  # another process may have switched it off meanwhile
                await opened.intake.keep_observation(session, kind, content, tool, private=private, identity=id)

    async def file_written(self, session: Session, file: str) -> None:
        """Report that the host's own tool changed a memory file in this session, so that other sessions are notified.

        file: relative to the session's folder ("MEMORY.md", "memory/2026-11-21.md"), or absolute inside it.

        Raises:
            UsageError: `file` is not a Markdown file inside the session's folder, or the memory has no workspace.
            StoreError: the file could not be read.
        """
        opened = self._opened(session)
        if not is_name(file) or "\0" in file or well_formed(file) != file:
            raise UsageError(f"file={file!r}: expected the name of a file")
        folder = (self.workspace / session.scope.folder).resolve()
        path = (folder / file).resolve()
        if not path.is_relative_to(folder) or path.suffix != ".md":
            raise UsageError(f"file={file!r}: expected MEMORY.md or memory/….md inside {folder}")
        await opened.starter.start(session)
        if session.incognito:  # the other sessions see an edit without a source
            return
        name = path.relative_to(folder).as_posix()
        await opened.storage.follower.refresh(session.scope, file=name, source=session.key)  # notifies the others too
        known = session.positions.get(session.scope.key, Position())
        _, rows = await opened.storage.recaller.added_since(session.scope.key, known.revision or 0)
        session.in_context.add([(row.entry.id, row.entry.text) for row in rows if row.file == name])

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


def speaking(session: Session, sender: str, name: str) -> Sender:
    """Return who speaks in a session: whom a call names, else the sender of the facts that returned the session."""
    return sender_of(sender or f"{UNVERIFIED}{shown_name(name)}", name) if sender or name else session.sender


def _check_key(key: str) -> str:
    """Return a session key without secrets. Raises UsageError: it is none."""
    if not is_name(key):
        raise UsageError(
            f"key={shortened(key)}: expected a session key that is not empty, of at most {LONGEST_NAME} bytes in UTF-8"
        )
    return without_secrets(key)


async def _context(opened: OpenMemory, session: Session, message: str, at: datetime, deadline: float) -> Context:
    linked = session.who.origin != session.scope  # another process may have ended the link
    if not session.is_open or session.starting.locked() or linked:
        left = deadline - asyncio.get_running_loop().time()
        begin = opened.starter.ready_to_write(session) if linked else opened.starter.start(session)
        if not await opened.builder.runner.completes("begin", left, begin):
            return Context(outcome="timeout" if session.on("autoRecall") else "disabled")
    deliver_pending = True
    # the person whom they are about may have been deleted since
    if opened.storage.wait_notified is not None and len(session.pending.inbox):
        left = min(deadline - asyncio.get_running_loop().time(), _LOOK_SECONDS)
        look = opened.starter.start_if_deleted(session)
        deliver_pending = await opened.builder.runner.completes("deleted", left, look)
    return await opened.builder.build(session, message, at, deadline, deliver_pending=deliver_pending)


async def _take_back(opened: OpenMemory, session: Session, turn_id: str) -> None:
    """Take back a turn of a session in whose place another one stands. The new one is kept, whatever fails here."""
    try:
        turn = await opened.storage.turns.number_of(session.scope.key, session.key, turn_id)
        if turn > 0:
            await opened.processor.caught_up(session.session_id, _RULES_SECONDS)
            await opened.changes.forgetter.replaced(session.scope, turn)
    except StoreError as error:
        log.warning("turn.not_replaced", error=type(error).__name__)
        opened.runtime.on_error("replaced", error)


async def _kept_as_asked(opened: OpenMemory, session: Session, message: str) -> bool:
    """Carry out what a message asks of the session, and return whether its turn is kept.

    The user may ask not to note it, to note nothing more, or to go on.
    """
    text = as_query(message).text
    request: Request | Requested | None = session.asked[1] if session.asked[0] == text else None
    if session.asked[0] != text:  # there was no `before_reply`
        request = await request_in(opened.storage.recaller, text)
    session.asked = ("", None)
    if request is None or not request.sure or request.act not in OF_SESSION:
        return True
    if request.act == "not_note":
        return False
    if request.act == "resume":
        session.switches.clear()
    else:
        session.switches.set(FEATURES, on=False)
    await opened.starter.switched(session)
    return request.act == "resume"


def _who(opened: OpenMemory, facts: Facts) -> Speaker | Refused:
    """Return who is speaking before links, by the settings of the agent that the key names."""
    key = getattr(facts, "key", "")
    return who(facts, opened.runtime.settings_of(key if is_name(key) else "").identity)
