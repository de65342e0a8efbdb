"""How sessions end: saved once, by the first layer that can, whatever ended them."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from extractor import Seen, SummaryInput
from gateway_memory.capture.distiller import Distiller
from gateway_memory.capture.executor import Carrier
from gateway_memory.capture.worker import Worker
from gateway_memory.config.settings import MemorySync
from gateway_memory.errors import place_of
from gateway_memory.observability.logger import get_logger
from gateway_memory.observability.metrics import Metrics
from gateway_memory.scope import Scope
from gateway_memory.session import Session
from gateway_memory.sessions.followup import followup_due
from gateway_memory.sessions.prompts import Prompts
from gateway_memory.sessions.saver import Saver
from gateway_memory.sessions.worth import is_chinese, worth_saving
from gateway_memory.store import summaries as session_log
from gateway_memory.store.files import MarkdownFiles
from gateway_memory.store.journal import session_state
from gateway_memory.store.journal.journal import Journal
from gateway_memory.store.journal.session_state import End, Observation, OpenSession
from gateway_memory.store.slots import Slot

__all__ = ["Lifecycle"]

log = get_logger(__name__)

_FLUSH_SECONDS: Final = 10.0
_SUMMARY_SECONDS: Final = 12.0
"""What an end waits for the last turns, and for a model: together within the 30 s that an editor's hook has."""
_RULES_SECONDS: Final = 1.0
_IDLE_ROUND_SECONDS: Final = 300.0


