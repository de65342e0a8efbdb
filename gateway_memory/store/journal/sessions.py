"""Sessions: which are open, their observations and results, and how they ended."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from gateway_memory.runtime.ground import EVERY, Database
from gateway_memory.store.journal import session_state
from gateway_memory.store.journal.requests import Request
from gateway_memory.store.journal.session_state import Observation
from gateway_memory.store.journal.sql import AMONG, AMONG_NUMBERS, Lease, Scopes, SqlConnection, distinct
from gateway_memory.store.journal.withheld import withheld

T = TypeVar("T")

EndState = Literal["saved", "unsaved", "nothing"]
COUNTED: Final = frozenset(
    "ended open errors followups doubles_prevented staged state.saved state.unsaved state.nothing layer.agent "
    "layer.followup layer.end layer.imported".split()
)
"""The fixed names in `counts`. A record's layer may be any name that its writer chooses."""
SHARED_KEY: Final = "a session key in two processes"
"""The place of the failure that is noted where a session is opened that another living process has open."""
_LONGEST_REASON: Final = 80
_LONGEST_ERROR: Final = 2_000
_READY: Final = (
    "INSERT INTO told SELECT ?, k.origin, min(max(k.number), coalesce((SELECT min(e.number) - 1 FROM events e "
    "WHERE e.origin = k.origin AND e.scope = ? AND e.plan IS NOT NULL), max(k.number))) FROM (SELECT origin, number "
    "FROM heard WHERE slot = ? UNION ALL SELECT origin, head FROM sources) AS k GROUP BY k.origin"
)
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
class Left:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSession:
    """The stored data of a session.

    switches: the features that the user switched, by name. joined: the key of the shared scope that it reads, or "".
    """

    session_id: str
    key: str
    scope: str
    ended: bool
    switches: Mapping[str, bool]
    joined: str


