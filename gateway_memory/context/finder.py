"""Searches that a host, its tools or a person asks for: the best hits, weak ones too."""

from dataclasses import replace
from datetime import datetime, tzinfo
from typing import Final

from extractor import Cleaned, clean
from gateway_memory.clock import day_of
from gateway_memory.context.deadline_runner import DeadlineRunner
from gateway_memory.context.episodes import exchanges_of, shown_exchanges, told_hit
from gateway_memory.runtime import Runtime
from gateway_memory.session import Session
from gateway_memory.sync.storage import Storage
from recall import Filter, Hit, talk_of

__all__ = ["Finder", "as_query", "still_holding"]

_FIND_SECONDS: Final = 10.0
_QUERY_LENGTH: Final = 8000


class Finder:
    """Finds hits and returns them again by their ids. The deadline is generous, and a part that fails is logged."""

    def __init__(self, runtime: Runtime, storage: Storage, runner: DeadlineRunner) -> None:
        self._runtime = runtime
        self._storage = storage
        self._runner = runner

    async def find(
        self, session: Session, query: str, limit: int, now: datetime, *, only: Filter | None, explain: bool
    ) -> tuple[Hit, ...]:
        """Return the best hits of a search that was asked for: weak ones too, and the deadline is generous.

        A query for the talk of a time finds what is of that time alone.
        """
        talk = talk_of(query, now.timestamp(), self._runtime.zone)
        if talk and (only is None or (only.since is None and only.until is None)):
            only = replace(only or Filter(), since=talk.start, until=talk.end)
        await self._runner.run("sync", _FIND_SECONDS, self._storage.follower.refresh(session.scope))
        if query.strip():
            hits = await self._found(session, query, limit, now, only=only, explain=explain)
        else:
            hits = await self._listed(session, only, limit)
        return still_holding(hits, now, self._runtime.zone)

    async def get(self, session: Session, identity: str, around: int) -> tuple[Hit, ...]:
        """Return a memory or a turn by its hit's id, with up to `around` turns before and after it, oldest first."""
        storage, scope = self._storage, session.scope
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
        self, session: Session, query: str, limit: int, now: datetime, *, only: Filter | None, explain: bool
    ) -> tuple[Hit, ...]:
        search = self._storage.recaller.search(
            session.scope.key,
            query,
            limit=limit,
            episodes=limit if session.recalls_episodes else 0,
            min_score=0.0,
            timeout_seconds=_FIND_SECONDS,
            now=now.timestamp(),
            only=only,
            explain=explain,
            patient=True,
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
