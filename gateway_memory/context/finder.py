"""Searches that a host, its tools or a person asks for: the best hits, weak ones too."""

import asyncio
from collections.abc import Awaitable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from heapq import nlargest
from operator import attrgetter
from typing import Final, Self

from extractor import Cleaned, clean
from gateway_memory.context.archive import ARCHIVED, Archive
from gateway_memory.context.deadline_runner import DeadlineRunner
from gateway_memory.context.episodes import exchanges_of, shown_exchanges, told_hit
from gateway_memory.context.outdated import with_marks
from gateway_memory.runtime.clock import day_of
from gateway_memory.runtime.runtime import Runtime
from gateway_memory.scope import Scope
from gateway_memory.session import Session
from gateway_memory.sync.storage import Storage
from recall import Filter, Hit, Recall, RecallOutcome, Stored, talk_of

__all__ = ["RECALLED", "Finder", "Found", "as_query", "in_one", "still_holding", "strongest"]

_FIND_SECONDS: Final = 10.0
_QUERY_LENGTH: Final = 8000
_MOST_FILTERED: Final = 50
"""The hits to choose from where only some kinds are wanted."""
RECALLED: Final = frozenset({"memory", "note", "episode"})
"""The kinds of hits that recall finds."""
_SAID: Final = "episode"
_KEPT: Final = RECALLED - {_SAID}


