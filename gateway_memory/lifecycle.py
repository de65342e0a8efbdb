"""How sessions end: saved once, by the first layer that can, whatever ended them."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Final, Literal

import structlog

from extractor import Candidate, Seen, Summary, SummaryInput, clean, summarize, written
from gateway_memory.clock import day_of
from gateway_memory.compute import compute
from gateway_memory.errors import place_of
from gateway_memory.followup import followup_due
from gateway_memory.ingest import Ingest
from gateway_memory.metrics import Metrics
from gateway_memory.plan import Memory, Outcome
from gateway_memory.prompts import flush_prompt, followup_prompt
from gateway_memory.reading import Reader
from gateway_memory.session import Scope, Session
from gateway_memory.settings import MemorySync
from gateway_memory.store import session_log, session_state
from gateway_memory.store.files import MarkdownFiles, day_file
from gateway_memory.store.journal import Journal, PendingTurn
from gateway_memory.store.markdown import MemoryType, new_id, one_line
from gateway_memory.store.session_log import SESSIONS_FILE, SessionRecord, new_record_id
from gateway_memory.store.session_state import Observation, OpenSession
from gateway_memory.store.slots import Slot
from gateway_memory.worker import Worker
from gateway_memory.worth import is_chinese, worth_saving

__all__ = ["Lifecycle"]

log = structlog.get_logger()

Layer = Literal["agent", "followup", "end"]

_FLUSH_SECONDS: Final = 10.0
_SUMMARY_SECONDS: Final = 12.0
"""What an end waits for the last turns, and for a model: together within the 30 s that an editor's hook has."""
_RULES_SECONDS: Final = 1.0
_IDLE_ROUND_SECONDS: Final = 300.0
_STAGE_LENGTH: Final = 900


