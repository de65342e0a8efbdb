"""Searches of a host, its tools or a person: the best hits, weak ones too, and session records by words."""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final, Self

from gateway_memory.context.deadline import DeadlineRunner
from gateway_memory.context.exchanges import Exchange, exchanges_of, quotable_for, quotable_hit, shown_exchanges
from gateway_memory.context.hits import in_one, reranked, strongest, told_hits
from gateway_memory.context.word_search import ARCHIVED, WordSearch
from gateway_memory.ground.runtime import Runtime
from gateway_memory.parts import Reranker
from gateway_memory.sessions.session import Session
from gateway_memory.store.validity import Today
from gateway_memory.sync.storage import Storage
from recall import Filter, Hit, RecallOutcome, SearchRequest, Stored, asks_what_was, talk_of

_FIND_SECONDS: Final = 10.0
_RERANK_SECONDS: Final = 3.0
_MOST_FILTERED: Final = 50
"""The hits to choose from where only some kinds are wanted."""
RECALLED: Final = frozenset({"memory", "note", "episode"})
"""The kinds of hits that recall finds."""
_EPISODE: Final = "episode"
_OF_FILES: Final = RECALLED - {_EPISODE}
TERMS: Final = ("words", "meaning", "recency", "importance", "form", "speaker", "date", "turn", "task", "version")
"""The summands of a rank that are reported."""


class Found(tuple[Hit, ...]):  # noqa: SLOT001 - a tuple can't have slots with values
    """Hits, and how the search went.

    outcome: "full", "empty" (all was searched, and nothing matches), "partial" (a part was late or failed; the hits are
    what the others found) or "timeout" (the same, and there is nothing yet). semantic: False where words alone were
    searched. late: whether a part was late or failed. It is False if only the query's vector was missing; the search is
    then "partial".
    """

    outcome: RecallOutcome
    semantic: bool
    late: bool

    def __new__(
        cls, hits: Iterable[Hit] = (), *, late: bool = False, semantic: bool = True, ranked: RecallOutcome = "full"
    ) -> Self:
        """Return hits. ranked: how ranking went."""
        made = super().__new__(cls, hits)
        made.late = late or ranked == "timeout"
        made.semantic = semantic
        made.outcome = "full" if made else "empty"
        if made.late or ranked == "partial":
            made.outcome = "timeout" if made.late and not made else "partial"
        return made