class Found(tuple[Hit, ...]):  # noqa: SLOT001 - a tuple can't have slots with values
    """Hits, and how the search went.

    outcome: "full", "empty" (all was searched, and nothing matches), "partial" (a part was late or failed; these are
    the rest) or "timeout" (the same, and there is nothing yet). semantic: False where words alone were searched. late:
    whether a part was late or failed; without it, a search is "partial" where only the query's vector is missing.
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

    def __init__(self, runtime: Runtime, storage: Storage, runner: DeadlineRunner) -> None:
        self._runtime = runtime
        self._storage = storage
        self._runner = runner
        self._archive = Archive(storage)

    async def find(
        self, session: Session, query: str, limit: int, *, kinds: Collection[str], only: Filter | None, explain: bool
    ) -> Found:
        """Return the best hits of some kinds, weak ones too.

        A query for the talk of a time finds what is of that time alone, and the records of its sessions.
        """
        now = self._runtime.clock()
        talk = talk_of(query, now.timestamp(), self._runtime.zone)
        if only and (only.since is not None or only.until is not None):
            talk = None
        if talk:
            only = replace(only or Filter(), since=talk.start, until=talk.end)
            kinds = {*kinds, "record"} if RECALLED.issubset(kinds) else kinds
        archived: Found = Found()
        if ARCHIVED.intersection(kinds):
            finding = self._archive.find(session.scope, "" if talk else query, kinds, limit, only)
            kept = await self._runner.run("archive", _FIND_SECONDS, finding)
            archived = Found(kept or (), late=kept is None)
        if not RECALLED.intersection(kinds):
            return archived
        synced = await self._runner.completes("sync", _FIND_SECONDS, self._followed(session, kinds))
        wanted = limit if RECALLED.issubset(kinds) else max(limit, _MOST_FILTERED)
        if query.strip():
            found = await self._found(session, query, kinds, wanted, now, only=only, explain=explain)
        else:
            found = await self._listed(session, only, wanted)
        hits = tuple(hit for hit in still_holding(found, now, self._runtime.zone) if hit.kind in kinds)
        if archived:
            hits = tuple(sorted((*hits, *archived), key=lambda hit: -hit.score))
        late = found.late or archived.late or not synced
        marked = await self._marked(session, hits[:limit])
        return Found(marked, late=late, semantic=found.semantic, ranked=found.outcome)

    async def get(self, session: Session, identity: str, around: int) -> Found:
        """Return what a hit's id names; a memory or a turn with up to `around` turns before and after, oldest first."""
        storage, scope = self._storage, session.scope
        if "-" in identity:  # the ids of memories and of turns have no hyphen
            of_id: list[Hit] = []
            done = await self._runner.completes("archive", _FIND_SECONDS, self._named(scope, identity, of_id))
            return Found(of_id, late=not done)
        synced = await self._runner.completes("sync", _FIND_SECONDS, self._followed(session, _KEPT))
        rows = [await storage.recaller.get(each.key, identity) for each in session.scopes]
        row = next(filter(None, rows), None)
        if row is None:
            return Found(late=not synced)
        of_turn = session.recalls_episodes and row.entry.turn
        turns = await storage.episodes.around(scope.key, row.entry.turn, around) if of_turn else []
        told = await storage.episodes.told(scope.key, turns)
        said = {turn: hit for turn in turns if (hit := told_hit(told, turn))}
        if row.entry.kind == "episode":
            return Found(said.values() if row.entry.turn in said else (), late=not synced)
        found = still_holding((Hit.of(row, 1.0),), self._runtime.clock(), self._runtime.zone)
        found = await self._marked(session, found)
        before = [hit for turn, hit in said.items() if turn < row.entry.turn]
        from_it = [hit for turn, hit in said.items() if turn >= row.entry.turn]
        return Found((*before, *found, *from_it) if found else (), late=not synced)

    async def _marked(self, session: Session, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        """Return hits, with a mark on those that may no longer hold."""
        for scope in session.scopes:
            outdated = await self._runner.run("outdated", _FIND_SECONDS, self._storage.ledger.outdated(scope.key))
            hits = tuple(with_marks(hits, outdated or {}))
        return hits

    async def _followed(self, session: Session, kinds: Collection[str]) -> None:
        """Let the index follow the files, and where it is asked for what was said, the stored turns."""
        for scope in session.scopes:
            await self._storage.follower.refresh(scope)
        if session.recalls_episodes and _SAID in kinds:
            await self._storage.episode_follower.follow(session.scope.key)

    async def _named(self, scope: Scope, identity: str, into: list[Hit]) -> None:
        """Add what an id names to a list: there may be nothing of that name."""
        found = await self._archive.get(scope, identity)
        into += [found] if found else []

    async def _found(
        self,
        session: Session,
        query: str,
        kinds: Collection[str],
        limit: int,
        now: datetime,
        *,
        only: Filter | None,
        explain: bool,
    ) -> Found:
        searches = [
            self._storage.recaller.search(
                scope.key,
                query,
                limit=limit if _KEPT.intersection(kinds) else 0,
                episodes=limit if scope == session.scope and session.recalls_episodes and _SAID in kinds else 0,
                min_score=0.0,
                timeout_seconds=_FIND_SECONDS,
                now=now.timestamp(),
                only=only,
                explain=explain,
                asked=True,
            )
            for scope in session.scopes
        ]
        found = await self._runner.run("search", _FIND_SECONDS + 1, in_one(searches))
        if not found:
            return Found(late=True)
        told = exchanges_of(self._storage.episodes, session.scope.key, found.hits, query)
        exchanges = await self._runner.run("episodes", _FIND_SECONDS, told)
        hits = strongest(shown_exchanges(found.hits, exchanges or ()), limit)
        if session.joined:
            hits = tuple(sorted(hits, key=lambda hit: -hit.score))
        return Found(hits, late=exchanges is None, semantic=found.semantic, ranked=found.outcome)

    async def _listed(self, session: Session, only: Filter | None, limit: int) -> Found:
        async def listing() -> list[Stored]:
            return [
                row
                for scope in session.scopes
                for row in await self._storage.recaller.listed(scope.key, only or Filter(), limit)
            ]

        listed = await self._runner.run("search", _FIND_SECONDS, listing())
        newest = sorted(listed or (), key=lambda row: -row.entry.at)[:limit] if session.joined else listed
        # Chosen by its filters alone, each is just what was asked for.
        return Found((Hit.of(row, 1.0) for row in newest or ()), late=listed is None)


async def in_one(searches: Sequence[Awaitable[Recall]]) -> Recall:
    """Return the answers of searches in the scopes of a session as one, the first scope's hits first.

    What an earlier scope says is left out of a later one's. A part that was late makes the whole partial.
    """
    found = await asyncio.gather(*searches)
    if len(found) == 1:
        return found[0]
    hits: list[Hit] = []
    for answer in found:
        said = {hit.text for hit in hits}
        hits += [hit for hit in answer.hits if hit.text not in said]
    outcomes = {answer.outcome for answer in found}
    outcome: RecallOutcome = "full" if hits else "empty"
    if outcomes & {"timeout", "partial"}:
        outcome = "timeout" if outcomes == {"timeout"} else "partial"
    return Recall(
        hits=tuple(hits),
        weak=tuple(hit for answer in found for hit in answer.weak),
        outcome=outcome,
        stages=found[0].stages,
        semantic=all(answer.semantic for answer in found),
    )


def strongest(hits: Sequence[Hit], limit: int) -> tuple[Hit, ...]:
    """Return the hits with the best scores, in their order: those of several scopes stand one scope after the other."""
    chosen = {hit.id for hit in nlargest(limit, hits, key=attrgetter("score"))}
    return tuple(hit for hit in hits if hit.id in chosen)


def still_holding(hits: tuple[Hit, ...], now: datetime, zone: tzinfo | None) -> tuple[Hit, ...]:
    """Return the hits that still hold: what was of use until yesterday may stand in its file a little longer."""
    today = day_of(now.timestamp(), zone)
    return tuple(hit for hit in hits if hit.holds_on(today))


def as_query(text: str) -> Cleaned:
    """Return a message as a query: without private spans and secrets, and of a bounded length."""
    return clean(text[:_QUERY_LENGTH])
