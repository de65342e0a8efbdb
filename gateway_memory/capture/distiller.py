"""Distil memories: move facts that qualify from the day logs to MEMORY.md. Stage summaries never move."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Final, Literal

from extractor import Candidate, decide
from gateway_memory.capture.executor import drafted, known
from gateway_memory.capture.merger import LINE_OVERHEAD, Changer
from gateway_memory.capture.reader import NEAREST, NEAREST_SECONDS
from gateway_memory.config.settings import DistillSettings
from gateway_memory.ground.holds import holds_of
from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.threads import compute
from gateway_memory.ground.times import date_of
from gateway_memory.scope import Scope
from gateway_memory.store.documents import MEMORY_FILE, is_day_file
from gateway_memory.store.journal.uses import Uses
from gateway_memory.store.memory_record import MemoryRecord
from gateway_memory.store.validity import Today

log = get_logger(__name__)

Reason = Literal["important", "recalled", "repeated"]

_AT_ONCE: Final = 20
"""The maximum number of facts in one run. A person should be able to read the additions to their notes."""
_LOOK_SECONDS: Final = 3.0
"""The time limit for comparing facts at a session's end. The next end continues."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distilled:
    """A fact that qualifies, and why. outcome: "moved", "known" (already in MEMORY.md) or "full" (no space left)."""

    memory: MemoryRecord
    reason: Reason
    uses: Uses
    outcome: Literal["moved", "known", "full"]


def earned(memory: MemoryRecord, uses: Uses, settings: DistillSettings) -> Reason | None:
    """Return why a memory of a day log qualifies for MEMORY.md, or None if it does not.

    It must have enough confidence, and hold for good: what happens on a day stays in the log of that day. It must also
    be important, or have enough uses on enough days.
    """
    said = date_of(memory.at, UTC)
    if (
        not memory.distilled
        or memory.expires
        or holds_of(memory.text, said).passes
        or memory.confidence < settings.min_confidence
    ):
        return None
    if memory.importance == "high":
        return "important"
    if uses.recalled + uses.repeated < settings.min_uses or uses.days < settings.min_days:
        return None
    return "repeated" if uses.repeated > uses.recalled else "recalled"


class Distiller(Changer):
    """Moves the facts of one workspace."""

    async def run(self, scope: Scope, settings: DistillSettings, *, dry_run: bool = False) -> list[Distilled]:
        """Move the facts that qualify, and return them, the most used first. dry_run: only return them."""
        useful = await self._storage.ledger.useful(
            scope.key, min_uses=settings.min_uses, min_days=settings.min_days, zone=self._runtime.zone
        )
        if not useful:
            return []
        async with self._executor.drafting(scope, "distill") as draft:
            distilled = await self._decide(scope, settings, useful)
            for each in distilled:
                if each.outcome == "moved" and not dry_run:
                    draft.move(each.memory, MEMORY_FILE, reason=each.reason)
        if draft.moved:
            log.info("distill.done", moved=len(draft.moved))
        return distilled

    async def _decide(
        self, scope: Scope, settings: DistillSettings, useful: Sequence[tuple[str, Uses]]
    ) -> list[Distilled]:
        room = await self._merger.room(scope)
        found: list[Distilled] = []
        moved: list[MemoryRecord] = []
        today = Today(self._runtime.timestamp(), self._runtime.zone)
        doubted = (await self._storage.ledger.validity(scope.key, today)).doubted
        until = asyncio.get_running_loop().time() + _LOOK_SECONDS
        for identity, uses in useful:
            stored = None if identity in doubted else await self._storage.recaller.get(scope.key, identity)
            if stored is None or stored.entry.kind != "item" or not is_day_file(stored.file):
                continue
            memory = await self._merger.memory(scope, stored)
            reason = earned(memory, uses, settings)
            if reason is None:
                continue
            size = len(memory.text.encode("utf-8", "replace")) + LINE_OVERHEAD
            outcome: Literal["moved", "known", "full"] = "full" if size > room else "moved"
            if outcome == "moved" and await self._stands_there(scope, memory, moved):
                outcome = "known"
            found.append(Distilled(memory=memory, reason=reason, uses=uses, outcome=outcome))
            if outcome == "moved":
                room -= size
                moved.append(memory)
            if len(moved) == _AT_ONCE or asyncio.get_running_loop().time() > until:
                break
        return found

    async def _stands_there(self, scope: Scope, memory: MemoryRecord, moved: Sequence[MemoryRecord]) -> bool:
        """Return whether MEMORY.md, or a fact that moves there now, has the same statement or a related one."""
        near = await self._storage.recaller.nearest(scope.key, memory.text, NEAREST, timeout_seconds=NEAREST_SECONDS)
        compared = [known(item) for item in near if item.stored.file == MEMORY_FILE]
        compared += [drafted(other, memory.text) for other in moved]
        candidate = Candidate(
            content=memory.text,
            category="preference" if memory.type == "O" else "fact",
            type="W" if memory.type == "S" else memory.type,
            importance=memory.importance,
            confidence=memory.confidence,
        )
        return (await compute(decide, candidate, compared)).reason != "new"
