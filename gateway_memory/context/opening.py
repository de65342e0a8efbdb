"""What a session is told when it starts, from its scope's files and the index."""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from gateway_memory.config.settings import OpeningSettings
from gateway_memory.context.opening_memory import Known
from gateway_memory.context.opening_text import Material, Opening, OpeningMemory, compose, days_back, query_of
from gateway_memory.runtime.clock import day_of
from gateway_memory.runtime.runtime import Runtime
from gateway_memory.scope import Scope
from gateway_memory.store.documents import MEMORY_FILE, day_file
from gateway_memory.store.markdown import Block, parse
from gateway_memory.store.withheld import canonical
from gateway_memory.sync.storage import Storage

__all__ = ["OpeningBuilder"]

_SEARCH_SECONDS: Final = 0.5


class OpeningBuilder:
    """Builds openings for any scope."""

    def __init__(self, runtime: Runtime, storage: Storage) -> None:
        self._runtime = runtime
        self._storage = storage

    async def state(self, scope: Scope, now: datetime) -> object:
        """Return a value that changes whenever an opening may read differently."""
        changes = await self._storage.follower.refresh(scope)
        last = await self._storage.records.last(scope)
        return changes, self._runtime.day_of(now.timestamp()), canonical(last) if last else ""

    async def build(
        self,
        scope: Scope,
        settings: OpeningSettings,
        now: datetime,
        told: Callable[[str, str], bool] = lambda _, __: False,
    ) -> tuple[Opening, bool]:
        """Return the opening of a session, within `max_tokens` over all of its blocks, and whether a part was late.

        told: returns whether a memory (id, text) is left out, since the session's context contains it.
        """
        last = await self._storage.records.last(scope)
        memory = _untold(await self._blocks(scope, MEMORY_FILE), told)
        records = await self._storage.ledger.memories(scope.key, [block.id for block in memory])
        found = await self._found(scope, query_of(last), settings.max_found, now)
        material = Material(
            memory=memory,
            known={
                identity: Known(category=record.category, high=record.importance == "high", at=record.at)
                for identity, record in records.items()
            },
            last=last,
            days=[
                (day, _untold(await self._blocks(scope, day_file(day)), told))
                for day in days_back(now.astimezone(self._runtime.zone), settings.days)
            ],
            found=[each for each in found or () if not told(each.id, each.text)],
        )
        opening = compose(
            material,
            max_tokens=settings.max_tokens,
            max_facts=settings.max_facts,
            include_memory=settings.include_memory_md,
            left_out="left_out_chat",
        )
        return opening, found is None

    async def _blocks(self, scope: Scope, file: str) -> list[Block]:
        read = await self._storage.documents.read(scope, file)
        return parse(read[0], file=file) if read else []

    async def _found(self, scope: Scope, query: str, limit: int, now: datetime) -> list[OpeningMemory] | None:
        """Return what a search finds; None where nothing was ready in time."""
        if not query or not limit:
            return []
        search = await self._storage.recaller.search(
            scope.key,
            query,
            limit=limit,
            min_score=self._runtime.settings.auto_recall.min_score,
            timeout_seconds=_SEARCH_SECONDS,
            now=now.timestamp(),
        )
        if search.outcome == "timeout":
            return None
        today = day_of(now.timestamp(), self._runtime.zone)
        hits = [hit for hit in search.hits if hit.holds_on(today)]
        return [OpeningMemory(id=hit.id, day=self._runtime.day_of(hit.at), text=hit.text) for hit in hits]


def _untold(blocks: list[Block], told: Callable[[str, str], bool]) -> list[Block]:
    return [block for block in blocks if not told(block.id, block.text)]
