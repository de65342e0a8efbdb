"""What is saved of a session: its one record, the facts that its agent names, and its stage summaries."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Final, Literal

from extractor import (
    Candidate,
    Summary,
    SummaryInput,
    Turn,
    clean,
    permitted_fact,
    permitted_summary,
    summarize,
    without_commands,
    written,
)
from gateway_memory.capture.ingest import Ingest
from gateway_memory.capture.reader import Reader
from gateway_memory.clock import day_of
from gateway_memory.compute import compute
from gateway_memory.config.settings import MemorySync
from gateway_memory.observability.metrics import Metrics
from gateway_memory.scope import OWNER_KEY, Scope
from gateway_memory.session import Session
from gateway_memory.store import summaries as session_log
from gateway_memory.store.files import MarkdownFiles, day_file
from gateway_memory.store.journal import session_state
from gateway_memory.store.journal.journal import Journal, PendingTurn
from gateway_memory.store.journal.session_state import End
from gateway_memory.store.markdown import MemoryType, new_id, one_line
from gateway_memory.store.plan import Memory, Outcome
from gateway_memory.store.summaries import SESSIONS_FILE, SessionRecord, new_record_id

__all__ = ["Saver"]

Layer = Literal["agent", "followup", "end"]

_STAGE_LENGTH: Final = 900


class Saver:
    """Saves for one workspace's sessions, each record once."""

    def __init__(
        self,
        *,
        workspace: Path,
        files: MarkdownFiles,
        journal: Journal,
        ingest: Ingest,
        reader: Reader,
        metrics: Metrics,
        zone: tzinfo | None,
        clock: Callable[[], datetime],
        settings_of: Callable[[str], MemorySync],
    ) -> None:
        self._workspace = workspace
        self._files = files
        self._journal = journal
        self._ingest = ingest
        self._reader = reader
        self._metrics = metrics
        self._zone = zone
        self._clock = clock
        self._settings_of = settings_of

    def path(self, scope: Scope) -> Path:
        """Return the file of a scope's records."""
        return self._workspace / scope.folder / SESSIONS_FILE

    async def save_summary(
        self, session: Session, *, topic: str, summary: str, decisions: tuple[str, ...], todos: tuple[str, ...]
    ) -> bool:
        """Save the session's record in the agent's words; False where it has one, or nothing of it may be kept."""
        if not (session.may_save and session.settings.sessions.records):
            return False
        given = written(topic, summary, decisions, todos)

        def asked(database: session_state.Database) -> bool:
            return session_state.was_followed_up(database, session.session_id)

        layer: Layer = "followup" if await self._journal.transact(asked) else "agent"
        return await self.save(session.scope, session.session_id, given, layer)

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
        if not text or not session.may_save:
            return None
        if type == "S" and not session.settings.sessions.stage_summaries:
            return None
        if type == "S":
            return await self.keep_stage(session.scope, session.key, session.session_id, text)
        now = self._clock()
        at = now.timestamp()
        source = PendingTurn(
            id=0, scope=session.scope.key, session_key=session.key, session_id=session.session_id, user="", reply="",
            at=at, accepted_at=at,
        )  # fmt: skip
        candidate = await compute(
            permitted_fact,
            Candidate(
                content=text,
                category="preference" if type == "O" else "fact",
                type=type,
                importance="normal",
                confidence=confidence,
                entities=tuple(dict.fromkeys(name for name in (clean(name).text for name in entities) if name)),
            ),
            Turn(id=0, user=text, reply="", at=now),
            by_owner=session.scope.key == OWNER_KEY,
        )
        if candidate is None:
            self._metrics.count("sessions.facts.not_permitted")
            return None
        outcome = await self._ingest.save(session.scope, source, candidate)

        def note(database: session_state.Database) -> None:
            session_state.note_memory(database, session.scope.key, session.session_id, outcome.id, type, at)

        if outcome.id:  # what the memory knew already is this session's fact too
            await self._journal.transact(note)
        return outcome

    async def summarize(self, key: str, given: SummaryInput, *, seconds: float) -> Summary | None:
        """Return a summary: by the model within so many seconds, else by rules; None where there is nothing to say."""
        summary = None
        if seconds and self._settings_of(key).sessions.summary_model != "rules":
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    summary = await self._reader.summary(self._settings_of(key).auto_extract, given)
        if summary is not None:
            self._metrics.count("sessions.summaries.model")
            return summary
        self._metrics.count("sessions.summaries.heuristic")
        return await compute(summarize, given)

    async def keep_stage(self, scope: Scope, key: str, session_id: str, text: str) -> Outcome | None:
        """Keep a stage summary in the log of the day; it is never loaded, recalled or distilled.

        None where nothing of it may be kept: a guest's says nothing to the machine, like their session's summary.
        """
        text = text if scope.key == OWNER_KEY else await compute(without_commands, text)
        if not text:
            return None
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

    async def save(self, scope: Scope, session_id: str, summary: Summary, layer: Layer, end: End | None = None) -> bool:
        """Append the session's record; False where it has one, or nothing of it may be kept."""
        allowed = await compute(permitted_summary, summary, by_owner=scope.key == OWNER_KEY)
        if allowed is None:
            return False
        summary, now = allowed, self._clock()
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
            reason=end.reason if end else "",
            duration_ms=end.duration_ms if end else None,
            error_message=end.error if end else "",
        )
        path, at = self.path(scope), now.timestamp()

        def work(database: session_state.Database) -> bool:
            return session_log.save(database, scope.key, path, record, at)

        async with self._files.writing():
            saved = await self._journal.transact(work)
        self._metrics.count(f"sessions.saved.{layer}" if saved else "sessions.doubles_prevented")
        return saved
