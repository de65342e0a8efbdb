"""GatewayMemory: the lifecycle, and the calls that a gateway makes."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, get_args

from gateway_memory.capture.accept import Accepting
from gateway_memory.capture.distiller import Distilled
from gateway_memory.capture.masked import masked_block
from gateway_memory.capture.reader import Extract
from gateway_memory.commands.answers import Answer, NotDone
from gateway_memory.commands.dispatch import Commands
from gateway_memory.commands.ports import CommandPorts
from gateway_memory.commands.search import as_filter
from gateway_memory.config.settings import Config
from gateway_memory.context.builder import Context, as_query
from gateway_memory.edge.content import (
    Content,
    count_of,
    instant_of,
    milliseconds_of,
    share_of,
    text_of,
    texts_of,
    well_formed,
)
from gateway_memory.edge.translation import only_our_errors
from gateway_memory.errors import ClosedError, UsageError, place_of
from gateway_memory.observability.logger import get_logger
from gateway_memory.observability.metrics import Metrics
from gateway_memory.scope import Owner, is_name, resolve_scope
from gateway_memory.session import Session, without_secrets
from gateway_memory.sessions.registry import Sessions
from gateway_memory.sessions.starter import Beginning
from gateway_memory.store.journal.session_state import End, find
from gateway_memory.store.markdown import MemoryType
from gateway_memory.store.plan import Receipt
from gateway_memory.wiring import open_parts
from notifier import Channel, Subscription
from recall import Hit, RecallError

__all__ = ["GatewayMemory"]

log = get_logger(__name__)

_EMBED_SECONDS: Final = 60.0
_VISIT_SECONDS: Final = 10.0


@only_our_errors
class GatewayMemory:
    """The memory of one workspace, on one event loop: `async with GatewayMemory(config, workspace="…") as memory`.

    config: what `load_config` returns. workspace: the folder of the Markdown files, made where there is none. agent:
    whose overrides in `agents.list` hold for sessions whose key names no agent. clock: what time it is (aware).
    extract: the debounced stage's model. channels: who hears of changes beside the sessions and MQTT.

    Raises, when it is entered:
        WorkspaceError: the folder can't be made, read or written.
        JournalDamagedError: journal.sqlite was damaged; it was set aside, so that the next start works.
        SchemaFromFutureError: a newer version has written the journal.

    Any call raises StoreError where something can't be read or written, and works again once it can.
    """

    def __init__(
        self,
        config: Config,
        workspace: str | Path,
        *,
        agent: str = "main",
        clock: Callable[[], datetime] = lambda: datetime.now().astimezone(),
        extract: Extract | None = None,
        channels: Sequence[Channel] = (),
    ) -> None:
        self.config = config
        self.workspace = Path(workspace).expanduser().absolute()
        self.agent = agent
        self.metrics = Metrics()
        self.settings = config.for_agent(agent)
        self.zone = self.settings.zone()
        self._clock = clock
        self._extract = extract
        self._channels = channels
        self._sessions = Sessions(config, agent)
        self._stack: AsyncExitStack | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __aenter__(self) -> Self:
        if self._stack is not None:
            raise UsageError("this memory is open already")
        async with AsyncExitStack() as stack:
            self._loop = asyncio.get_running_loop()
            parts = await open_parts(
                stack,
                workspace=self.workspace,
                settings=self.settings,
                zone=self.zone,
                sessions=self._sessions,
                metrics=self.metrics,
                clock=self._clock,
                fail=self._fail,
                extract=self._extract,
                channels=self._channels,
            )
            self._bus, self._worker, self._notifier = parts.bus, parts.worker, parts.notifier
            self._beginning = Beginning(parts, self._sessions, self._clock)
            self._accepting = Accepting(
                journal=parts.journal,
                worker=parts.worker,
                retention=parts.retention,
                workspace=self.workspace,
                metrics=self.metrics,
                clock=self._clock,
                fail=self._fail,
            )
            self._journal, self._ledger = parts.journal, parts.ledger
            self._recaller = parts.recaller
            self._follower, self._context = parts.follower, parts.context
            self._commands = Commands(
                CommandPorts(
                    memory=self,
                    edits=parts.ingest,
                    index=parts.recaller,
                    journal=parts.journal,
                    ledger=parts.ledger,
                    refresh=parts.follower.refresh,
                    edited_since=parts.journal.event_log.edited_since,
                    caught_up=parts.worker.caught_up,
                    switched=self._beginning.switched,
                    waiting=parts.bus.waiting,
                    notifier=lambda: parts.notifier.status() if parts.notifier else None,
                )
            )
            self._saver, self._lifecycle, self._retention = parts.saver, parts.lifecycle, parts.retention
            self._distiller = parts.distiller
            self.importer, self.exporter = parts.importer, parts.exporter
            await self._lifecycle.close_abandoned(starting=True)
            self._stack = stack.pop_all()
        log.info("memory.open", slot=parts.slot.number)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stack, self._stack = self._stack, None
        if stack:
            try:
                await stack.aclose()
            finally:
                self._bus.close()
            log.info("memory.closed")

    def _check(self, *sessions: object) -> None:
        if self._stack is None:
            raise ClosedError("this memory is closed: use it inside `async with GatewayMemory(…)`")
        if asyncio.get_running_loop() is not self._loop:
            raise ClosedError("this memory lives on another event loop: call it from the loop that opened it")
        for session in sessions:
            if not isinstance(session, Session):
                message = f"session is of type {type(session).__name__}: expected what start_session returned"
                raise UsageError(message)
            if session.memory is not self:
                message = f"{session!r} does not belong to this memory: take the session that start_session returned"
                raise UsageError(message)

    # The calls of a gateway

    async def start_session(self, key: str, *, user: Owner | str | None = None, room: str | None = None) -> Session:
        """Open a session, or resume the key's open one.

        Exactly one of `user=OWNER`, `user="name"` and `room="name"` says whose it is.
        """
        self._check()
        if not is_name(key):
            raise UsageError(f"key={key!r}: expected a session key that is not empty")
        scope = resolve_scope(user=user, room=room)
        key = without_secrets(key)
        session = self._sessions.get(key, scope, memory=self)
        try:
            await self._beginning.begin(session)
        except BaseException:
            self._sessions.forget(session)
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
        self._check()
        unknown = f"session {session_id!r}: this memory knows no such session; take the id from its prompt"
        if not is_name(session_id):
            raise UsageError(unknown)
        found = await self._journal.transact(lambda database: find(database, session_id))
        if found is None:
            raise UsageError(unknown)
        if found.ended:
            raise UsageError(f"session {session_id!r} has ended; nothing more is saved of it")
        if (user, room) != (None, None) and resolve_scope(user=user, room=room).key != found.scope:
            raise UsageError(
                f"session {session_id!r} belongs to somebody else; leave the name out, or name whose it is"
            )
        scope = self._sessions.scope_of(found.scope)
        return self._sessions.beside(found.key, scope, session_id=session_id, memory=self, switches=found.switches)

    async def visit(self, *, user: Owner | str | None = None, room: str | None = None) -> Session:
        """Return a session for commands from outside of any conversation, such as a shell's; it leaves no record."""
        self._check()
        scope = resolve_scope(user=user, room=room)
        await self._context.within.get("sync", _VISIT_SECONDS, self._follower.refresh(scope))
        return self._sessions.beside(f"agent:{self.agent}:shell", scope, session_id="shell", memory=self)

    def rule_text(self, session: Session, *, chinese: bool | None = None) -> str:
        """Return the rule for the prompt of a session's agent: how it saves by our commands, complete as they stand.

        chinese: by default, what the user writes.
        """
        self._check(session)
        chinese = session.language == "zh" if chinese is None else chinese
        return self._lifecycle.prompts_for(session.key).rule(session.session_id, chinese=chinese)

    async def before_reply(self, session: Session, message: Content | None, *, at: datetime | None = None) -> Context:
        """Return what to add to this reply's prompt, within `timeoutMs`. A part that fails is left out, and logged.

        message: a string, or content parts as OpenAI's and Anthropic's APIs have them, of which the text counts; None
        says nothing. So it is wherever a text is handed over.

        Raises:
            UsageError: the message is no text, or `at` no time.
        """
        self._check(session)
        said = as_query(text_of(message, "message"))
        at = self._clock() if at is None else at
        instant_of(at)
        deadline = asyncio.get_running_loop().time() + session.settings.auto_recall.timeout_ms / 1000
        with self.metrics.timed("before_reply"):
            if session.on("autoExtract"):
                self.metrics.message_seen(self._clock())
            try:
                context = await self._told(session, said.text, at, deadline)
            except Exception as error:  # noqa: BLE001 - the reply matters more than its memory
                log.error("context.failed", error=type(error).__name__, place=place_of(error))
                self._fail("context", error)
                context = Context()
            if session.on("autoExtract") and (notice := masked_block(said)):
                context = replace(context, text=f"{context.text}\n\n{notice}".strip())
        session.hears(said.text)
        session.recalled = tuple(hit.id for hit in context.recalled)
        return context

    async def _told(self, session: Session, message: str, at: datetime, deadline: float) -> Context:
        if session.ended or session.starting.locked():
            left = deadline - asyncio.get_running_loop().time()
            if not await self._context.within.done("begin", left, self._beginning.begin(session)):
                return Context(outcome="timeout")
        return await self._context.build(session, message, at, deadline)

    async def after_reply(
        self, session: Session, *, user: Content | None, reply: Content | None, at: datetime | None = None
    ) -> int:
        """Accept a turn: it is on disk when this returns, and is processed behind.

        Returns the turn's number, by which receipts name it; 0 where the session's turns are not kept.

        Raises:
            StoreError: the turn could not be written (the disk is full, say); nothing of it was kept.
            UsageError: the turn is no text, or `at` no time.
        """
        self._check(session)
        said, answered = text_of(user, "user"), text_of(reply, "reply")
        when = None if at is None else instant_of(at)
        async with session.accepting:
            await self._beginning.begin_to_keep(session)
            return await self._accepting.turn(session, said, answered, when)

    async def flush(self) -> None:
        """Process everything that waits, now, and wait until it can be found by meaning too.

        Raises:
            StoreError: something could not be written; it waits on in the journal.
        """
        self._check()
        await self._worker.flush()
        await self._retention.keep()
        try:
            async with asyncio.timeout(_EMBED_SECONDS):
                await self._recaller.embedded()
        except (TimeoutError, RecallError) as error:
            log.warning("memory.flush_without_vectors", error=type(error).__name__)

    async def search(
        self,
        session: Session,
        query: Content | None,
        *,
        limit: int = 5,
        type: str | None = None,  # noqa: A002 - W, B or O, as the files call it
        category: str | None = None,
        since: date | str | None = None,
        until: date | str | None = None,
        session_key: str | None = None,
        explain: bool = False,
    ) -> tuple[Hit, ...]:
        """Return the memories that have to do with a query, best first: for a model's tool; none where it is incognito.

        A hit whose score is below `minScore` is weak; a memory that has nothing in common with the query is none.
        Without a query, the newest that the filters let through, with a score of 1.

        category: preference, decision, fact or instruction. since, until: the first and the last day (a date,
        "2026-10-01", or a time).
        session_key: of the session that it was said in. explain: `parts` of the hits tell what makes their rank.

        Raises:
            UsageError: there is no such type or day, or the limit is below 1.
        """
        self._check(session)
        only = as_filter(
            type=type,
            category=category,
            since=since,
            until=until,
            session_key=without_secrets(session_key) if session_key else session_key,
            zone=self.zone,
        )
        limit, asked = count_of(limit, "limit"), as_query(text_of(query, "query")).text
        await self._beginning.begin(session)
        if session.incognito:  # a query may go to a server that makes its vector
            return ()
        return await self._context.find(session, asked, limit, self._clock(), only=only, explain=explain)

    async def command(self, session: Session, text: Content | None) -> str | None:
        """Answer a `/memory …` command in the user's language; None where the text is none.

        Raises:
            StoreError: what is commanded could not be written.
            UsageError: the text is none at all.
        """
        answer = await self.answer(session, text)
        return None if answer is None else answer.text

    async def answer(self, session: Session, text: Content | None) -> Answer | None:
        """Answer as `command` does, and say whether what was asked is done."""
        self._check(session)
        said = text_of(text, "text")
        return await self._commands.answer(session, said) if session.settings.commands.enabled else None

    async def record(self, session: Session, command: str, rest: str = "") -> dict[str, Any]:
        """Return what `status`, `list`, `search`, `history` or `receipts` tells as what JSON can hold.

        rest: what a person would write behind the command's name.

        Raises:
            UsageError: there is no such command or memory.
        """
        self._check(session)
        try:
            return await self._commands.record(session, text_of(command, "command"), text_of(rest, "rest"))
        except NotDone as answer:
            raise UsageError(str(answer)) from None

    async def observe(
        self, session: Session, *, kind: str, content: Content | None, tool: str | None = "", private: bool = False
    ) -> None:
        """Keep what happened in a session in its log, clipped by what it is; a private observation has no content.

        kind: user, assistant, tool, decision, error, todo, or the host's own. content: a tool's output, also as JSON.

        Raises:
            UsageError: one of them is no text.
        """
        self._check(session)
        kind, tool = text_of(kind, "kind"), text_of(tool, "tool")
        content = text_of(content, "content", tools=True)
        if not session.on("observations"):
            return
        async with session.accepting:
            await self._beginning.begin_to_keep(session)
            if session.on("observations"):  # another process may have heard that it is not
                await self._accepting.observation(session, kind, content, tool, private=private)

    async def file_written(self, session: Session, file: str) -> None:
        """Say that the host's own tool changed a memory file for this session: the other sessions are told.

        `file` is relative to the session's folder ("MEMORY.md", "memory/2026-11-21.md"), or absolute inside it.
        """
        self._check(session)
        if not is_name(file) or "\0" in file or well_formed(file) != file:
            raise UsageError(f"file={file!r}: expected the name of a file")
        folder = (self.workspace / session.scope.folder).resolve()
        path = (folder / file).resolve()
        if not path.is_relative_to(folder) or path.suffix != ".md":
            raise UsageError(f"file={file!r}: expected MEMORY.md or memory/….md inside {folder}")
        await self._beginning.begin(session)
        if session.incognito:  # the others find the change as an edit of nobody's
            return
        name = path.relative_to(folder).as_posix()
        await self._follower.refresh(session.scope, file=name, source=session.key)  # which tells the others
        _, rows = await self._recaller.added_since(session.scope.key, session.revision or 0)
        session.hold([(row.entry.id, row.entry.text) for row in rows if row.file == name])

    async def save_summary(
        self,
        session: Session,
        *,
        topic: Content | None,
        summary: Content | None,
        decisions: Sequence[str] | None = (),
        todos: Sequence[str] | None = (),
    ) -> bool:
        """Save the session's one record in the agent's own words.

        False where it has one already, and where nothing of it may be kept: after the user's `/memory off`.
        """
        self._check(session)
        topic, summary = text_of(topic, "topic"), text_of(summary, "summary")
        decided, left = texts_of(decisions, "decisions"), texts_of(todos, "todos")
        await self._beginning.begin_to_keep(session)
        return await self._saver.save_summary(session, topic=topic, summary=summary, decisions=decided, todos=left)

    async def save_fact(
        self,
        session: Session,
        *,
        content: Content | None,
        type: MemoryType = "W",  # noqa: A002 - W, B, O, S, as the files call it
        entities: Sequence[str] | None = (),
        confidence: float = 0.9,
    ) -> str:
        """Keep a fact that the agent names (S: a stage summary); return its id.

        "" where nothing of it may be kept: it is private as a whole, or addresses the machine, or gives a guest's
        standing instruction, or the user has said `/memory off`.

        Raises:
            UsageError: there is no such type, the confidence is not from 0 to 1, or something is no text.
        """
        self._check(session)
        if type not in get_args(MemoryType):
            raise UsageError(f"type={type!r}: expected W, B, O or S")
        confidence = share_of(confidence, "confidence")
        text, named = text_of(content, "content"), texts_of(entities, "entities")
        await self._beginning.begin_to_keep(session)
        outcome = await self._saver.save_fact(session, content=text, type=type, entities=named, confidence=confidence)
        return outcome.id if outcome else ""

    async def before_compaction(self, session: Session, *, usage: float, messages: int) -> str:
        """Keep a stage summary before a context is compacted; return the prompt for an agent that can save, or "".

        usage: percent of the context; messages: how many it holds. Within some seconds. What the session was shown may
        be injected again from now on; a host that compacts later, after further replies, says so when it has:
        `session.compacted()`.
        """
        self._check(session)
        await self._beginning.begin_to_keep(session)
        session.compacted()
        return await self._lifecycle.before_compaction(session, usage=usage, messages=messages)

    async def stop(self, session: Session, status: str) -> str:
        """Return what to ask the agent when it stops, or "": once a session, and only where nothing of it is saved.

        status: "completed" or "aborted"; with any other nothing is asked.
        """
        self._check(session)
        return "" if session.ended else await self._lifecycle.stop(session, status)

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
        self._check(session)
        end = End.of(
            reason=text_of(reason, "reason"),
            error="" if session.incognito else text_of(error, "error"),
            duration_ms=None if duration_ms is None else milliseconds_of(duration_ms, "duration_ms"),
        )
        if (session.ended and not session.ending) or self._sessions.is_resumed(session):
            return
        session_id = session.session_id
        session.ended = session.ending = True
        self._sessions.closed(session)
        self._bus.unsubscribe(session_id)
        async with session.accepting:  # what is being kept belongs to it
            pass
        await self._lifecycle.end(session_id, session.scope, session.key, end)
        session.ending = False
        self._retention.look()

    def changes(
        self,
        session: Session | None = None,
        *,
        user: Owner | str | None = None,
        room: str | None = None,
        max_waiting: int = 1000,
    ) -> Subscription:
        """Return the changes of one scope from now on: `async for change in memory.changes(session)`.

        The scope is that of the session, or of `user` or `room` as for `start_session`. A change has `id`, `text`,
        `action` ("added" or "removed"), `source` (the key of the session that caused it) and what it `replaces`; what
        the sessions hear is told, their own words too. At most `max_waiting` wait to be taken: past them the oldest is
        dropped, and counted in `dropped`. It ends when this memory closes, or by its `close()`.

        Raises:
            UsageError: not exactly one scope is named.
        """
        self._check(*([] if session is None else [session]))
        if session is not None and (user is not None or room is not None):
            raise UsageError("changes of a session, or of user=… or room=…: expected only one of them")
        scope = session.scope if session is not None else resolve_scope(user=user, room=room)
        return self._bus.changes(scope.key, count_of(max_waiting, "max_waiting"))

    async def distill(self, session: Session, *, dry_run: bool = False) -> list[Distilled]:
        """Move the facts of the session's scope that have earned it up to MEMORY.md now; return them, with why.

        dry_run: only return them. Session ends do this by themselves while `distill.enabled`.
        """
        self._check(session)
        await self._beginning.begin(session)
        return await self._distiller.run(session.scope, session.settings.distill, dry_run=dry_run)

    async def session_counts(self) -> dict[str, int]:
        """Return how the workspace's sessions ended and which layer saved them: see `session_state.counts`."""
        self._check()
        return await self._lifecycle.counts()

    async def retry(self) -> tuple[int, int]:
        """Have the turns read again on which the model failed, and wait for it.

        Returns how many they were, and on how many it failed again.
        """
        self._check()
        waiting = await self._ledger.failed()
        if waiting:
            await self._ledger.retry()
            await self.flush()
        return waiting, await self._ledger.failed()

    async def receipts(self, *, limit: int, after: int = 0) -> list[Receipt]:
        """Return what became of turns: the newest receipts with a number above `after`, newest first."""
        self._check()
        return await self._ledger.receipts(limit=count_of(limit, "limit"), after=after)

    def now(self) -> datetime:
        """Return what time it is, by the clock that was given."""
        return self._clock()

    # Within

    def _fail(self, place: str, error: BaseException) -> None:
        self.metrics.fail(self._clock(), place, error)
