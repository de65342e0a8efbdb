"""GatewayMemory: the lifecycle, and the calls that a gateway makes."""

import asyncio
import os
import secrets
import sqlite3
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import structlog

from extractor import Debouncer, clean
from gateway_memory.commands import Commands
from gateway_memory.context import Context, ContextBuilder
from gateway_memory.errors import ClosedError, StoreError, UsageError, WorkspaceError
from gateway_memory.follow import Follower
from gateway_memory.ingest import Extract, Ingest
from gateway_memory.metrics import Metrics
from gateway_memory.opening import build_opening
from gateway_memory.plan import Memory
from gateway_memory.session import OWNER, Owner, Scope, Session, agent_of, resolve_scope
from gateway_memory.settings import Config, MemorySync
from gateway_memory.store.files import MarkdownFiles
from gateway_memory.store.journal import Journal
from gateway_memory.store.slots import Slot
from gateway_memory.worker import Worker
from notifier import Bus, Change, Event
from recall import Hit, Recaller

__all__ = ["GatewayMemory"]

log = structlog.get_logger()

_STATE_FOLDER: Final = ".gateway-memory"
_GRACE_SECONDS: Final = 5.0
_OPENING_SECONDS: Final = 2.0
_QUERY_LENGTH: Final = 8000
_EMBED_SECONDS: Final = 60.0


