"""Saves a session: its one record, the facts that its agent states, and its stage summaries."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, Literal

from extractor import (
    Candidate,
    Summary,
    SummaryInput,
    Turn,
    clean,
    extract_rules,
    has_han,
    permitted_fact,
    permitted_summary,
    permitted_text,
    read_for_permission,
    sentences_of_user,
    summarize,
    without_holes,
    written,
)
from gateway_memory.capture.changes import MemoryChanges
from gateway_memory.capture.executor import PlanExecutor, shared_for, source_of
from gateway_memory.capture.reader import Reader
from gateway_memory.ground.holds import Holds
from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.runtime import Runtime
from gateway_memory.ground.threads import compute
from gateway_memory.scope import OWNER_KEY, Scope
from gateway_memory.sessions.session import Session
from gateway_memory.store.documents import day_file
from gateway_memory.store.journal.sessions import End
from gateway_memory.store.journal.speakers import NOBODY, Sender, prefix_of
from gateway_memory.store.journal.store import Store
from gateway_memory.store.markdown import MemoryType, new_id, one_line
from gateway_memory.store.memory_record import MemoryRecord
from gateway_memory.store.plan import ReceiptLine
from gateway_memory.store.summaries import SessionRecord, new_record_id

log = get_logger(__name__)


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
        """Whether a model takes part when a session ends. The end is then completed after the call has returned."""
        return self._reader.has_model

    async def save_summary(
        self, session: Session, *, topic: str, summary: str, decisions: tuple[str, ...], todos: tuple[str, ...]
    ) -> bool:
        """Save the session's record in the agent's words; False if it has one, or if nothing may be saved."""
        if not (session.may_save and session.settings.sessions.records):
            return False
        given = written(topic, summary, decisions, todos)

        followed_up = await self._store.sessions.was_followed_up(session.session_id)
        layer: Layer = "followup" if followed_up else "agent"
        return await self.save(session.scope, session.session_id, given, layer) is not None

    async def save_fact(
        self,
        session: Session,
        *,
        content: str,
        type: MemoryType,  # noqa: A002 - the name of the option
        entities: tuple[str, ...],
        confidence: float,
        holds: Holds | None = None,
        sender: Sender = NOBODY,
    ) -> ReceiptLine | None:
        """Save a fact or a stage summary (S) that the agent states; None if nothing of it may be saved."""
        text = await compute(without_holes, clean(content).text)
        if not text or not session.may_save:
            return None
        if type == "S" and not session.settings.sessions.stage_summaries:
            return None
        if type == "S":
            return await self.keep_stage(session.scope, session.key, session.session_id, text)
        now = self._runtime.clock()
        stated = Candidate(
            content=text,
            category="preference" if type == "O" else "fact",
            type=type,
            importance="normal",
            confidence=confidence,
            holds=holds,
            entities=tuple(dict.fromkeys(name for name in (clean(name).text for name in entities) if name)),
        )
        return await self._keep(session, stated, now, sender)

    async def remember(self, session: Session, content: str, sender: Sender = NOBODY) -> ReceiptLine | None:
        """Keep what a person asks to remember, in the person's words; None if nothing of it may be kept."""
        text = one_line(await compute(without_holes, clean(content).text))
        if not text or not session.may_save:
            return None
        now = self._runtime.clock()
        return await self._keep(session, await compute(_wished, text, now), now, sender)

    async def _keep(self, session: Session, stated: Candidate, now: datetime, by: Sender) -> ReceiptLine | None:
        """Merge what is stated at a time with what is known; None if it may not be kept. by: who states it."""
        at, turn = now.timestamp(), Turn(id=0, user=stated.content, reply="", at=now)
        by = by if session.scope.kind.is_shared else Sender()
        await self._changes.renamer.called(session.scope, by)
        prefix = prefix_of(by.name, stated.content)
        source = source_of(session.scope.key, session.key, session.session_id, at, speaker=by.key, prefix=prefix)
        by_owner = session.scope.key == OWNER_KEY
        read = [] if by_owner and not session.who.joined else await compute(read_for_permission, stated)
        meanings = await self._reader.meanings(read)
        candidate = await compute(permitted_fact, stated, turn, by_owner=by_owner, meanings=meanings)
        if candidate is None:
            self._runtime.metrics.count("sessions.facts.not_permitted")
            return None
        joined = shared_for(candidate, session.who.joined)
        if joined and await compute(permitted_fact, candidate, turn, by_owner=False, meanings=meanings) == candidate:
            return await self._changes.saves.save(joined, replace(source, scope=joined.key), candidate)
        outcome = await self._changes.saves.save(session.scope, source, candidate)
        if outcome.id and outcome.action != "waits":  # a memory that existed before is this session's fact too
            kind = candidate.type
            await self._store.sessions.note_memory(session.scope.key, session.session_id, outcome.id, kind, at)
        return outcome

    async def summarize(self, scope: Scope, key: str, given: SummaryInput, *, seconds: float) -> Summary | None:
        """Return a summary from the model within the time limit, else from rules; None if there is nothing to say."""
        summary = None
        if seconds and self._runtime.settings_of(key).sessions.summary_model != "rules":
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    summary = await self._reader.summary(scope, self._runtime.settings_of(key).auto_extract, given)
        if summary is not None:
            self._runtime.metrics.count("sessions.summaries.model")
            return summary
        self._runtime.metrics.count("sessions.summaries.heuristic")
        telling = await self._reader.telling(await compute(sentences_of_user, given))
        return await compute(summarize, replace(given, telling=telling))

    async def keep_stage(self, scope: Scope, key: str, session_id: str, text: str) -> ReceiptLine | None:
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
        await self._changes.keep_summary(scope, memory)
        self._runtime.metrics.count("sessions.stages")
        return ReceiptLine(turn=0, action="add", reason="summary", id=memory.id)

    async def save(
        self, scope: Scope, session_id: str, summary: Summary, layer: Layer, end: End | None = None
    ) -> SessionRecord | None:
        """Append the session's record and return it; None if it has one, or if nothing of it may be saved."""
        now = self._runtime.clock()
        filled = await self.record(scope, session_id, summary, layer, end, at=now)
        if filled is None:
            return None
        async with self._store.documents.writing(scope):
            saved = await self._store.records.save(scope, filled, now.timestamp())
        self._runtime.metrics.count(f"sessions.saved.{layer}" if saved else "sessions.doubles_prevented")
        return filled if saved else None

    async def record(
        self, scope: Scope, session_id: str, summary: Summary, layer: Layer, end: End | None, *, at: datetime
    ) -> SessionRecord | None:
        """Return the record of a session, without saving it; None if nothing of it may be saved."""
        record = SessionRecord(
            id=new_record_id(at),
            session_id=session_id,
            topic="",
            summary="",
            timestamp=f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
            auto_generated=layer == "end",
            layer=layer,
            reason=end.reason if end else "",
            duration_ms=end.duration_ms if end else None,
            error_message=end.error if end else "",
        )
        return await self._filled(scope, record, summary)

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


def _wished(text: str, now: datetime) -> Candidate:
    """Return what a person asks to remember: of the kind that the rules would find for it, in all of its words."""
    asked = f"记住{text}" if has_han(text) else f"Remember that {text}"
    default = Candidate(content=text, category="fact", type="W", importance="high", confidence=0.95, explicit=True)
    read = (each for each in extract_rules(Turn(id=0, user=asked, reply="", at=now)) if each.explicit)
    return replace(next(read, default), content=text)
