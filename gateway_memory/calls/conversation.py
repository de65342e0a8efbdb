"""The calls of a conversation: its start, before and after each reply, what happens in it, and its end."""

import asyncio
from dataclasses import replace
from datetime import datetime
from typing import Final

from gateway_memory.calls.opened import Opened
from gateway_memory.calls.translation import only_our_errors
from gateway_memory.capture.masked import masked_block
from gateway_memory.context.builder import Context, as_query
from gateway_memory.edge.content import Content, instant_of, milliseconds_of, text_of, well_formed
from gateway_memory.errors import UsageError, place_of
from gateway_memory.observability.logger import get_logger
from gateway_memory.scope import Owner, is_name, resolve_scope
from gateway_memory.session import Session, without_secrets
from gateway_memory.store.ports.sessions import End
from gateway_memory.wiring import OpenMemory

__all__ = ["ConversationCalls"]

log = get_logger(__name__)

_VISIT_SECONDS: Final = 10.0


@only_our_errors
class ConversationCalls(Opened):
    """What a gateway calls as a conversation goes."""

    async def start_session(self, key: str, *, user: Owner | str | None = None, room: str | None = None) -> Session:
        """Open a session, or resume the key's open one.

        Exactly one of `user=OWNER`, `user="name"` and `room="name"` says whose it is.
        """
        opened = self._opened()
        if not is_name(key):
            raise UsageError(f"key={key!r}: expected a session key that is not empty")
        scope = resolve_scope(user=user, room=room)
        key = without_secrets(key)
        session = opened.sessions.get(key, scope, memory=self)
        try:
            await opened.starter.start(session)
        except BaseException:
            opened.sessions.forget(session)
            raise
        return session

    async def attach_session(
        self, session_id: str, *, user: Owner | str | None = None, room: str | None = None
    ) -> Session:
        """Return the open session of an id, whichever process has it: for what its agent's own tools ask for.

        It is not resumed by this: its process keeps it. user, room: whose it must be; none of both takes whose it is.

        Raises:
            UsageError: there is no such session, it has ended, or it is somebody else's.
        """
        opened = self._opened()
        unknown = f"session {session_id!r}: this memory knows no such session; take the id from its prompt"
        if not is_name(session_id):
            raise UsageError(unknown)
        found = await opened.storage.sessions.find(session_id)
        if found is None:
            raise UsageError(unknown)
        if found.ended:
            raise UsageError(f"session {session_id!r} has ended; nothing more is saved of it")
        if (user, room) != (None, None) and resolve_scope(user=user, room=room).key != found.scope:
            raise UsageError(
                f"session {session_id!r} belongs to somebody else; leave the name out, or name whose it is"
            )
        scope = opened.sessions.scope_of(found.scope)
        return opened.sessions.beside(found.key, scope, session_id=session_id, memory=self, switches=found.switches)

    async def visit(self, *, user: Owner | str | None = None, room: str | None = None) -> Session:
        """Return a session for commands from outside of any conversation, such as a shell's; it leaves no record."""
        opened = self._opened()
        scope = resolve_scope(user=user, room=room)
        await opened.context.runner.run("sync", _VISIT_SECONDS, opened.storage.follower.refresh(scope))
        return opened.sessions.beside(f"agent:{self.agent}:shell", scope, session_id="shell", memory=self)

    def rule_text(self, session: Session, *, chinese: bool | None = None) -> str:
        """Return the rule for the prompt of a session's agent: how it saves by our commands, complete as they stand.

        chinese: by default, what the user writes. "" where no command can reach this memory, since it has no workspace.
        """
        opened = self._opened(session)
        chinese = session.language == "zh" if chinese is None else chinese
        prompts = opened.sessions.prompts(session.key)
        return prompts.rule(session.session_id, chinese=chinese) if prompts else ""

    async def before_reply(self, session: Session, message: Content | None, *, at: datetime | None = None) -> Context:
        """Return what to add to this reply's prompt, within `timeoutMs`. A part that fails is left out, and logged.

        message: a string, or content parts as OpenAI's and Anthropic's APIs have them, of which the text counts; None
        says nothing. So it is wherever a text is handed over.

        Raises:
            UsageError: the message is no text, or `at` no time.
        """
        opened = self._opened(session)
        said = as_query(text_of(message, "message"))
        at = opened.runtime.clock() if at is None else at
        instant_of(at)
        timeout = session.settings.auto_recall.timeout_ms / 1000
        deadline = asyncio.get_running_loop().time() + timeout
        with self.metrics.timed("before_reply"):
            if session.on("autoExtract"):
                self.metrics.message_seen(opened.runtime.clock())
            try:
                context = await _told(opened, session, said.text, at, deadline)
            except Exception as error:  # noqa: BLE001 - the reply matters more than its memory
                log.error("context.failed", error=type(error).__name__, place=place_of(error))
                opened.runtime.on_error("context", error)
                context = Context()
            if session.on("autoExtract") and (notice := masked_block(said)):
                context = replace(context, text=f"{context.text}\n\n{notice}".strip())
        session.hears(said.text)
        session.recalled = tuple(hit.id for hit in context.recalled)
        return context

    async def after_reply(
        self,
        session: Session,
        *,
        user: Content | None,
        reply: Content | None,
        at: datetime | None = None,
        turn_id: str = "",
    ) -> int:
        """Accept a turn: it is on disk when this returns, and is processed behind.

        turn_id: the host's own id of the turn. The same id twice under one session key is one turn.
        Returns the turn's number, by which receipts name it; 0 where the session's turns are not kept.

        Raises:
            StoreError: the turn could not be written (the disk is full, say); nothing of it was kept.
            UsageError: the turn is no text, `at` no time, or `turn_id` no id.
        """
        opened = self._opened(session)
        said, answered = text_of(user, "user"), text_of(reply, "reply")
        when = None if at is None else instant_of(at)
        if turn_id and not is_name(turn_id):
            raise UsageError(f"turn_id={turn_id!r}: expected a string of visible characters")
        async with session.accepting:
            await opened.starter.start_to_keep(session)
            return await opened.intake.accept_turn(session, said, answered, at=when, turn_id=turn_id)

    async def observe(
        self, session: Session, *, kind: str, content: Content | None, tool: str | None = "", private: bool = False
    ) -> None:
        """Keep what happened in a session in its log, clipped by what it is; a private observation has no content.

        kind: user, assistant, tool, decision, error, todo, or the host's own. content: a tool's output, also as JSON.

        Raises:
            UsageError: one of them is no text.
        """
        opened = self._opened(session)
        kind, tool = text_of(kind, "kind"), text_of(tool, "tool")
        content = text_of(content, "content", tools=True)
        if not session.on("observations"):
            return
        async with session.accepting:
            await opened.starter.start_to_keep(session)
            if session.on("observations"):  # another process may have heard that it is not
                await opened.intake.keep_observation(session, kind, content, tool, private=private)

    async def file_written(self, session: Session, file: str) -> None:
        """Say that the host's own tool changed a memory file for this session: the other sessions are told.

        `file` is relative to the session's folder ("MEMORY.md", "memory/2026-11-21.md"), or absolute inside it.
        """
        opened = self._opened(session)
        if not is_name(file) or "\0" in file or well_formed(file) != file:
            raise UsageError(f"file={file!r}: expected the name of a file")
        folder = (self.workspace / session.scope.folder).resolve()
        path = (folder / file).resolve()
        if not path.is_relative_to(folder) or path.suffix != ".md":
            raise UsageError(f"file={file!r}: expected MEMORY.md or memory/….md inside {folder}")
        await opened.starter.start(session)
        if session.incognito:  # the others find the change as an edit of nobody's
            return
        name = path.relative_to(folder).as_posix()
        await opened.storage.follower.refresh(session.scope, file=name, source=session.key)  # which tells the others
        _, rows = await opened.storage.recaller.added_since(session.scope.key, session.revision or 0)
        session.mark_shown([(row.entry.id, row.entry.text) for row in rows if row.file == name])

    async def end_session(
        self, session: Session, *, reason: str, error: Content | None = "", duration_ms: float | None = None
    ) -> None:
        """Close a session, and save its summary unless it is saved; the next message under its key opens a new one.

        reason: completed, aborted, error, window_close, user_close, reset (`/new`), or the host's own. error: what
        went wrong, in the host's words; kept like all text, without secrets, and of an incognito session not at all.
        duration_ms: how long the host says that it lasted, in milliseconds; else it is measured. A second end changes
        nothing; one that was cancelled, or that raised, can be done again. Takes seconds at most, and never raises for
        a summary that could not be made.

        Raises:
            UsageError: one of them is no text, or no duration.
        """
        opened = self._opened(session)
        end = End.of(
            reason=text_of(reason, "reason"),
            error="" if session.incognito else text_of(error, "error"),
            duration_ms=None if duration_ms is None else milliseconds_of(duration_ms, "duration_ms"),
        )
        if (session.ended and not session.ending) or opened.sessions.is_resumed(session):
            return
        session_id = session.session_id
        session.close(ending=True)
        opened.sessions.closed(session)
        opened.bus.unsubscribe(session_id)
        async with session.accepting:  # what is being kept belongs to it
            pass
        await opened.lifecycle.end(session_id, session.scope, session.key, end)
        session.saved()
        opened.retention.look()


async def _told(opened: OpenMemory, session: Session, message: str, at: datetime, deadline: float) -> Context:
    if session.ended or session.starting.locked():
        left = deadline - asyncio.get_running_loop().time()
        if not await opened.context.runner.completes("begin", left, opened.starter.start(session)):
            return Context(outcome="timeout")
    return await opened.context.build(session, message, at, deadline)
