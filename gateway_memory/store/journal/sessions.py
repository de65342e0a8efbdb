"""Sessions: which are open, their observations and results, how they ended, and the turns that they accept."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final, Literal

from gateway_memory.ground.databases import EVERY, Database
from gateway_memory.store.journal.opened import (
    Observation,
    has_left_anything,
    observe,
    seen_in,
    switches,
    switches_of,
    take_followup,
    touch,
)
from gateway_memory.store.journal.requests import Request
from gateway_memory.store.journal.sql import (
    AMONG,
    AMONG_NUMBERS,
    SQL,
    ProcessSlot,
    SqlConnection,
    Table,
    columns_of,
    distinct,
    made,
)
from gateway_memory.store.journal.withheld import withheld

EndState = Literal["saved", "unsaved", "nothing"]
COUNTED: Final = frozenset(
    "ended open errors followups doubles_prevented staged state.saved state.unsaved state.nothing layer.agent "
    "layer.followup layer.end layer.imported".split()
)
"""The fixed names in `counts`. A record's layer may be any name that its writer chooses."""
_LONGEST_REASON: Final = 80
_LONGEST_ERROR: Final = 2_000
_READY: Final = SQL["sessions.mark_delivered"]
_WITH_SCOPES: Final = ("sessions", "memories", "episodes", "reviews")
"""The tables in which a scope is that holds anything."""
_UNSAVED: Final = 100
"""The maximum number of records that are made up at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptObservation:
    """An observation as it is stored, with its number and its session. at: epoch seconds."""

    number: int
    session_id: str
    session_key: str
    at: float
    kind: str
    tool: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The results of a session, oldest first: facts, those facts that are decisions, and stage summaries."""

    facts: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How a session ends, as reported by its host. error: what went wrong, or ""."""

    reason: str
    error: str = ""
    duration_ms: int | None = None

    @classmethod
    def of(cls, *, reason: str, error: str, duration_ms: int | None) -> "End":
        """Return an end whose texts are cleaned and shortened for storage."""
        from extractor import clean  # most hooks do not need this import

        return cls(
            reason=" ".join(clean(reason).text.split())[:_LONGEST_REASON],
            error=clean(error[: 2 * _LONGEST_ERROR]).text[:_LONGEST_ERROR],
            duration_ms=duration_ms,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSession:
    """A session that has not ended. Times are epoch seconds."""

    session_id: str
    key: str
    scope: str
    opened_at: float
    seen_at: float


@dataclass(frozen=True, slots=True)
class KnownSession:
    """The stored data of a session.

    opened_at: epoch seconds. switches: the features that the user switched, by name. joined: the keys of the shared
    scopes that it reads, with line breaks between.
    """

    session_id: str
    key: str
    scope: str
    opened_at: float
    ended: bool
    switches: Mapping[str, bool]
    joined: str


class Sessions(Table):
    """Which sessions are open, their observations and results, and how they ended. Times are epoch seconds.

    Every call may raise StoreError, and has then changed nothing. Hooks share the functions below.
    """

    def __init__(self, connection: SqlConnection, slot: ProcessSlot) -> None:
        super().__init__(connection)
        self._slot = slot

    async def open(self, key: str, scope: str, session_id: str, at: float, *, joined: str = "") -> tuple[str, bool]:
        """Return the id of the key's open session, and whether this call opened it, with the id `session_id`.

        joined: the keys of the shared scopes that its host has named, one a line.
        For a new session, all events that are ready now count as delivered. Numbers are compared, since the clocks of
        machines differ.
        """
        scopes = [scope, *joined.splitlines()]

        def work(database: Database) -> tuple[str, bool]:
            opened = database.execute(SQL["sessions.open"], (session_id, key, scope, at, at))
            if opened.rowcount:
                database.execute(_READY, (scope, session_id, json.dumps(scopes), self._slot.number))
            mine = "UPDATE sessions SET slot = ?, joined = ? WHERE key = ? AND scope = ? AND ended_at IS NULL"
            database.execute(mine, (self._slot.number, joined, key, scope))
            query = "SELECT session_id FROM sessions WHERE key = ? AND scope = ? AND ended_at IS NULL"
            return str(database.execute(query, (key, scope)).fetchone()[0]), bool(opened.rowcount)

        return await self._write(scopes, work)

    async def join(self, session_id: str, joined: str) -> None:
        """Store the keys of the shared scopes that a session reads beside its own, with line breaks between."""
        await self._change((), "UPDATE sessions SET joined = ? WHERE session_id = ?", joined, session_id)

    async def is_open_elsewhere(self, key: str, scope: str) -> bool:
        """Return whether another living process has the key's session open."""
        query = "SELECT slot FROM sessions WHERE key = ? AND scope = ? AND ended_at IS NULL AND slot >= 0 AND slot <> ?"
        slots = await self._column(scope, query, key, scope, self._slot.number)
        return bool(slots and await self._slot.living(slots))

    async def open_scopes(self, key: str) -> list[tuple[str, str]]:
        """Return the scopes in which a key has an open session, each with the keys that the session has joined."""
        query = "SELECT scope, joined FROM sessions WHERE key = ? AND ended_at IS NULL ORDER BY opened_at, scope"
        return await self._rows((), query, key)

    async def find(self, session_id: str) -> KnownSession | None:
        """Return the session of an id, or None."""
        columns = "key, scope, opened_at, ended_at IS NOT NULL, switches, joined"
        query = f"SELECT {columns} FROM sessions WHERE session_id = ?"
        for key, scope, opened_at, ended, body, joined in await self._rows((), query, session_id):
            switches = switches_of(body)
            return KnownSession(session_id, key, scope, opened_at, ended=bool(ended), switches=switches, joined=joined)
        return None

    async def switches(self, session_id: str) -> Mapping[str, bool]:
        """Return the features that the user switched in a session, or in its abandoned predecessor."""
        return await self._read((), switches, session_id)

    async def switch(self, session_id: str, switches: Mapping[str, bool]) -> None:
        """Store the features that the user switched in a session, for every process."""
        query = "UPDATE sessions SET switches = ? WHERE session_id = ?"
        await self._change((), query, json.dumps(dict(switches)), session_id)

    async def observe(
        self, scope: str, session_id: str, observation: Observation, at: float, request: Request | None = None
    ) -> None:
        """Store an observation of a session. A request that is repeated stores nothing."""
        await self._write(scope, observe, scope, session_id, [observation], at, request)

    async def read(self, scope: str, session_id: str) -> tuple[list[Observation], Results]:
        """Return the observations of a session and its results that are still active, without forgotten text."""

        def work(database: Database) -> tuple[list[Observation], Results]:
            return seen_in(database, scope, session_id), _results_of(database, scope, session_id)

        return await self._read(scope, work)

    async def observations(self, scope: str, newest: int) -> list[KeptObservation]:
        """Return the newest observations of a scope that have a content, newest first. Forgotten text is in them."""
        return made(KeptObservation, await self._rows(scope, SQL["sessions.observations"], scope, newest))

    async def observed_since_stage(self, scope: str, session_id: str) -> int:
        """Return the number of observations of a session since its last stage summary."""
        (number,) = await self._column(scope, SQL["sessions.observed_since_stage"], session_id, scope, session_id)
        return int(number)

    async def has_left_anything(self, scope: str, session_id: str) -> bool:
        """Return whether a fact or a stage summary of a session is active, on any day."""
        return await self._read(scope, has_left_anything, scope, session_id)

    async def note_memory(self, scope: str, session_id: str, memory: str, kind: str, at: float) -> None:
        """Record that a session said a memory, even if the memory existed before. kind: W, B, O or S."""

        def work(database: Database) -> None:
            query = "INSERT INTO session_memories VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
            database.execute(query, (session_id, scope, memory, kind, at))
            touch(database, session_id, at)

        await self._write(scope, work)

    async def take_followup(self, session_id: str) -> bool:
        """Take the only follow-up of an open session; return False if it was taken before."""
        return await self._write((), take_followup, session_id)

    async def was_followed_up(self, session_id: str) -> bool:
        """Return whether the session's agent was asked to save the session."""
        return bool(await self._rows((), "SELECT 1 FROM sessions WHERE session_id = ? AND followups > 0", session_id))

    async def close(self, session_id: str, end: End, *, state: EndState, at: float) -> float | None:
        """End a session, and return its duration in seconds; None if it is unknown or had ended before.

        If the host reports no duration, the time since the session was opened is stored. Of a session that had ended,
        the state is set if it was not saved yet.
        """

        def work(database: Database) -> float | None:
            values = (at, end.reason, state, end.error, end.duration_ms, at, session_id)
            row = database.execute(SQL["sessions.close"], values).fetchone()
            if row is None:
                query = "UPDATE sessions SET state = ? WHERE session_id = ? AND state IN ('nothing', 'unsaved')"
                database.execute(query, (state, session_id))
            return max(0.0, at - row[0]) if row else None

        return await self._write((), work)

    async def open_in(self, scopes: Sequence[str]) -> list[OpenSession]:
        """Return the open sessions of scopes, also those of other processes."""
        return await self._open(f"scope IN {AMONG} ORDER BY seen_at", json.dumps(list(scopes)))

    async def abandoned(self, *, idle_before: float, starting: bool) -> list[OpenSession]:
        """Return the open sessions that were idle since a time, or whose process is dead.

        starting: this process has opened no session yet, so sessions under its own lease belong to a dead process.
        """
        dead = [self._slot.number] if starting else []
        for number in await self._column((), "SELECT DISTINCT slot FROM sessions WHERE ended_at IS NULL"):
            if number != -1 and (lock := self._slot.orphan(number)):
                with lock:
                    dead.append(number)
        which = f"(seen_at < ? OR slot IN {AMONG_NUMBERS}) ORDER BY seen_at"
        return await self._open(which, idle_before, json.dumps(dead))

    async def unsaved(self) -> list[tuple[OpenSession, End]]:
        """Return the sessions that ended and whose record could not be written, oldest first, and how they ended."""
        query = (
            f"SELECT {columns_of(OpenSession)}, {columns_of(End)} FROM sessions "
            "WHERE ended_at IS NOT NULL AND state = 'unsaved' ORDER BY ended_at LIMIT ?"
        )
        rows = await self._rows((), query, _UNSAVED)
        size = len(fields(OpenSession))
        sessions, ends = made(OpenSession, [row[:size] for row in rows]), made(End, [row[size:] for row in rows])
        return list(zip(sessions, ends, strict=True))

    async def ended(self, session_ids: Sequence[str]) -> list[tuple[OpenSession, End]]:
        """Return those of these sessions that have ended, in this order, and how; `seen_at` is when."""
        names = columns_of(OpenSession).replace('"seen_at"', "ended_at")
        query = f"SELECT {names}, {columns_of(End)} FROM sessions WHERE ended_at IS NOT NULL AND session_id IN {AMONG} "
        query += "ORDER BY ended_at"
        rows = await self._rows((), query, json.dumps(list(session_ids)))
        size = len(fields(OpenSession))
        sessions, ends = made(OpenSession, [row[:size] for row in rows]), made(End, [row[size:] for row in rows])
        return list(zip(sessions, ends, strict=True))

    async def release(self) -> None:
        """Release this process's open sessions, so that another process can resume them."""
        query = "UPDATE sessions SET slot = -1 WHERE slot = ? AND ended_at IS NULL"
        await self._change((), query, self._slot.number)

    async def counts(self) -> dict[str, int]:
        """Return how sessions ended and what saved them.

        The keys are ended, open, errors (ends with an error message), state.<state>, layer.<layer>, staged (sessions
        with a stage summary), followups and doubles_prevented.
        """

        def work(database: Database) -> dict[str, int]:
            counts: dict[str, int] = {"ended": 0, "open": 0, "errors": 0, "followups": 0, "doubles_prevented": 0}
            query = "SELECT name, sum(number) FROM session_totals GROUP BY name HAVING sum(number) <> 0"
            counts.update((str(name), int(number)) for name, number in database.execute(query))
            query = "SELECT count(DISTINCT session_id) FROM session_memories WHERE type = 'S'"
            counts["staged"] = int(database.execute(query).fetchone()[0])
            counts.update(database.execute("SELECT name, number FROM session_counts").fetchall())
            return counts

        return await self._read(EVERY, work)

    async def scopes(self) -> list[str]:
        """Return the keys of the scopes that have sessions or memories."""
        tables = [await self._column(EVERY, distinct(table, "scope")) for table in _WITH_SCOPES]
        return sorted({scope for scopes in tables for scope in scopes})

    async def knows(self, scope: str) -> bool:
        """Return whether a scope holds anything but documents."""
        known = " OR ".join(f"EXISTS (SELECT 1 FROM {table} WHERE scope = ?)" for table in _WITH_SCOPES)
        (is_known,) = await self._column(scope, f"SELECT {known}", *(scope for _ in _WITH_SCOPES))
        return bool(is_known)

    async def _open(self, which: str, *values: object) -> list[OpenSession]:
        query = f"SELECT {columns_of(OpenSession)} FROM sessions WHERE ended_at IS NULL AND {which}"
        return made(OpenSession, await self._rows((), query, *values))


def _results_of(database: Database, scope: str, session_id: str) -> Results:
    rows = database.execute(SQL["sessions.results"], (session_id, scope)).fetchall()
    hidden = withheld(database, scope)
    stages = (hidden.cut(text) for kind, _, text in rows if kind == "S")
    return Results(
        facts=tuple(text for kind, _, text in rows if kind != "S"),
        decisions=tuple(text for kind, category, text in rows if kind != "S" and category == "decision"),
        stages=tuple(text for text in stages if text.strip()),
    )
