"""The port `Sessions` in SQLite."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from gateway_memory.store.journal import session_state
from gateway_memory.store.journal.sql import EVERY, Database, Named, SqlConnection, distinct
from gateway_memory.store.ports.lease import Lease
from gateway_memory.store.ports.requests import Request
from gateway_memory.store.ports.sessions import (
    End,
    EndState,
    KeptObservation,
    KnownSession,
    Left,
    Observation,
    OpenSession,
)

__all__ = ["SqlSessions"]

T = TypeVar("T")

_WITH_SCOPES: Final = ("sessions", "memories", "episodes", "reviews")
"""The tables in which a scope is that holds anything."""
_UNSAVED: Final = 100
"""The maximum number of records that are made up at once."""


class SqlSessions:
    """The port on the journal's connection. It calls the functions of `session_state`, which hooks share."""

    def __init__(self, connection: SqlConnection, slot: Lease) -> None:
        self._connection = connection
        self._slot = slot

    async def open(self, key: str, scope: str, session_id: str, at: float) -> tuple[str, bool]:
        return await self._write(session_state.open_session, key, scope, session_id, at, self._slot.number, of=scope)

    async def is_open_elsewhere(self, key: str, scope: str) -> bool:
        query = "SELECT slot FROM sessions WHERE key = ? AND scope = ? AND ended_at IS NULL AND slot >= 0 AND slot <> ?"
        rows = await self._connection.rows(query, (key, scope, self._slot.number), of=scope)
        return bool(rows and await self._slot.living([int(row[0]) for row in rows]))

    async def open_scopes(self, key: str) -> list[str]:
        query = "SELECT scope FROM sessions WHERE key = ? AND ended_at IS NULL ORDER BY opened_at, scope"
        return [str(row[0]) for row in await self._connection.rows(query, (key,))]

    async def find(self, session_id: str) -> KnownSession | None:
        return await self._read(session_state.find, session_id)

    async def switches(self, session_id: str) -> Mapping[str, bool]:
        return await self._read(session_state.switches, session_id)

    async def switch(self, session_id: str, said: Mapping[str, bool]) -> None:
        await self._write(session_state.switch, session_id, said)

    async def observe(
        self, scope: str, session_id: str, observation: Observation, at: float, request: Request | None = None
    ) -> None:
        await self._write(session_state.observe, scope, session_id, [observation], at, request, of=scope)

    async def read(self, scope: str, session_id: str) -> tuple[list[Observation], Left]:

        def work(database: Database) -> tuple[list[Observation], Left]:
            seen = session_state.seen_in(database, scope, session_id)
            return seen, session_state.left_by(database, scope, session_id)

        return await self._connection.read(work, of=scope)

    async def observations(self, scope: str, newest: int) -> list[KeptObservation]:
        rows = await self._connection.rows(
            "SELECT o.id, o.session_id, coalesce(s.key, ''), o.at, o.kind, o.tool, o.content FROM observations o "
            "LEFT JOIN sessions s ON s.session_id = o.session_id "
            "WHERE o.scope = ? AND NOT o.private AND o.content <> '' ORDER BY o.id DESC LIMIT ?",
            (scope, newest),
            of=scope,
        )
        names = ("number", "session_id", "session_key", "at", "kind", "tool", "content")
        return [KeptObservation(**dict(zip(names, row, strict=True))) for row in rows]

    async def observed_since_stage(self, scope: str, session_id: str) -> int:
        ((number,),) = await self._connection.rows(
            "SELECT count(*) FROM observations WHERE session_id = ? AND scope = ? AND at > coalesce("
            "(SELECT max(at) FROM session_memories WHERE session_id = ? AND type = 'S'), 0)",
            (session_id, scope, session_id),
            of=scope,
        )
        return int(number)

    async def has_left_anything(self, scope: str, session_id: str) -> bool:
        return await self._read(session_state.has_left_anything, scope, session_id, of=scope)

    async def note_memory(self, scope: str, session_id: str, memory: str, kind: str, at: float) -> None:
        await self._write(session_state.note_memory, scope, session_id, memory, kind, at, of=scope)

    async def take_followup(self, session_id: str) -> bool:
        return await self._write(session_state.take_followup, session_id)

    async def was_followed_up(self, session_id: str) -> bool:
        return await self._read(session_state.was_followed_up, session_id)

    async def close(self, session_id: str, end: End, *, state: EndState, at: float) -> float | None:
        return await self._write(session_state.close, session_id, end, state, at)

    async def open_in(self, scopes: Sequence[str]) -> list[OpenSession]:
        return await self._read(session_state.open_in, scopes)

    async def abandoned(self, *, idle_before: float, starting: bool) -> list[OpenSession]:
        dead = [self._slot.number] if starting else []
        for (number,) in await self._connection.rows("SELECT DISTINCT slot FROM sessions WHERE ended_at IS NULL"):
            lock = None if number == -1 else self._slot.orphan(int(number))
            if lock:
                with lock:
                    dead.append(int(number))
        return await self._read(session_state.abandoned, idle_before, dead)

    async def unsaved(self) -> list[tuple[OpenSession, End]]:
        rows = await self._connection.rows(
            "SELECT session_id, key, scope, opened_at, seen_at, reason, error, duration_ms FROM sessions "
            "WHERE ended_at IS NOT NULL AND state = 'unsaved' ORDER BY ended_at LIMIT ?",
            (_UNSAVED,),
        )
        return [
            (
                OpenSession(session_id=session_id, key=key, scope=scope, opened_at=opened_at, seen_at=seen_at),
                End(reason=reason, error=error, duration_ms=duration_ms),
            )
            for session_id, key, scope, opened_at, seen_at, reason, error, duration_ms in rows
        ]

    async def release(self) -> None:
        await self._write(session_state.release, self._slot.number)

    async def counts(self) -> dict[str, int]:
        return await self._read(session_state.counts, of=EVERY)

    async def scopes(self) -> list[str]:
        found: set[str] = set()
        for table in _WITH_SCOPES:
            found.update(str(row[0]) for row in await self._connection.rows(distinct(table, "scope"), of=EVERY))
        return sorted(found)

    async def knows(self, scope: str) -> bool:
        there = " OR ".join(f"EXISTS (SELECT 1 FROM {table} WHERE scope = ?)" for table in _WITH_SCOPES)
        rows = await self._connection.rows(f"SELECT {there}", (scope,) * len(_WITH_SCOPES), of=scope)
        return bool(rows[0][0])

    async def _read(self, work: Callable[..., T], *given: object, of: Named = ()) -> T:
        return await self._connection.read(lambda database: work(database, *given), of=of)

    async def _write(self, work: Callable[..., T], *given: object, of: Named = ()) -> T:
        return await self._connection.transact(lambda database: work(database, *given), of=of)