class Lifecycle:
    """The ends of one workspace's sessions. `closed` is told of those that were closed for their idleness."""

    def __init__(
        self,
        *,
        workspace: Path,
        files: MarkdownFiles,
        journal: Journal,
        ingest: Ingest,
        reader: Reader,
        worker: Worker,
        slot: Slot,
        metrics: Metrics,
        zone: tzinfo | None,
        clock: Callable[[], datetime],
        settings: MemorySync,
        settings_of: Callable[[str], MemorySync],
        scope_of: Callable[[str], Scope],
        closed: Callable[[str], None],
    ) -> None:
        self._workspace = workspace
        self._files = files
        self._journal = journal
        self._ingest = ingest
        self._reader = reader
        self._worker = worker
        self._slot = slot
        self._metrics = metrics
        self._zone = zone
        self._clock = clock
        self._settings = settings
        self._settings_of = settings_of
        self._scope_of = scope_of
        self._closed = closed
        self._ending: dict[str, asyncio.Lock] = {}

    async def run(self) -> None:
        """Close idle sessions now and then, until cancelled."""
        while True:
            await asyncio.sleep(_IDLE_ROUND_SECONDS)
            await self.close_abandoned(starting=False)

    # Layer 1: the agent itself

    async def save_summary(
        self, session: Session, *, topic: str, summary: str, decisions: tuple[str, ...], todos: tuple[str, ...]
    ) -> bool:
        """Save the session's record in the agent's words; False where it has one."""
        given = written(topic, summary, decisions, todos)

        def asked(database: session_state.Database) -> bool:
            return session_state.was_followed_up(database, session.session_id)

        layer: Layer = "followup" if await self._journal.transact(asked) else "agent"
        return await self._save(session.scope, session.session_id, given, layer)

    async def save_fact(
        self,
        session: Session,
        *,
        content: str,
        type: MemoryType,  # noqa: A002 - the option's name
        entities: tuple[str, ...],
        confidence: float,
    ) -> Outcome | None:
        """Keep a fact that the agent names, or a stage summary (S); None where nothing of it may be kept."""
        text = clean(content).text
        if not text:
            return None
        if type == "S":
            return await self._keep_stage(session.scope, session.key, session.session_id, text)
        at = self._clock().timestamp()
        source = PendingTurn(
            id=0, scope=session.scope.key, session_key=session.key, session_id=session.session_id, user="", reply="",
            at=at, accepted_at=at,
        )  # fmt: skip
        candidate = Candidate(
            content=text,
            category="preference" if type == "O" else "fact",
            type=type,
            importance="normal",
            confidence=confidence,
            entities=entities,
        )
        outcome = await self._ingest.save(session.scope, source, candidate)

        def note(database: session_state.Database) -> None:
            session_state.note_memory(database, session.scope.key, session.session_id, outcome.id, type, at)

        if outcome.id:  # what the memory knew already is this session's fact too
            await self._journal.transact(note)
        return outcome

    # Layer 2: before a compaction

    async def before_compaction(self, session: Session, *, usage: float, messages: int) -> str:
        """Keep a stage summary of what was seen since the last one; return the prompt for an agent that can act."""
        seen, left = await self._read(session.scope, session.session_id)
        if not worth_saving(seen) and not left.facts:
            return ""
        fresh = await self._since_last_stage(session, seen)
        if worth_saving(fresh):
            summary = await self._summarize(
                session.key, SummaryInput(seen=_as_seen(fresh)), seconds=_SUMMARY_SECONDS / 3
            )
            if summary:
                await self._keep_stage(session.scope, session.key, session.session_id, summary.brief)
        self._metrics.count("sessions.compactions")
        return flush_prompt(session.session_id, usage=usage, messages=messages, chinese=is_chinese(seen))

    # Layer 4: the prompt at a stop

    async def stop(self, session: Session, status: str) -> str:
        """Return the follow-up prompt, where nothing of the session is saved and there is something worth saving."""
        if status not in ("completed", "aborted"):
            return ""
        deadline = asyncio.get_running_loop().time() + _RULES_SECONDS
        while asyncio.get_running_loop().time() < deadline:  # what the last turn leaves is known within moments
            if not await self._journal.pending(0, session_id=session.session_id, limit=1):
                break
            await asyncio.sleep(0.02)
        path = self._path(session.scope)

        def ask(database: session_state.Database) -> list[Observation] | None:
            return followup_due(database, session.scope.key, path, session.session_id)

        seen = await self._journal.transact(ask)
        if seen is None:
            return ""
        self._metrics.count("sessions.followups")
        return followup_prompt(session.session_id, chinese=is_chinese(seen))

    # Layer 3: the end

    async def end(self, session_id: str, scope: Scope, key: str, reason: str, *, patient: bool = True) -> None:
        """Close a session: its record is written unless an earlier layer has written it. May be called twice.

        patient: its last turns and the model are waited for, within bounds.
        """
        async with self._ending.setdefault(session_id, asyncio.Lock()):
            try:
                await self._end(session_id, scope, key, reason, patient=patient)
            finally:
                self._ending.pop(session_id, None)

    async def _end(self, session_id: str, scope: Scope, key: str, reason: str, *, patient: bool) -> None:
        if patient:
            await self._settle(session_id)
        state = await self._last_layer(session_id, scope, key, seconds=_SUMMARY_SECONDS if patient else 0.0)
        at = self._clock().timestamp()
        path, keep = self._path(scope), self._settings.sessions.keep

        def close(database: session_state.Database) -> float | None:
            return session_state.close(database, session_id, reason=reason, state=state, at=at)

        def tidy(database: session_state.Database) -> int:
            return session_log.tidy(database, scope.key, path, keep=keep)

        lasted = await self._journal.transact(close)
        if lasted is None:
            return
        self._metrics.count(f"sessions.ended.{state}")
        say = log.warning if state == "unsaved" else log.info
        say("session.ended", session_id=session_id, reason=reason, state=state, seconds=round(lasted, 3))
        async with self._files.writing():
            await self._journal.transact(tidy)

    async def close_abandoned(self, *, starting: bool) -> int:
        """Close the sessions whose end never came: those of dead processes, and those silent for too long.

        starting: this process has opened none yet, so what bears its slot is a dead one's; and nothing waits for a
        model then.
        """
        idle = self._clock() - timedelta(hours=self._settings.sessions.idle_hours)
        rows = await self._journal.rows("SELECT DISTINCT slot FROM sessions WHERE ended_at IS NULL")
        rows = await self._journal.rows("SELECT DISTINCT slot FROM sessions WHERE ended_at IS NULL")
        slots = {int(row[0]) for row in rows}
        dead = [self._slot.number] if starting else []
        for number in slots - {-1, self._slot.number}:
            lock = self._slot.orphan(number)
            if lock:
                lock.release()
                dead.append(number)

        def find(database: session_state.Database) -> list[OpenSession]:
            return session_state.abandoned(database, idle_before=idle.timestamp(), dead_slots=dead)

        found = await self._journal.transact(find)
        for session in found:
            self._closed(session.session_id)
            try:
                scope = self._scope_of(session.scope)
                await self.end(session.session_id, scope, session.key, "abandoned", patient=not starting)
            except Exception as error:  # noqa: BLE001 - one session's trouble must not keep the others open
                log.error("session.end_failed", error=type(error).__name__, place=place_of(error))
        return len(found)

    # Within

    def _path(self, scope: Scope) -> Path:
        return self._workspace / scope.folder / SESSIONS_FILE

    async def _settle(self, session_id: str) -> None:
        """Let the session's last turns be read first, so that its facts stand in its summary; not for ever."""
        waits = [await self._journal.pending(stage, session_id=session_id, limit=1) for stage in (0, 1)]
        if not any(waits):
            return
        with suppress(TimeoutError):
            try:
                async with asyncio.timeout(_FLUSH_SECONDS):
                    await self._worker.flush()
            except TimeoutError:
                raise
            except Exception as error:  # noqa: BLE001 - the turns wait on in the journal; the session ends all the same
                log.warning("session.turns_wait", error=type(error).__name__, place=place_of(error))

    async def _last_layer(self, session_id: str, scope: Scope, key: str, *, seconds: float) -> session_state.State:
        path = self._path(scope)

        def saved(database: session_state.Database) -> bool:
            return session_log.is_saved(database, scope.key, path, session_id)

        if await self._journal.transact(saved):
            return "saved"
        seen, left = await self._read(scope, session_id)
        if not (left.facts or left.stages or worth_saving(seen)):
            return "nothing"
        given = SummaryInput(seen=_as_seen(seen), facts=left.facts, stages=left.stages, decisions=left.decisions)
        try:
            summary = await self._summarize(key, given, seconds=seconds)
            if summary is None:
                return "nothing"
            await self._save(scope, session_id, summary, "end")
        except Exception as error:  # noqa: BLE001 - a session must end, also on a full disk
            log.error("session.unsaved", error=type(error).__name__, place=place_of(error))
            return "unsaved"
        return "saved"

    async def _read(self, scope: Scope, session_id: str) -> tuple[list[Observation], session_state.Left]:
        def work(database: session_state.Database) -> tuple[list[Observation], session_state.Left]:
            return (
                session_state.seen_in(database, scope.key, session_id),
                session_state.left_by(database, scope.key, session_id),
            )

        return await self._journal.transact(work)

    async def _since_last_stage(self, session: Session, seen: list[Observation]) -> list[Observation]:
        rows = await self._journal.rows(
            "SELECT count(*) FROM observations WHERE session_id = ? AND scope = ? AND at > coalesce("
            "(SELECT max(at) FROM session_memories WHERE session_id = ? AND type = 'S'), 0)",
            (session.session_id, session.scope.key, session.session_id),
        )
        return seen[len(seen) - min(len(seen), int(rows[0][0])) :]

    async def _summarize(self, key: str, given: SummaryInput, *, seconds: float) -> Summary | None:
        summary = None
        if seconds:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    summary = await self._reader.summary(self._settings_of(key).auto_extract, given)
        if summary is not None:
            self._metrics.count("sessions.summaries.model")
            return summary
        self._metrics.count("sessions.summaries.heuristic")
        return await compute(summarize, given)

    async def _keep_stage(self, scope: Scope, key: str, session_id: str, text: str) -> Outcome:
        at = self._clock().timestamp()
        memory = Memory(
            id=new_id(),
            text=one_line(text[:_STAGE_LENGTH]),
            file=day_file(day_of(at, self._zone)),
            at=at,
            session_key=key,
            session_id=session_id,
            type="S",
        )
        await self._ingest.keep(scope, "summary", [memory])
        self._metrics.count("sessions.stages")
        return Outcome(turn=0, action="add", reason="summary", id=memory.id)

    async def _save(self, scope: Scope, session_id: str, summary: Summary, layer: Layer) -> bool:
        now = self._clock()
        record = SessionRecord(
            id=new_record_id(now),
            session_id=session_id,
            topic=summary.topic,
            summary=summary.detailed,
            timestamp=f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
            decisions=summary.decisions,
            todos=summary.todos,
            brief=summary.brief,
            auto_generated=layer == "end",
            layer=layer,
        )
        path, at = self._path(scope), now.timestamp()

        def work(database: session_state.Database) -> bool:
            return session_log.save(database, scope.key, path, record, at)

        async with self._files.writing():
            saved = await self._journal.transact(work)
        self._metrics.count(f"sessions.saved.{layer}" if saved else "sessions.doubles_prevented")
        return saved


def _as_seen(seen: list[Observation]) -> list[Seen]:
    return [Seen(kind=each.kind, content=each.content, tool=each.tool, private=each.private) for each in seen]