class Lifecycle:
    """The ends of one workspace's sessions. `closed` is told of those that were closed for their idleness.

    prompts_for: the prompts for the session of a key.
    """

    def __init__(
        self,
        *,
        files: MarkdownFiles,
        journal: Journal,
        carrier: Carrier,
        saver: Saver,
        distiller: Distiller,
        worker: Worker,
        slot: Slot,
        metrics: Metrics,
        clock: Callable[[], datetime],
        settings: MemorySync,
        settings_of: Callable[[str], MemorySync],
        scope_of: Callable[[str], Scope],
        closed: Callable[[str], None],
        prompts_for: Callable[[str], Prompts],
    ) -> None:
        self._files = files
        self._journal = journal
        self._carrier = carrier
        self._saver = saver
        self._distiller = distiller
        self._worker = worker
        self._slot = slot
        self._metrics = metrics
        self._clock = clock
        self._settings = settings
        self._settings_of = settings_of
        self._scope_of = scope_of
        self._closed = closed
        self.prompts_for = prompts_for
        self._ending: dict[str, asyncio.Lock] = {}
        self._counts: dict[str, float] = {}
        metrics.sources.append(self.gauges)

    async def run(self) -> None:
        """Close idle sessions now and then, until cancelled."""
        while True:
            await asyncio.sleep(_IDLE_ROUND_SECONDS)
            await self.close_abandoned(starting=False)
            await self.counts()

    async def counts(self) -> dict[str, int]:
        """Return how the workspace's sessions ended: see `session_state.counts`; what `gauges` tells from then on."""
        found = await self._journal.transact(session_state.counts)
        self._counts = {f"sessions.{name}": float(found[name]) for name in found.keys() & session_state.COUNTED}
        return found

    def gauges(self) -> dict[str, float]:
        """Return the numbers of sessions when they were last counted, which each end does, by dotted name."""
        return self._counts

    # Layer 2: before a compaction

    async def before_compaction(self, session: Session, *, usage: float, messages: int) -> str:
        """Keep a stage summary of what was seen since the last one; return the prompt for an agent that can act."""
        if not (session.may_save and session.settings.sessions.stage_summaries):
            return ""
        seen, left = await self._read(session.scope, session.session_id)
        if not worth_saving(seen) and not left.facts:
            return ""
        fresh = await self._since_last_stage(session, seen)
        if worth_saving(fresh):
            summary = await self._saver.summarize(
                session.key, SummaryInput(seen=_as_seen(fresh)), seconds=_SUMMARY_SECONDS / 3
            )
            if summary:
                await self._saver.keep_stage(session.scope, session.key, session.session_id, summary.brief)
        self._metrics.count("sessions.compactions")
        prompts, chinese = self.prompts_for(session.key), is_chinese(seen)
        return prompts.flush(session.session_id, usage=usage, messages=messages, chinese=chinese)

    # Layer 4: the prompt at a stop

    async def stop(self, session: Session, status: str) -> str:
        """Return the follow-up prompt, where nothing of the session is saved and there is something worth saving."""
        settings = session.settings.sessions
        wanted = session.may_save and settings.followups and settings.records
        if status not in ("completed", "aborted") or not wanted:
            return ""
        deadline = asyncio.get_running_loop().time() + _RULES_SECONDS
        while asyncio.get_running_loop().time() < deadline:  # what the last turn leaves is known within moments
            if not await self._journal.pending(0, session_id=session.session_id, limit=1):
                break
            await asyncio.sleep(0.02)
        path = self._saver.path(session.scope)

        def ask(database: session_state.Database) -> list[Observation] | None:
            return followup_due(database, session.scope.key, path, session.session_id)

        seen = await self._journal.transact(ask)
        if seen is None:
            return ""
        self._metrics.count("sessions.followups")
        return self.prompts_for(session.key).followup(session.session_id, chinese=is_chinese(seen))

    # Layer 3: the end

    async def end(self, session_id: str, scope: Scope, key: str, end: End, *, patient: bool = True) -> None:
        """Close a session: its record is written unless an earlier layer has written it. May be called twice.

        patient: its last turns and the model are waited for, within bounds.
        """
        async with self._ending.setdefault(session_id, asyncio.Lock()):
            try:
                await self._end(session_id, scope, key, end, patient=patient)
            finally:
                self._ending.pop(session_id, None)

    async def _end(self, session_id: str, scope: Scope, key: str, end: End, *, patient: bool) -> None:
        if patient:
            await self._settle(session_id)
        state = await self._last_layer(session_id, scope, key, end, seconds=_SUMMARY_SECONDS if patient else 0.0)
        at = self._clock().timestamp()
        path, keep = self._saver.path(scope), self._settings.sessions.keep

        def close(database: session_state.Database) -> float | None:
            return session_state.close(database, session_id, end, state=state, at=at)

        def tidy(database: session_state.Database) -> int:
            return session_log.tidy(database, scope.key, path, keep=keep)

        lasted = await self._journal.transact(close)
        if lasted is None:
            return
        self._metrics.count(f"sessions.ended.{state}")
        say = log.warning if state == "unsaved" else log.info
        say("session.ended", session_id=session_id, reason=end.reason, state=state, seconds=round(lasted, 3))
        async with self._files.writing():
            await self._journal.transact(tidy)
            await self._carrier.withhold(scope)  # what was deleted by hand meanwhile, too
        await self.counts()
        if patient and self._settings_of(key).distill.enabled:
            await self._distill(scope, key)

    async def close_abandoned(self, *, starting: bool) -> int:
        """Close the sessions whose end never came: those of dead processes, and those silent for too long.

        starting: this process has opened none yet, so what bears its slot is a dead one's; and nothing waits for a
        model then.
        """
        idle = self._clock() - timedelta(hours=self._settings.sessions.idle_hours)
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
                await self.end(session.session_id, scope, session.key, End(reason="abandoned"), patient=not starting)
            except Exception as error:  # noqa: BLE001 - one session's trouble must not keep the others open
                log.error("session.end_failed", error=type(error).__name__, place=place_of(error))
        return len(found)

    # Within

    async def _distill(self, scope: Scope, key: str) -> None:
        try:
            await self._distiller.run(scope, self._settings_of(key).distill)
        except Exception as error:  # noqa: BLE001 - the session has ended; the next end moves what this one did not
            log.warning("session.not_distilled", error=type(error).__name__, place=place_of(error))

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

    async def _last_layer(
        self, session_id: str, scope: Scope, key: str, end: End, *, seconds: float
    ) -> session_state.State:
        if not self._settings_of(key).sessions.records:
            return "nothing"
        path = self._saver.path(scope)

        def saved(database: session_state.Database) -> bool:
            return session_log.is_saved(database, scope.key, path, session_id)

        if await self._journal.transact(saved):
            return "saved"
        seen, left = await self._read(scope, session_id)
        if not (left.facts or left.stages or worth_saving(seen)):
            return "nothing"
        given = SummaryInput(seen=_as_seen(seen), facts=left.facts, stages=left.stages, decisions=left.decisions)
        try:
            summary = await self._saver.summarize(key, given, seconds=seconds)
            if summary is None:
                return "nothing"
            await self._saver.save(scope, session_id, summary, "end", end)
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


def _as_seen(seen: list[Observation]) -> list[Seen]:
    return [Seen(kind=each.kind, content=each.content, tool=each.tool, private=each.private) for each in seen]
