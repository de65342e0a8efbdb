"""What a session is told when it starts: read from its scope's files, and from the index where it has followed."""

from datetime import datetime, tzinfo
from pathlib import Path
from typing import Final

from gateway_memory.clock import day_of
from gateway_memory.compute import compute
from gateway_memory.config.settings import OpeningSettings
from gateway_memory.context.opening_text import Found, Material, Opening, compose, days_back, query_of
from gateway_memory.scope import Scope
from gateway_memory.store.files import MEMORY_FILE, MarkdownFiles, day_file
from gateway_memory.store.journal.journal import Journal
from gateway_memory.store.markdown import Block, parse
from gateway_memory.store.summaries import SESSIONS_FILE, last_record
from gateway_memory.store.withheld import withheld
from recall import Recaller, count_tokens, render_block

__all__ = ["OpeningBuilder"]

_SEARCH_SECONDS: Final = 0.5


class OpeningBuilder:
    """Builds openings of one workspace. min_score: what a found memory must at least score."""

    def __init__(
        self,
        *,
        workspace: Path,
        files: MarkdownFiles,
        journal: Journal,
        recaller: Recaller,
        zone: tzinfo | None,
        min_score: float,
    ) -> None:
        self._workspace = workspace
        self._files = files
        self._journal = journal
        self._recaller = recaller
        self._zone = zone
        self._min_score = min_score

    async def build(self, scope: Scope, settings: OpeningSettings, now: datetime) -> Opening:
        """Return the opening of a session, within `max_tokens` over all of its blocks."""
        path = self._workspace / scope.folder / SESSIONS_FILE
        last = await compute(last_record, path)
        if last:  # others may have written it
            last = (await self._journal.transact(lambda database: withheld(database, scope.key))).record(last)
        material = Material(
            memory=await self._blocks(scope, MEMORY_FILE),
            last=last,
            days=[
                (day, await self._blocks(scope, day_file(day)))
                for day in days_back(now.astimezone(self._zone), settings.days)
            ],
            found=await self._found(scope, query_of(last), settings.max_found, now),
        )
        return compose(
            material,
            max_tokens=settings.max_tokens,
            max_facts=settings.max_facts,
            include_memory=settings.include_memory_md,
            render=render_block,
            count=count_tokens,
        )

    async def _blocks(self, scope: Scope, file: str) -> list[Block]:
        read = await self._files.read(scope.folder, file)
        return parse(read[0], file=file) if read else []

    async def _found(self, scope: Scope, query: str, limit: int, now: datetime) -> list[Found]:
        if not query or not limit:
            return []
        search = await self._recaller.search(
            scope.key,
            query,
            limit=limit,
            min_score=self._min_score,
            timeout_seconds=_SEARCH_SECONDS,
            now=now.timestamp(),
        )
        today = day_of(now.timestamp(), self._zone)
        hits = [hit for hit in search.hits if hit.holds_on(today)]
        return [Found(id=hit.id, day=day_of(hit.at, self._zone), text=hit.text) for hit in hits]
