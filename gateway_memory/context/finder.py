"""Searches that a host, its tools or a person asks for: the best hits, weak ones too."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import Final

from extractor import Cleaned, clean
from gateway_memory.context.archive import ARCHIVED, Archive
from gateway_memory.context.deadline_runner import DeadlineRunner
from gateway_memory.context.episodes import exchanges_of, shown_exchanges, told_hit
from gateway_memory.runtime.clock import day_of
from gateway_memory.runtime.runtime import Runtime
from gateway_memory.session import Session
from gateway_memory.sync.storage import Storage
from recall import Filter, Hit, talk_of

__all__ = ["RECALLED", "Finder", "as_query", "still_holding"]

_FIND_SECONDS: Final = 10.0
_QUERY_LENGTH: Final = 8000
_MOST_FILTERED: Final = 50
"""The hits to choose from where only some kinds are wanted."""
RECALLED: Final = frozenset({"memory", "note", "episode"})
"""The kinds of hits that recall finds."""
_SAID: Final = "episode"
_KEPT: Final = RECALLED - {_SAID}


class Finder:
    """Finds hits and returns them again by their ids. The deadline is generous, and a part that fails is logged."""

    def __init__(self, runtime: Runtime, storage: Storage, runner: DeadlineRunner) -> None:
        self._runtime = runtime
        self._storage = storage
        self._runner = runner
        self._archive = Archive(storage)

    async def find(
        self, session: Session, query: str, limit: int, *, kinds: Collection[str], only: Filter | None, explain: bool
    ) -> tuple[Hit, ...]:
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
        hits: tuple[Hit, ...] = ()
        if ARCHIVED.intersection(kinds):
            archived = self._archive.find(session.scope, "" if talk else query, kinds, limit, only)
            hits = tuple(await self._runner.run("archive", _FIND_SECONDS, archived) or ())
        if RECALLED.intersection(kinds):
            await self._runner.run("sync", _FIND_SECONDS, self._storage.follower.refresh(session.scope))
            wanted = limit if RECALLED.issubset(kinds) else max(limit, _MOST_FILTERED)
            if query.strip():
                found = await self._found(session, query, kinds, wanted, now, only=only, explain=explain)
            else:
                found = await self._listed(session, only, wanted)
            found = tuple(hit for hit in still_holding(found, now, self._runtime.zone) if hit.kind in kinds)
            hits = tuple(sorted((*found, *hits), key=lambda hit: -hit.score)) if hits else found
        return hits[:limit]

    async def get(self, session: Session, identity: str, around: int) -> tuple[Hit, ...]:
        """Return what a hit's id names; a memory or a turn with up to `around` turns before and after, oldest first."""
        storage, scope = self._storage, session.scope
        if "-" in identity:  # the ids of memories and of turns have no hyphen
            archived = await self._runner.run("archive", _FIND_SECONDS, self._archive.get(scope, identity))
            return (archived,) if archived else ()
        await self._runner.run("sync", _FIND_SECONDS, storage.follower.refresh(scope))
        row = await storage.recaller.get(scope.key, identity)
        if row is None:
            return ()
        of_turn = session.recalls_episodes and row.entry.turn
        turns = await storage.episodes.around(scope.key, row.entry.turn, around) if of_turn else []
        told = await storage.episodes.told(scope.key, turns)
        said = {turn: hit for turn in turns if (hit := told_hit(told, turn))}
        if row.entry.kind == "episode":
            return tuple(said.values()) if row.entry.turn in said else ()
        found = still_holding((Hit.of(row, 1.0),), self._runtime.clock(), self._runtime.zone)
        before = [hit for turn, hit in said.items() if turn < row.entry.turn]
        from_it = [hit for turn, hit in said.items() if turn >= row.entry.turn]
        return (*before, *found, *from_it) if found else ()

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
    ) -> tuple[Hit, ...]:
        search = self._storage.recaller.search(
            session.scope.key,
            query,
            limit=limit if _KEPT.intersection(kinds) else 0,
            episodes=limit if session.recalls_episodes and _SAID in kinds else 0,
            min_score=0.0,
            timeout_seconds=_FIND_SECONDS,
            now=now.timestamp(),
            only=only,
            explain=explain,
            asked=True,
        )
        found = await self._runner.run("search", _FIND_SECONDS + 1, search)
        if not found:
            return ()
        told = exchanges_of(self._storage.episodes, session.scope.key, found.hits, query)
        exchanges = await self._runner.run("episodes", _FIND_SECONDS, told) or ()
        return shown_exchanges(found.hits, exchanges)[:limit]

    async def _listed(self, session: Session, only: Filter | None, limit: int) -> tuple[Hit, ...]:
        listed = self._storage.recaller.listed(session.scope.key, only or Filter(), limit)
        # Chosen by its filters alone, each is just what was asked for.
        return tuple(Hit.of(row, 1.0) for row in await self._runner.run("search", _FIND_SECONDS, listed) or ())


def still_holding(hits: tuple[Hit, ...], now: datetime, zone: tzinfo | None) -> tuple[Hit, ...]:
    """Return the hits that still hold: what was of use until yesterday may stand in its file a little longer."""
    today = day_of(now.timestamp(), zone)
    return tuple(hit for hit in hits if hit.holds_on(today))


def as_query(text: str) -> Cleaned:
    """Return a message as a query: without private spans and secrets, and of a bounded length."""
    return clean(text[:_QUERY_LENGTH])
