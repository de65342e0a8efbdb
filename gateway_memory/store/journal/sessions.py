"""Sessions over a connection, by the functions of `session_state`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from gateway_memory.store.journal import session_state
from gateway_memory.store.journal.requests import Request
from gateway_memory.store.journal.session_state import (
    End,
    EndState,
    KeptObservation,
    KnownSession,
    Left,
    Observation,
    OpenSession,
)
from gateway_memory.store.journal.sql import EVERY, Database, Named, SqlConnection, distinct
from gateway_memory.store.ports import Lease

__all__ = ["Sessions"]

T = TypeVar("T")

_WITH_SCOPES: Final = ("sessions", "memories", "episodes", "reviews")
"""The tables in which a scope is that holds anything."""
_UNSAVED: Final = 100
"""The maximum number of records that are made up at once."""


class Sessions:
    """Which sessions are open, their observations and results, and how they ended. Times are epoch seconds.

    Every call may raise StoreError, and has then changed nothing. Hooks share the functions of `session_state`.
    """

    def __init__(self, connection: SqlConnection, slot: Lease) -> None:
        self._connection = connection
        self._slot = slot

    async def open(self, key: str, scope: str, session_id: str, at: float) -> tuple[str, bool]:
        """Return the id of the key's open session, and whether this call opened it, with the id `session_id`."""
        return await self._write(session_state.open_session, key, scope, session_id, at, self._slot.number, of=scope)

    async def is_open_elsewhere(self, key: str, scope: str) -> bool:
        """Return whether another living process has the key's session open."""
        query = "SELECT slot FROM sessions WHERE key = ? AND scope = ? AND ended_at IS NULL AND slot >= 0 AND slot <> ?"
        rows = await self._connection.rows(query, (key, scope, self._slot.number), of=scope)
        return bool(rows and await self._slot.living([int(row[0]) for row in rows]))

    async def open_scopes(self, key: str) -> list[str]:
        """Return the scopes in which a key has an open session."""
        query = "SELECT scope FROM sessions WHERE key = ? AND ended_at IS NULL ORDER BY opened_at, scope"
        return [str(row[0]) for row in await self._connection.rows(query, (key,))]

    async def find(self, session_id: str) -> KnownSession | None:
        """Return the session of an id, or None."""
        return await self._read(session_state.find, session_id)

    async def switches(self, session_id: str) -> Mapping[str, bool]:
        """Return the features that the user switched in a session, or in its abandoned predecessor."""
        return await self._read(session_state.switches, session_id)

    async def switch(self, session_id: str, said: Mapping[str, bool]) -> None:
        """Store the features that the user switched in a session, for every process."""
        await self._write(session_state.switch, session_id, said)

    async def observe(
        self, scope: str, session_id: str, observation: Observation, at: float, request: Request | None = None
    ) -> None:
        """Store an observation of a session. A request that is repeated stores nothing."""
        await self._write(session_state.observe, scope, session_id, [observation], at, request, of=scope)

    async def read(self, scope: str, session_id: str) -> tuple[list[Observation], Left]:
        """Return the observations of a session and its results that are still active, without forgotten text."""

        def work(database: Database) -> tuple[list[Observation], Left]:
            seen = session_state.seen_in(database, scope, session_id)
            return seen, session_state.left_by(database, scope, session_id)

        return await self._connection.read(work, of=scope)

    async def observations(self, scope: str, newest: int) -> list[KeptObservation]:
        """Return the newest observations of a scope that have a content, newest first. Forgotten text is in them."""
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
        """Return the number of observations of a session since its last stage summary."""
        ((number,),) = await self._connection.rows(
            "SELECT count(*) FROM observations WHERE session_id = ? AND scope = ? AND at > coalesce("
            "(SELECT max(at) FROM session_memories WHERE session_id = ? AND type = 'S'), 0)",
            (session_id, scope, session_id),
            of=scope,
        )
        return int(number)

    async def has_left_anything(self, scope: str, session_id: str) -> bool:
        """Return whether a fact or a stage summary of a session is active, on any day."""
        return await self._read(session_state.has_left_anything, scope, session_id, of=scope)

    async def note_memory(self, scope: str, session_id: str, memory: str, kind: str, at: float) -> None:
        """Record that a session said a memory, even if the memory existed before. kind: W, B, O or S."""
        await self._write(session_state.note_memory, scope, session_id, memory, kind, at, of=scope)

    async def take_followup(self, session_id: str) -> bool:
        """Take the only follow-up of an open session; return False if it was taken before."""
        return await self._write(session_state.take_followup, session_id)

    async def was_followed_up(self, session_id: str) -> bool:
        """Return whether the session's agent was asked to save the session."""
        return await self._read(session_state.was_followed_up, session_id)

    async def close(self, session_id: str, end: End, *, state: EndState, at: float) -> float | None:
        """End a session, and return its duration in seconds; None if it is unknown or had ended before.

        Of a session that had ended, the state is set if it was not saved yet.
        """
        return await self._write(session_state.close, session_id, end, state, at)

    async def open_in(self, scopes: Sequence[str]) -> list[OpenSession]:
        """Return the open sessions of scopes, also those of other processes."""
        return await self._read(session_state.open_in, scopes)

    async def abandoned(self, *, idle_before: float, starting: bool) -> list[OpenSession]:
        """Return the open sessions that were idle since a time, or whose process is dead.

        starting: this process has opened no session yet, so sessions under its own lease belong to a dead process.
        """
        dead = [self._slot.number] if starting else []
        for (number,) in await self._connection.rows("SELECT DISTINCT slot FROM sessions WHERE ended_at IS NULL"):
            lock = None if number == -1 else self._slot.orphan(int(number))
            if lock:
                with lock:
                    dead.append(int(number))
        return await self._read(session_state.abandoned, idle_before, dead)

    async def unsaved(self) -> list[tuple[OpenSession, End]]:
        """Return the sessions that ended and whose record could not be written, oldest first, and how they ended."""
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
        """Release this process's open sessions, so that another process can resume them."""
        await self._write(session_state.release, self._slot.number)

    async def counts(self) -> dict[str, int]:
        """Return how sessions ended and what saved them.

        The keys are ended, open, errors (ends with an error message), state.<state>, layer.<layer>, staged (sessions
        with a stage summary), followups and doubles_prevented.
        """
        return await self._read(session_state.counts, of=EVERY)

    async def scopes(self) -> list[str]:
        """Return the keys of the scopes that have sessions or memories."""
        found: set[str] = set()
        for table in _WITH_SCOPES:
            found.update(str(row[0]) for row in await self._connection.rows(distinct(table, "scope"), of=EVERY))
        return sorted(found)

    async def knows(self, scope: str) -> bool:
        """Return whether a scope holds anything but documents."""
        there = " OR ".join(f"EXISTS (SELECT 1 FROM {table} WHERE scope = ?)" for table in _WITH_SCOPES)
        rows = await self._connection.rows(f"SELECT {there}", (scope,) * len(_WITH_SCOPES), of=scope)
        return bool(rows[0][0])

    async def _read(self, work: Callable[..., T], *given: object, of: Named = ()) -> T:
        return await self._connection.read(lambda database: work(database, *given), of=of)

    async def _write(self, work: Callable[..., T], *given: object, of: Named = ()) -> T:
        return await self._connection.transact(lambda database: work(database, *given), of=of)
