"""The calls about a turn: before and after the reply, what else happens in it, and that all turns are processed."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from extractor import spoken
from gateway_memory.calls.calls import only_our_errors
from gateway_memory.calls.sessions import SessionCalls
from gateway_memory.capture.requests import Request, request_in
from gateway_memory.context.builder import Context, with_notice
from gateway_memory.edge.content import Content, as_query, instant_of, is_untrusted, text_of, texts_of, well_formed
from gateway_memory.errors import StoreError, UsageError, place_of
from gateway_memory.ground.logs import get_logger
from gateway_memory.scope import LONGEST_NAME, is_name, shortened
from gateway_memory.sessions.session import FEATURES, Position, Session
from gateway_memory.store.journal.names import shown_name
from gateway_memory.store.journal.speakers import UNVERIFIED, Sender, sender_of
from gateway_memory.store.report import OF_SESSION, ReplyReport, Requested
from gateway_memory.wiring import OpenMemory
from recall import RecallError

log = get_logger(__name__)

_LOOK_SECONDS: Final = 0.25
_RULES_SECONDS: Final = 1.0
"""How long an edited message waits for the rules to have read what it replaces."""
_EMBED_SECONDS: Final = 60.0


@only_our_errors
class TurnCalls(SessionCalls):
    """Calls that a gateway makes for each message, and those that wait until what was said is processed."""

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

    async def flush(self) -> None:
        """Process all waiting turns now, complete the ends of sessions, and wait until search by meaning finds them.

        Raises:
            StoreError: something could not be written. It stays in the journal and is retried.
        """
        opened = self._opened()
        await opened.lifecycle.completed()
        await opened.processor.flush()
        await opened.retention.keep()
        try:
            async with asyncio.timeout(_EMBED_SECONDS):
                await opened.storage.episode_follower.finish()
                await opened.storage.recaller.embedded()
        except (TimeoutError, RecallError) as error:
            log.warning("memory.flush_without_vectors", error=type(error).__name__)

    async def retry(self) -> tuple[int, int]:
        """Process the turns again on which the model failed, and wait for the result.

        Returns the number of those turns, and the number on which the model failed again.

        Raises:
            StoreError: something could not be written.
        """
        opened = self._opened()
        waiting = await opened.storage.turns.failed()
        if waiting:
            await opened.storage.turns.retry()
            await self.flush()
        return waiting, await opened.storage.turns.failed()


def speaking(session: Session, sender: str, name: str) -> Sender:
    """Return who speaks in a session: whom a call names, else the sender of the facts that returned the session."""
    return sender_of(sender or f"{UNVERIFIED}{shown_name(name)}", name) if sender or name else session.sender


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
