"""What a session is told when it starts, from MEMORY.md, the index and what was said."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import zip_longest
from typing import Final

from extractor import CATEGORIES, permitted_text
from gateway_memory.context.opening_memory import Known
from gateway_memory.context.opening_text import LastTalk, Material, Opening, OpeningMemory, compose, queries_of
from gateway_memory.context.outdated import with_marks
from gateway_memory.context.profile import (
    BEGINNING,
    LEAST_FOUND,
    LEAST_TELLING,
    PASSAGES,
    last_talk,
    own_words_of,
    profile,
)
from gateway_memory.runtime.runtime import Runtime
from gateway_memory.runtime.tasks import compute
from gateway_memory.scope import OWNER_KEY, Scope
from gateway_memory.session import Session
from gateway_memory.store.documents import MEMORY_FILE
from gateway_memory.store.markdown import Block, parse
from gateway_memory.store.withheld import canonical
from gateway_memory.sync.storage import Storage
from recall import Entry, Filter, RecallError

__all__ = ["OpeningBuilder"]

_SEARCH_SECONDS: Final = 0.5
_MEMORIES: Final = 150
"""The newest memories, and of each kind of wish as many, from which those to tell are chosen."""


class OpeningBuilder:
    """Builds openings for any scope."""

    def __init__(self, runtime: Runtime, storage: Storage) -> None:
        self._runtime = runtime
        self._storage = storage

    async def state(self, scopes: Sequence[Scope], now: datetime) -> object:
        """Return a value that changes whenever an opening from these scopes may read differently."""
        changes = [(scope.key, await self._storage.follower.refresh(scope)) for scope in scopes]
        last = await self._storage.records.last(scopes[0])
        return changes, self._runtime.day_of(now.timestamp()), canonical(last) if last else ""

    async def build(
        self,
        session: Session,
        now: datetime,
        told: Callable[[str, str], bool] = lambda _, __: False,
    ) -> tuple[Opening, bool]:
        """Return the opening of a session, within `max_tokens` over all of its blocks, and whether a part was late.

        told: returns whether a memory (id, text) is left out, since the session's context contains it.
        """
        scope, settings = session.scope, session.settings.opening
        last = await self._storage.records.last(scope)
        outdated = await self._storage.ledger.outdated(scope.key)
        lines = await self._memory(scope)
        try:
            about = await self._about(session, now)
            joined = [each for scope in session.joined for each in await self._joined(scope, now)]
        except RecallError:  # another process may have the index locked: MEMORY.md is told all the same
            about, joined = None, []
        memory = [block for block in with_marks(lines, outdated) if not told(block.id, block.text)]
        records = await self._storage.ledger.memories(scope.key, [block.id for block in memory])
        found = await self._found(scope, queries_of(last), settings.max_found, now)
        material = Material(
            memory=memory,
            known={
                identity: Known(category=record.category, high=record.importance == "high", at=record.at)
                for identity, record in records.items()
            },
            about=[each for each in with_marks(about or (), outdated) if not told(each.id, each.text)],
            last=last,
            talk=await self._talk(session),
            found=[each for each in with_marks(found or (), outdated) if not told(each.id, each.text)],
            joined=[each for each in joined if not told(each.id, each.text)],
        )
        opening = compose(
            material,
            max_tokens=settings.max_tokens,
            profile_tokens=settings.profile_tokens,
            include_memory=settings.include_memory_md,
            left_out="left_out_chat",
        )
        return opening, found is None or about is None

    async def _memory(self, scope: Scope) -> list[Block]:
        read = await self._storage.documents.read(scope, MEMORY_FILE)
        return parse(read[0], file=MEMORY_FILE) if read else []

    async def _about(self, session: Session, now: datetime) -> list[OpeningMemory]:
        """Return what is known about the user beside MEMORY.md, those first that are to be told first."""
        if not session.settings.opening.profile_tokens:
            return []
        scope, recaller = session.scope.key, self._storage.recaller
        standing = [name for name, category in CATEGORIES.items() if category.standing]
        filters = [Filter(), *(Filter(category=name) for name in standing)]
        rows = {row.sequence: row for only in filters for row in await recaller.listed(scope, only, _MEMORIES)}
        today = self._runtime.day_of(now.timestamp())
        memories = [row.entry for row in rows.values() if row.file != MEMORY_FILE and row.entry.holds_on(today)]
        passages: list[Entry] = []
        sides: dict[int, str] = {}
        if session.recalls_episodes:
            passages = [row.entry for row in await recaller.telling(scope, LEAST_TELLING, PASSAGES)]
            said = await self._storage.episodes.told(scope, [passage.turn for passage in passages])
            sides = own_words_of(said)
        about = profile(memories, passages, sides, self._runtime.day_of, today)
        if session.scope.key == OWNER_KEY:
            return about
        return await compute(lambda: [each for each in about if permitted_text(each.text, by_owner=False) == each.text])

    async def _joined(self, scope: Scope, now: datetime) -> list[OpeningMemory]:
        """Return what is known in a shared scope that a session has joined, important memories first, then newer ones.

        Whoever shares it has written it, so that no order to the assistant is told from it.
        """
        await self._storage.follower.refresh(scope)
        outdated = await self._storage.ledger.outdated(scope.key)
        rows = await self._storage.recaller.listed(scope.key, Filter(), _MEMORIES)
        today = self._runtime.day_of(now.timestamp())
        entries = [row.entry for row in rows if row.entry.holds_on(today)]
        memories = [
            OpeningMemory(id=entry.id, day=self._runtime.day_of(entry.at), text=entry.text)
            for entry in sorted(entries, key=lambda entry: (entry.importance, entry.at), reverse=True)
        ]
        permitted = await compute(
            lambda: [each for each in memories if permitted_text(each.text, by_owner=False) == each.text]
        )
        return with_marks(permitted, outdated)

    async def _talk(self, session: Session) -> LastTalk | None:
        """Return the last session that took place, beside this one."""
        if not session.recalls_episodes:
            return None
        scope = session.scope.key
        first = await self._storage.episodes.latest(scope, session.session_id, BEGINNING)
        told = await self._storage.episodes.told(scope, [episode.turn for episode in first])
        talk = last_talk(first, told, self._runtime.day_of)
        said = await compute(permitted_text, talk.said if talk else "", by_owner=scope == OWNER_KEY)
        return replace(talk, said=said) if talk and said else None

    async def _found(
        self, scope: Scope, queries: Sequence[str], limit: int, now: datetime
    ) -> list[OpeningMemory] | None:
        """Return what searches find, one hit of each in turn; None where nothing was ready in time."""
        if not limit:
            return []
        searches = await asyncio.gather(
            *(
                self._storage.recaller.search(
                    scope.key,
                    query,
                    limit=limit,
                    min_score=LEAST_FOUND,
                    timeout_seconds=_SEARCH_SECONDS,
                    now=now.timestamp(),
                )
                for query in queries
            )
        )
        if any(search.outcome == "timeout" for search in searches):
            return None
        today = self._runtime.day_of(now.timestamp())
        in_turn = (hit for hits in zip_longest(*(search.hits for search in searches)) for hit in hits if hit)
        hits = {hit.id: hit for hit in in_turn if hit.related and hit.holds_on(today)}
        found = list(hits.values())[:limit]
        return [OpeningMemory(id=hit.id, day=self._runtime.day_of(hit.at), text=hit.text) for hit in found]