class Finder:
    """Finds hits and returns them again by their ids. The deadline is generous, and a part that fails is logged."""

    def __init__(
        self, runtime: Runtime, storage: Storage, runner: DeadlineRunner, rerank: Reranker | None = None
    ) -> None:
        self._runtime = runtime
        self._storage = storage
        self._runner = runner
        self._rerank = rerank
        self._word_search = WordSearch(storage)

    async def find(
        self, session: Session, query: str, limit: int, *, kinds: Collection[str], only: Filter | None, explain: bool
    ) -> Found:
        """Return the best hits of some kinds, weak ones too.

        A query about what was said at some time finds only what is of that time, and its session records.
        """
        now = self._runtime.clock()
        asked_span = talk_of(query, now.timestamp(), self._runtime.zone)
        if only and (only.since is not None or only.until is not None):
            asked_span = None
        if asked_span:
            only = replace(only or Filter(), since=asked_span.start, until=asked_span.end)
            kinds = {*kinds, "record"} if RECALLED.issubset(kinds) else kinds
        archived: Found = Found()
        if ARCHIVED.intersection(kinds):
            searched, today = ("", None) if asked_span else (query, self._today())
            finding = self._word_search.find(session.scope, searched, kinds, limit, only, today)
            kept = await self._runner.run("archive", _FIND_SECONDS, finding)
            archived = Found(kept or (), late=kept is None)
        if not RECALLED.intersection(kinds):
            return archived
        synced = await self._runner.completes("sync", _FIND_SECONDS, self._followed(session, kinds))
        wanted = limit if RECALLED.issubset(kinds) else max(limit, _MOST_FILTERED)
        if query.strip():
            result = await self._search(session, query, kinds, wanted, only, explain=explain)
        else:
            result = await self._listed(session, only, wanted)
        hits = tuple(hit for hit in result if hit.kind in kinds)
        if archived:
            hits = tuple(sorted((*hits, *archived), key=lambda hit: -hit.score))
        if query.strip() and not archived:
            hits = await reranked(self._runner, self._rerank, query, hits, _RERANK_SECONDS)
        late = result.late or archived.late or not synced
        told = await self._told(session, hits[:limit])
        return Found(told, late=late, semantic=result.semantic, ranked=result.outcome)

    async def get(self, session: Session, identity: str, around: int) -> Found:
        """Return what a hit's id names; a memory or a turn with up to `around` turns before and after, oldest first."""
        storage, scope = self._storage, session.scope
        if "-" in identity:  # the ids of memories and of turns have no hyphen
            kept = await self._runner.run(
                "archive", _FIND_SECONDS, self._word_search.get(scope, identity, self._today())
            )
            return Found(kept or (), late=kept is None)
        synced = await self._runner.completes("sync", _FIND_SECONDS, self._followed(session, _OF_FILES))
        rows = [await storage.recaller.get(each.key, identity) for each in session.who.scopes]
        row = next(filter(None, rows), None)
        if row is None:
            return Found(late=not synced)
        of_turn = session.recalls_episodes and row.entry.turn
        turns = await storage.episodes.around(scope.key, row.entry.turn, around) if of_turn else []
        quotable = await storage.episodes.quotable(scope.key, turns, self._today())
        turns_around = {turn: hit for turn in turns if (hit := quotable_hit(quotable, turn))}
        if row.entry.kind == "episode":
            return Found(turns_around.values() if row.entry.turn in turns_around else (), late=not synced)
        memories = await self._told(session, (Hit.of(row, 1.0),))
        before = [hit for turn, hit in turns_around.items() if turn < row.entry.turn]
        from_it = [hit for turn, hit in turns_around.items() if turn >= row.entry.turn]
        return Found((*before, *memories, *from_it), late=not synced)

    async def _told(self, session: Session, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """Return hits, with a mark on those that may no longer hold or are over: whoever asks finds them all."""
        reads = [self._storage.ledger.validity(scope.key, self._today()) for scope in session.who.scopes]
        read = await self._runner.run("validity", _FIND_SECONDS, asyncio.gather(*reads))
        if read is None:
            return tuple(hits)
        keys = (scope.key for scope in session.who.scopes)
        return told_hits(hits, dict(zip(keys, read, strict=True)), past=True)

    def _today(self) -> Today:
        return Today(self._runtime.timestamp(), self._runtime.zone)

    async def _followed(self, session: Session, kinds: Collection[str]) -> None:
        """Let the index follow the files, and where exchanges are searched, the stored turns."""
        for scope in session.who.scopes:
            await self._storage.follower.refresh(scope)
        if session.recalls_episodes and _EPISODE in kinds:
            await self._storage.episode_follower.follow(session.scope.key)

    async def _search(
        self, session: Session, query: str, kinds: Collection[str], limit: int, only: Filter | None, *, explain: bool
    ) -> Found:
        searches = [
            self._storage.recaller.search(
                SearchRequest(
                    scope=scope.key,
                    query=query,
                    limit=limit if _OF_FILES.intersection(kinds) else 0,
                    episodes=limit if scope == session.scope and session.recalls_episodes and _EPISODE in kinds else 0,
                    min_score=0.0,
                    by_rank=True,
                    now=self._runtime.timestamp(),
                    only=only,
                    explain=explain,
                    asked=True,
                ),
                timeout_seconds=_FIND_SECONDS,
            )
            for scope in session.who.scopes
        ]
        recall = await self._runner.run("search", _FIND_SECONDS + 1, in_one(searches))
        if not recall:
            return Found(late=True)
        passages = [hit for hit in recall.hits if hit.kind == _EPISODE]
        exchanges: Sequence[Exchange] | None = ()
        if passages:
            read = quotable_for(self._storage.episodes, session.scope.key, passages, self._today())
            quotable = await self._runner.run("episodes", _FIND_SECONDS, read)
            past = asks_what_was(query) or talk_of(query, self._runtime.timestamp(), self._runtime.zone) is not None
            exchanges = None if quotable is None else exchanges_of(quotable, passages, past=past)
        hits = strongest(shown_exchanges(recall.hits, exchanges or ()), limit)
        if session.who.joined:
            hits = tuple(sorted(hits, key=lambda hit: -hit.score))
        return Found(hits, late=exchanges is None, semantic=recall.semantic, ranked=recall.outcome)

    async def _listed(self, session: Session, only: Filter | None, limit: int) -> Found:
        async def listing() -> list[Stored]:
            return [
                row
                for scope in session.who.scopes
                for row in await self._storage.recaller.listed(scope.key, only or Filter(), limit)
            ]

        listed = await self._runner.run("search", _FIND_SECONDS, listing())
        newest = sorted(listed or (), key=lambda row: -row.entry.at)[:limit] if session.who.joined else listed
        # Chosen by its filters alone, each is just what was requested.
        return Found((Hit.of(row, 1.0) for row in newest or ()), late=listed is None)