class Sessions:
    """Which sessions are open, their observations and results, and how they ended. Times are epoch seconds.

    Every call may raise StoreError, and has then changed nothing. Hooks share the functions of `session_state`.
    """

    def __init__(self, connection: SqlConnection, slot: Lease) -> None:
        self._connection = connection
        self._slot = slot

    async def open(self, key: str, scope: str, session_id: str, at: float, *, joined: str = "") -> tuple[str, bool]:
        """Return the id of the key's open session, and whether this call opened it, with the id `session_id`.

        joined: the key of the shared scope that its host has named, or "".
        Events that are ready now count as delivered to a new one, by their numbers: clocks of hosts differ.
        """

        def work(database: Database) -> tuple[str, bool]:
            opened = database.execute(
                "INSERT INTO sessions (session_id, key, scope, opened_at, seen_at) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT DO NOTHING",
                (session_id, key, scope, at, at),
            )
            if opened.rowcount:
                database.execute(_READY, (session_id, scope, self._slot.number))
            mine = "UPDATE sessions SET slot = ?, joined = ? WHERE key = ? AND scope = ? AND ended_at IS NULL"
            database.execute(mine, (self._slot.number, joined, key, scope))
            query = "SELECT session_id FROM sessions WHERE key = ? AND scope = ? AND ended_at IS NULL"
            return str(database.execute(query, (key, scope)).fetchone()[0]), bool(opened.rowcount)

        return await self._connection.transact(work, scopes=scope)

    async def join(self, session_id: str, joined: str) -> None:
        """Store the key of the shared scope that a session reads beside its own, "" for none."""
        await self._change("UPDATE sessions SET joined = ? WHERE session_id = ?", joined, session_id)

    async def is_open_elsewhere(self, key: str, scope: str) -> bool:
        """Return whether another living process has the key's session open."""
        query = "SELECT slot FROM sessions WHERE key = ? AND scope = ? AND ended_at IS NULL AND slot >= 0 AND slot <> ?"
        rows = await self._connection.rows(query, (key, scope, self._slot.number), scopes=scope)
        return bool(rows and await self._slot.living([int(row[0]) for row in rows]))

    async def open_scopes(self, key: str) -> list[str]:
        """Return the scopes in which a key has an open session."""
        query = "SELECT scope FROM sessions WHERE key = ? AND ended_at IS NULL ORDER BY opened_at, scope"
        return [str(row[0]) for row in await self._connection.rows(query, (key,))]

    async def find(self, session_id: str) -> KnownSession | None:
        """Return the session of an id, or None."""
        query = "SELECT key, scope, ended_at IS NOT NULL, switches, joined FROM sessions WHERE session_id = ?"
        for key, scope, ended, switches, joined in await self._connection.rows(query, (session_id,)):
            return KnownSession(
                session_id=session_id,
                key=key,
                scope=scope,
                ended=bool(ended),
                switches=session_state.switches_of(switches),
                joined=joined,
            )
        return None

    async def switches(self, session_id: str) -> Mapping[str, bool]:
        """Return the features that the user switched in a session, or in its abandoned predecessor."""
        return await self._read(session_state.switches, session_id)

    async def switch(self, session_id: str, said: Mapping[str, bool]) -> None:
        """Store the features that the user switched in a session, for every process."""
        await self._change("UPDATE sessions SET switches = ? WHERE session_id = ?", json.dumps(dict(said)), session_id)

    async def observe(
        self, scope: str, session_id: str, observation: Observation, at: float, request: Request | None = None
    ) -> None:
        """Store an observation of a session. A request that is repeated stores nothing."""
        await self._write(session_state.observe, scope, session_id, [observation], at, request, scopes=scope)

    async def read(self, scope: str, session_id: str) -> tuple[list[Observation], Left]:
        """Return the observations of a session and its results that are still active, without forgotten text."""

        def work(database: Database) -> tuple[list[Observation], Left]:
            seen = session_state.seen_in(database, scope, session_id)
            return seen, _left_by(database, scope, session_id)

        return await self._connection.read(work, scopes=scope)

    async def observations(self, scope: str, newest: int) -> list[KeptObservation]:
        """Return the newest observations of a scope that have a content, newest first. Forgotten text is in them."""
        rows = await self._connection.rows(
            "SELECT o.id, o.session_id, coalesce(s.key, ''), o.at, o.kind, o.tool, o.content FROM observations o "
            "LEFT JOIN sessions s ON s.session_id = o.session_id "
            "WHERE o.scope = ? AND NOT o.private AND o.content <> '' ORDER BY o.id DESC LIMIT ?",
            (scope, newest),
            scopes=scope,
        )
        names = ("number", "session_id", "session_key", "at", "kind", "tool", "content")
        return [KeptObservation(**dict(zip(names, row, strict=True))) for row in rows]

    async def observed_since_stage(self, scope: str, session_id: str) -> int:
        """Return the number of observations of a session since its last stage summary."""
        ((number,),) = await self._connection.rows(
            "SELECT count(*) FROM observations WHERE session_id = ? AND scope = ? AND at > coalesce("
            "(SELECT max(at) FROM session_memories WHERE session_id = ? AND type = 'S'), 0)",
            (session_id, scope, session_id),
            scopes=scope,
        )
        return int(number)

    async def has_left_anything(self, scope: str, session_id: str) -> bool:
        """Return whether a fact or a stage summary of a session is active, on any day."""
        return await self._read(session_state.has_left_anything, scope, session_id, scopes=scope)

    async def note_memory(self, scope: str, session_id: str, memory: str, kind: str, at: float) -> None:
        """Record that a session said a memory, even if the memory existed before. kind: W, B, O or S."""

        def work(database: Database) -> None:
            query = "INSERT INTO session_memories VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
            database.execute(query, (session_id, scope, memory, kind, at))
            session_state.touch(database, session_id, at)

        await self._connection.transact(work, scopes=scope)

    async def take_followup(self, session_id: str) -> bool:
        """Take the only follow-up of an open session; return False if it was taken before."""
        return await self._write(session_state.take_followup, session_id)

    async def was_followed_up(self, session_id: str) -> bool:
        """Return whether the session's agent was asked to save the session."""
        query = "SELECT 1 FROM sessions WHERE session_id = ? AND followups > 0"
        return bool(await self._connection.rows(query, (session_id,)))

    async def close(self, session_id: str, end: End, *, state: EndState, at: float) -> float | None:
        """End a session, and return its duration in seconds; None if it is unknown or had ended before.

        If the host reports no duration, the time since the session was opened is stored. Of a session that had ended,
        the state is set if it was not saved yet.
        """

        def work(database: Database) -> float | None:
            query = (
                "UPDATE sessions SET ended_at = ?, reason = ?, state = ?, error = ?, "
                "duration_ms = coalesce(?, max(0, round(1000 * (? - opened_at)))) "
                "WHERE session_id = ? AND ended_at IS NULL RETURNING opened_at"
            )
            values = (at, end.reason, state, end.error, end.duration_ms, at, session_id)
            row = database.execute(query, values).fetchone()
            if row is None:
                query = "UPDATE sessions SET state = ? WHERE session_id = ? AND state IN ('nothing', 'unsaved')"
                database.execute(query, (state, session_id))
            return max(0.0, at - row[0]) if row else None

        return await self._connection.transact(work)

    async def open_in(self, scopes: Sequence[str]) -> list[OpenSession]:
        """Return the open sessions of scopes, also those of other processes."""
        return await self._open(f"scope IN {AMONG} ORDER BY seen_at", json.dumps(list(scopes)))

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
        which = f"(seen_at < ? OR slot IN {AMONG_NUMBERS}) ORDER BY seen_at"
        return await self._open(which, idle_before, json.dumps(dead))

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
        await self._change("UPDATE sessions SET slot = -1 WHERE slot = ? AND ended_at IS NULL", self._slot.number)

    async def counts(self) -> dict[str, int]:
        """Return how sessions ended and what saved them.

        The keys are ended, open, errors (ends with an error message), state.<state>, layer.<layer>, staged (sessions
        with a stage summary), followups and doubles_prevented.
        """

        def work(database: Database) -> dict[str, int]:
            found: dict[str, int] = {"ended": 0, "open": 0, "errors": 0, "followups": 0, "doubles_prevented": 0}
            query = "SELECT name, sum(number) FROM session_totals GROUP BY name HAVING sum(number) <> 0"
            found.update((str(name), int(number)) for name, number in database.execute(query))
            query = "SELECT count(DISTINCT session_id) FROM session_memories WHERE type = 'S'"
            found["staged"] = int(database.execute(query).fetchone()[0])
            found.update(database.execute("SELECT name, number FROM session_counts").fetchall())
            return found

        return await self._connection.read(work, scopes=EVERY)

    async def scopes(self) -> list[str]:
        """Return the keys of the scopes that have sessions or memories."""
        found: set[str] = set()
        for table in _WITH_SCOPES:
            found.update(str(row[0]) for row in await self._connection.rows(distinct(table, "scope"), scopes=EVERY))
        return sorted(found)

    async def knows(self, scope: str) -> bool:
        """Return whether a scope holds anything but documents."""
        there = " OR ".join(f"EXISTS (SELECT 1 FROM {table} WHERE scope = ?)" for table in _WITH_SCOPES)
        rows = await self._connection.rows(f"SELECT {there}", (scope,) * len(_WITH_SCOPES), scopes=scope)
        return bool(rows[0][0])

    async def _read(self, work: Callable[..., T], *given: object, scopes: Scopes = ()) -> T:
        return await self._connection.read(lambda database: work(database, *given), scopes=scopes)

    async def _write(self, work: Callable[..., T], *given: object, scopes: Scopes = ()) -> T:
        return await self._connection.transact(lambda database: work(database, *given), scopes=scopes)

    async def _change(self, query: str, *values: object) -> None:
        await self._connection.transact(lambda database: database.execute(query, values).rowcount)

    async def _open(self, which: str, *values: object) -> list[OpenSession]:
        names = ("session_id", "key", "scope", "opened_at", "seen_at")
        query = f"SELECT {', '.join(names)} FROM sessions WHERE ended_at IS NULL AND {which}"
        rows = await self._connection.rows(query, values)
        return [OpenSession(**dict(zip(names, row, strict=True))) for row in rows]


def _left_by(database: Database, scope: str, session_id: str) -> Left:
    rows = database.execute(
        "SELECT s.type, m.category, m.text FROM session_memories s JOIN memories m ON m.scope = s.scope AND "
        "m.id = s.memory WHERE s.session_id = ? AND s.scope = ? AND m.state = 'active' ORDER BY s.at, m.changed_at",
        (session_id, scope),
    ).fetchall()
    hidden = withheld(database, scope)
    stages = (hidden.cut(text) for kind, _, text in rows if kind == "S")
    return Left(
        facts=tuple(text for kind, _, text in rows if kind != "S"),
        decisions=tuple(text for kind, category, text in rows if kind != "S" and category == "decision"),
        stages=tuple(text for text in stages if text.strip()),
    )
