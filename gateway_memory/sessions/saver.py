"""Save a session: its one record, the facts that its agent states, and its stage summaries."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import UTC
from typing import Final, Literal

from extractor import (
    Candidate,
    Summary,
    SummaryInput,
    Turn,
    clean,
    concerns,
    permitted_fact,
    permitted_summary,
    permitted_text,
    summarize,
    without_holes,
    written,
)
from gateway_memory.capture.changes import MemoryChanges
from gateway_memory.capture.executor import PlanExecutor
from gateway_memory.capture.reader import Reader
from gateway_memory.runtime.runtime import Runtime
from gateway_memory.runtime.tasks import compute
from gateway_memory.scope import OWNER_KEY, Scope
from gateway_memory.session import Session
from gateway_memory.store.documents import day_file
from gateway_memory.store.journal.sessions import End
from gateway_memory.store.journal.store import Store
from gateway_memory.store.journal.turns import PendingTurn
from gateway_memory.store.markdown import MemoryType, new_id, one_line
from gateway_memory.store.plan import CandidateOutcome
from gateway_memory.store.record import MemoryRecord
from gateway_memory.store.summaries import SessionRecord, new_record_id

__all__ = ["Saver"]

Layer = Literal["agent", "followup", "end"]

_STAGE_LENGTH: Final = 900


class Saver:
    """Saves the sessions of one workspace. Each session has one record."""

    def __init__(
        self, runtime: Runtime, store: Store, changes: MemoryChanges, executor: PlanExecutor, reader: Reader
    ) -> None:
        self._runtime = runtime
        self._store = store
        self._changes = changes
        self._executor = executor
        self._reader = reader

    @property
    def by_model(self) -> bool:
        """Whether a model has a part in an end, which is completed behind its caller."""
        return self._reader.has_model

    async def save_summary(
        self, session: Session, *, topic: str, summary: str, decisions: tuple[str, ...], todos: tuple[str, ...]
    ) -> bool:
        """Save the session's record in the agent's words; False if it has one, or if nothing may be saved."""
        if not (session.may_save and session.settings.sessions.records):
            return False
        given = written(topic, summary, decisions, todos)

        asked = await self._store.sessions.was_followed_up(session.session_id)
        layer: Layer = "followup" if asked else "agent"
        return await self.save(session.scope, session.session_id, given, layer) is not None

    async def save_fact(
        self,
        session: Session,
        *,
        content: str,
        type: MemoryType,  # noqa: A002 - the name of the option
        entities: tuple[str, ...],
        confidence: float,
    ) -> CandidateOutcome | None:
        """Save a fact or a stage summary (S) that the agent states; None if nothing of it may be saved."""
        text = await compute(without_holes, clean(content).text)
        if not text or not session.may_save:
            return None
        if type == "S" and not session.settings.sessions.stage_summaries:
            return None
        if type == "S":
            return await self.keep_stage(session.scope, session.key, session.session_id, text)
        now = self._runtime.clock()
        at = now.timestamp()
        source = PendingTurn(
            id=0, scope=session.scope.key, session_key=session.key, session_id=session.session_id, user="", reply="",
            at=at, accepted_at=at,
        )  # fmt: skip
        turn = Turn(id=0, user=text, reply="", at=now)
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
            turn,
            by_owner=session.scope.key == OWNER_KEY,
        )
        if candidate is None:
            self._runtime.metrics.count("sessions.facts.not_permitted")
            return None
        if session.joined and concerns(candidate, session.joined[0].name):
            told = await compute(permitted_fact, candidate, turn, by_owner=False)
            if told == candidate:
                scope = session.joined[0]
                return await self._changes.save(scope, replace(source, scope=scope.key), candidate)
        outcome = await self._changes.save(session.scope, source, candidate)
        if outcome.id and outcome.action != "waits":  # a memory that existed before is this session's fact too
            await self._store.sessions.note_memory(session.scope.key, session.session_id, outcome.id, type, at)
        return outcome

    async def summarize(self, key: str, given: SummaryInput, *, seconds: float) -> Summary | None:
        """Return a summary from the model within the time limit, else from rules; None if there is nothing to say."""
        summary = None
        if seconds and self._runtime.settings_of(key).sessions.summary_model != "rules":
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    summary = await self._reader.summary(self._runtime.settings_of(key).auto_extract, given)
        if summary is not None:
            self._runtime.metrics.count("sessions.summaries.model")
            return summary
        self._runtime.metrics.count("sessions.summaries.heuristic")
        return await compute(summarize, given)

    async def keep_stage(self, scope: Scope, key: str, session_id: str, text: str) -> CandidateOutcome | None:
        """Save a stage summary in the log of the day. It is never loaded, recalled or distilled.

        Return None if nothing of it may be saved.
        """
        text = await compute(permitted_text, text, by_owner=scope.key == OWNER_KEY)
        if not text:
            return None
        at = self._runtime.timestamp()
        memory = MemoryRecord(
            id=new_id(),
            text=one_line(text[:_STAGE_LENGTH]),
            file=day_file(self._runtime.day_of(at)),
            at=at,
            session_key=key,
            session_id=session_id,
            type="S",
        )
        await self._changes.keep(scope, "summary", [memory])
        self._runtime.metrics.count("sessions.stages")
        return CandidateOutcome(turn=0, action="add", reason="summary", id=memory.id)

    async def save(
        self, scope: Scope, session_id: str, summary: Summary, layer: Layer, end: End | None = None
    ) -> SessionRecord | None:
        """Append the session's record and return it; None if it has one, or if nothing of it may be saved."""
        now = self._runtime.clock()
        record = SessionRecord(
            id=new_record_id(now),
            session_id=session_id,
            topic="",
            summary="",
            timestamp=f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
            auto_generated=layer == "end",
            layer=layer,
            reason=end.reason if end else "",
            duration_ms=end.duration_ms if end else None,
            error_message=end.error if end else "",
        )
        filled = await self._filled(scope, record, summary)
        if filled is None:
            return None
        async with self._store.documents.writing(scope):
            saved = await self._store.records.save(scope, filled, now.timestamp())
        self._runtime.metrics.count(f"sessions.saved.{layer}" if saved else "sessions.doubles_prevented")
        return filled if saved else None

    async def revise(self, scope: Scope, record: SessionRecord, summary: Summary) -> None:
        """Put a better summary into the session's record, unless that is gone or was changed by hand."""
        filled = await self._filled(scope, record, summary)
        if filled is not None and filled != record:
            async with self._store.documents.writing(scope):
                await self._store.records.revise(scope, record, filled)

    @staticmethod
    async def _filled(scope: Scope, record: SessionRecord, summary: Summary) -> SessionRecord | None:
        allowed = await compute(permitted_summary, summary, by_owner=scope.key == OWNER_KEY)
        if allowed is None:
            return None
        return replace(
            record,
            topic=allowed.topic,
            summary=allowed.detailed,
            decisions=allowed.decisions,
            todos=allowed.todos,
            brief=allowed.brief,
        )

    async def tidy(self, scope: Scope) -> None:
        """Keep the newest records of a scope, and remove text that was forgotten or deleted by hand meanwhile."""
        async with self._store.documents.writing(scope):
            await self._store.records.tidy(scope, keep=self._runtime.settings.sessions.keep)
            await self._executor.withhold(scope)