class GatewayMemory:
    """The memory of one workspace. Use it as `async with GatewayMemory(config, workspace="…") as memory`, on one event loop.

    config: what `load_config` returns. workspace: the folder of the Markdown files, made where there is none. agent: whose
    overrides in `agents.list` hold for sessions whose key names no agent. clock: what time it is (aware). extract: the
    debounced stage's model.

    Raises, when it is entered:
        WorkspaceError: the folder can't be made, read or written.
        JournalDamagedError: journal.sqlite was damaged; it was set aside, so that the next start works.
        SchemaFromFutureError: a newer version has written the journal.
    """

    def __init__(
        self,
        config: Config,
        workspace: str | Path,
        *,
        agent: str = "main",
        clock: Callable[[], datetime] = lambda: datetime.now().astimezone(),
        extract: Extract | None = None,
    ) -> None:
        self.config = config
        self.workspace = Path(workspace).expanduser().absolute()
        self.agent = agent
        self.metrics = Metrics()
        self.settings = config.for_agent(agent)
        self.zone = self.settings.zone()
        self._clock = clock
        self._extract = extract
        self._sessions: dict[tuple[str, str], Session] = {}
        self._open: dict[str, Session] = {}
        self._scopes: dict[str, Scope] = {}
        self._stack: AsyncExitStack | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._owner_task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if self._stack is not None:
            raise UsageError("this memory is open already")
        async with AsyncExitStack() as stack:
            self._loop = asyncio.get_running_loop()
            state = self.workspace / _STATE_FOLDER
            slot = Slot(state / "slots")
            await asyncio.to_thread(self._prepare, state, slot)
            stack.callback(slot.release)
            self._bus = Bus()
            self._journal = Journal(self.workspace / "journal.sqlite")
            await self._journal.open(slot.number)
            stack.push_async_callback(self._journal.close)
            self._recaller = Recaller(self.workspace / "index.sqlite", self.settings.auto_recall)
            if await self._recaller.open():
                log.info("index.rebuilding")
            stack.push_async_callback(self._recaller.close)
            for file in ("journal.sqlite", "index.sqlite"):
                os.chmod(self.workspace / file, 0o600)
            self._files = MarkdownFiles(self.workspace, state)
            stack.callback(self._files.close)
            self._follower = Follower(files=self._files, journal=self._journal, recaller=self._recaller, zone=self.zone)
            self._context = ContextBuilder(
                follower=self._follower,
                recaller=self._recaller,
                journal=self._journal,
                metrics=self.metrics,
                zone=self.zone,
                fail=self._fail,
            )
            ingest = Ingest(
                files=self._files,
                journal=self._journal,
                recaller=self._recaller,
                follower=self._follower,
                metrics=self.metrics,
                zone=self.zone,
                clock=self._clock,
                settings_of=self._settings_of,
                scope_of=self._scope_of,
                publish=self._bus.publish,
                hold=self._hold,
                extract=self._extract,
            )
            extraction = self.settings.auto_extract
            self._worker = Worker(
                journal=self._journal,
                ingest=ingest,
                recaller=self._recaller,
                slot=slot,
                debouncer=Debouncer(extraction.debounce_seconds, extraction.max_wait_seconds),
                fail=self._fail,
            )
            self._commands = Commands(
                self,
                ingest=ingest,
                journal=self._journal,
                recaller=self._recaller,
                follower=self._follower,
                switched=self._subscribe,
            )
            self._owner_task = asyncio.create_task(self._worker.run(), name="gateway-memory")
            stack.push_async_callback(self._stop)
            await self._journal.tidy(
                observations_before=(self._clock() - timedelta(days=self.settings.observations.keep_days)).timestamp()
            )
            self._stack = stack.pop_all()
        log.info("memory.open", slot=slot.number)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stack, self._stack = self._stack, None
        if stack:
            await stack.aclose()
            log.info("memory.closed")

    def _prepare(self, state: Path, slot: Slot) -> None:
        try:
            state.mkdir(parents=True, exist_ok=True)
            next(self.workspace.iterdir(), None)
            slot.take()
        except OSError as error:
            message = f"{self.workspace}: {error.strerror or error}; gateway-memory must be able to read and write this folder"
            raise WorkspaceError(message) from error

    async def _stop(self) -> None:
        """Finish what is in flight within the grace period; what does not finish is a row, and resumes at the next start."""
        try:
            async with asyncio.timeout(_GRACE_SECONDS):
                await self._worker.flush()
        except Exception as error:  # whatever it was, the turns are rows, and everything still has to be closed
            log.warning("memory.closed_early", error=type(error).__name__)
        task = self._owner_task
        if task:
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled() and (failure := task.exception()):
                log.error("memory.worker_died", exc_info=failure)

    def _check(self, session: Session | None = None) -> None:
        if self._stack is None:
            raise ClosedError("this memory is closed: use it inside `async with GatewayMemory(…)`")
        if asyncio.get_running_loop() is not self._loop:
            raise ClosedError("this memory lives on another event loop: call it from the loop that opened it")
        if session is not None and session.memory is not self:
            raise UsageError(
                f"{session!r} does not belong to this memory: take the session that start_session returned"
            )

    # The calls of a gateway

    async def start_session(self, key: str, *, user: Owner | str | None = None, room: str | None = None) -> Session:
        """Open a session, or resume the key's open one. Exactly one of `user=OWNER`, `user="name"` and `room="name"` says whose it is."""
        self._check()
        if not isinstance(key, str) or not key.strip():
            raise UsageError(f"key={key!r}: expected a session key that is not empty")
        scope = resolve_scope(user=user, room=room)
        self._scopes[scope.key] = scope
        session = self._sessions.get((key, scope.key))
        if session is None:
            session = self._sessions[key, scope.key] = Session(
                key=key, scope=scope, settings=self._settings_of(key), memory=self
            )
        await self._begin(session)
        return session

    async def before_reply(self, session: Session, message: str, *, at: datetime | None = None) -> Context:
        """Return what to add to the prompt of this reply, within `timeoutMs`. A part that fails is left out, and logged."""
        self._check(session)
        await self._begin(session)
        message = _query(message)
        try:
            context = await self._context.build(session, message, at or self._clock())
        except Exception as error:  # the reply matters more than its memory
            log.exception("context.failed")
            self._fail("context", error)
            context = Context()
        session.hears(message)
        return context

    async def after_reply(self, session: Session, *, user: str, reply: str, at: datetime | None = None) -> None:
        """Accept a turn: it is on disk when this returns, and is processed behind.

        Raises:
            StoreError: the turn could not be written (the disk is full, say); nothing of it was kept.
        """
        self._check(session)
        await self._begin(session)
        if not session.on("autoExtract"):
            return
        self.metrics.count("turns.seen")
        if session.type in session.settings.auto_extract.exclude_session_types:
            self.metrics.count("extraction.accept.skipped.session_type")
            return
        now = self._clock()
        said, answered = clean(user), clean(reply)
        try:
            await self._journal.accept(
                scope=session.scope.key,
                session_key=session.key,
                session_id=session.session_id,
                user=said.text,
                reply=answered.text,
                at=(at or now).timestamp(),
                now=now.timestamp(),
            )
        except (OSError, sqlite3.Error) as error:
            self._fail("journal", error)
            raise StoreError(
                f"{self.workspace}: the turn could not be kept ({error}); free some space and send it again"
            ) from error
        self.metrics.count("turns.accepted")
        self._worker.wake()

    async def flush(self) -> None:
        """Process everything that waits, now, and wait until it can be found by meaning too.

        Raises:
            StoreError: something could not be written; it waits on in the journal.
        """
        self._check()
        try:
            await self._worker.flush()
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"{self.workspace}: not everything could be written ({error}); it waits in the journal"
            ) from error
        try:
            async with asyncio.timeout(_EMBED_SECONDS):
                await self._recaller.embedded()
        except TimeoutError:
            log.warning("memory.flush_without_vectors")

    async def search(self, session: Session, query: str, *, limit: int = 5) -> tuple[Hit, ...]:
        """Return the memories nearest to a query in the session's scope, best first, whatever their score: for a model's tool."""
        self._check(session)
        if limit < 1:
            raise UsageError(f"limit={limit}: expected a number from 1")
        await self._begin(session)
        return await self._context.find(session, _query(query), limit, self._clock())

    async def command(self, session: Session, text: str) -> str | None:
        """Answer a `/memory …` command in the user's language; None where the text is none."""
        self._check(session)
        return await self._commands.answer(session, text) if session.settings.commands.enabled else None

    async def observe(
        self, session: Session, *, kind: str, content: str, tool: str = "", private: bool = False
    ) -> None:
        """Keep what happened in a session (a tool call, a decision, an error) in its log; a private observation keeps no content."""
        self._check(session)
        if not session.on("observations"):
            return
        await self._journal.observe(
            scope=session.scope.key,
            session_id=session.session_id,
            kind=kind,
            tool=tool,
            content="" if private else clean(content).text,
            private=private,
            at=self._clock().timestamp(),
        )
        self.metrics.count("observations.kept")

    async def file_written(self, session: Session, file: str) -> None:
        """Say that the host's own tool changed a memory file for this session: it is indexed, and told to the other sessions.

        `file` is relative to the session's folder ("MEMORY.md", "memory/2026-11-21.md"), or absolute inside it.
        """
        self._check(session)
        folder = (self.workspace / session.scope.folder).resolve()
        path = (folder / file).resolve()
        if not path.is_relative_to(folder) or path.suffix != ".md":
            raise UsageError(f"file={file!r}: expected MEMORY.md or memory/….md inside {folder}")
        await self._begin(session)
        name = path.relative_to(folder).as_posix()
        await self._follower.refresh(session.scope)
        _, rows = await self._recaller.added_since(session.scope.key, session.sequence or 0)
        new = [row for row in rows if row.file == name and not session.holds(row.entry.id, row.entry.text)]
        session.hold([(row.entry.id, row.entry.text) for row in new])
        if new and session.on("notify"):
            now = self._clock().timestamp()
            changes = [
                Change(id=row.entry.id, text=row.entry.text, at=now, source=session.key)
                for row in new
                if row.entry.type != "S"
            ]
            self._bus.publish(Event(scope=session.scope.key, at=now, changes=tuple(changes)))

    async def end_session(self, session: Session, *, reason: str) -> None:
        """Close a session; the next message under its key opens a new one. A second end changes nothing."""
        self._check(session)
        if session.ended:
            return
        session.ended = True
        self._open.pop(session.session_id, None)
        self._sessions.pop((session.key, session.scope.key), None)
        self._bus.unsubscribe(session.session_id)
        await self._journal.end_session(session.session_id, reason, self._clock().timestamp())
        log.info("session.ended", session_id=session.session_id, reason=reason)

    def now(self) -> datetime:
        """Return what time it is, by the clock that was given."""
        return self._clock()

    # Within

    async def _begin(self, session: Session) -> None:
        """Open an incarnation of the session where none is open: at its start, and at the first message after an end."""
        async with session.starting:
            if not session.ended:
                return
            now = self._clock()
            session_id, _ = await self._journal.open_session(
                session.key, session.scope.key, secrets.token_hex(8), now.timestamp()
            )
            session.begin(session_id)
            self._open[session_id] = self._sessions[session.key, session.scope.key] = session
            self._subscribe(session)
            session.generation = self._recaller.generation
            session.sequence = await self._context.look(session, _OPENING_SECONDS)
            if session.settings.opening.enabled:
                session.opening, held = await build_opening(
                    self._files, session.scope, session.settings.opening, now.astimezone(self.zone)
                )
                session.hold(held)
            session.ended = False
            log.info("session.open", session_id=session_id, type=session.type)

    def _subscribe(self, session: Session) -> None:
        self._bus.unsubscribe(session.session_id)
        if session.on("notify"):
            self._bus.subscribe(session.session_id, session.key, [session.scope.key], session.inbox)

    def _settings_of(self, key: str) -> MemorySync:
        return self.config.for_agent(agent_of(key) or self.agent)

    def _scope_of(self, key: str) -> Scope:
        kind, _, name = key.partition(":")
        if key not in self._scopes:
            self._scopes[key] = resolve_scope(
                user=OWNER if kind == "owner" else name if kind == "user" else None,
                room=name if kind == "room" else None,
            )
        return self._scopes[key]

    def _hold(self, memory: Memory) -> None:
        session = self._open.get(memory.session_id)
        if session:
            session.hold([(memory.id, memory.text)])

    def _fail(self, place: str, error: BaseException) -> None:
        self.metrics.fail(self._clock(), place, error)


def _query(text: str) -> str:
    """Return a message as it may be searched with: without private spans and secrets, and of a bounded length."""
    return clean(text[:_QUERY_LENGTH]).text
