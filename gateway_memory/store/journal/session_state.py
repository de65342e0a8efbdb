"""What is stored of sessions: their observations and results, and how they ended.

Functions over a connection in a transaction. The event loop and the hooks, which have no event loop, share them.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from gateway_memory.store.journal.requests import Request, begin
from gateway_memory.store.journal.sql import AMONG, AMONG_NUMBERS, UNDECODABLE, Database
from gateway_memory.store.journal.withheld import withheld

if TYPE_CHECKING:
    from gateway_memory.store.plan import Plan

__all__ = [
    "COUNTED",
    "SHARED_KEY",
    "End",
    "EndState",
    "KeptObservation",
    "KnownSession",
    "Left",
    "Observation",
    "OpenSession",
    "abandoned",
    "close",
    "count_stop",
    "counts",
    "find",
    "has_left_anything",
    "is_open",
    "left_by",
    "note_memory",
    "observe",
    "open_in",
    "open_session",
    "register",
    "release",
    "remember",
    "seen_in",
    "switch",
    "switches",
    "take_followup",
    "touch",
    "was_followed_up",
]

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
_READ: Final = 2_000
"""The maximum number of observations that are read for a session's summary: the first and the newest ones."""
_READY: Final = (
    "INSERT INTO told SELECT ?, k.origin, min(max(k.number), coalesce((SELECT min(e.number) - 1 FROM events e "
    "WHERE e.origin = k.origin AND e.scope = ? AND e.plan IS NOT NULL), max(k.number))) FROM (SELECT origin, number "
    "FROM heard WHERE slot = ? UNION ALL SELECT origin, head FROM sources) AS k GROUP BY k.origin"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """An observation of a session. A private one has no content."""

    kind: str
    content: str = ""
    tool: str = ""
    tags: str = ""
    private: bool = False


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
    """The stored data of a session. switches: the features that the user switched, by name."""

    session_id: str
    key: str
    scope: str
    ended: bool
    switches: Mapping[str, bool]


def open_session(database: Database, key: str, scope: str, session_id: str, at: float, slot: int) -> tuple[str, bool]:
    """Return the id of the key's open session, and whether this call opened it, with the id `session_id`.

    Events that are ready now count as delivered to a new one, by their numbers: clocks of hosts differ.
    """
    opened = database.execute(
        "INSERT INTO sessions (session_id, key, scope, opened_at, seen_at) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING",
        (session_id, key, scope, at, at),
    )
    if opened.rowcount:
        database.execute(_READY, (session_id, scope, slot))
    mine = "UPDATE sessions SET slot = ? WHERE key = ? AND scope = ? AND ended_at IS NULL"
    database.execute(mine, (slot, key, scope))
    query = "SELECT session_id FROM sessions WHERE key = ? AND scope = ? AND ended_at IS NULL"
    return str(database.execute(query, (key, scope)).fetchone()[0]), bool(opened.rowcount)


def register(database: Database, session_id: str, key: str, at: float, *, lives: bool) -> bool:
    """Register an owner's session under its own id, unless it is known; return False if another key has the id.

    lives: the session is active, so that it is reopened if it had ended.
    """
    known = database.execute("SELECT key FROM sessions WHERE session_id = ?", (session_id,)).fetchone()
    if known and known[0] != key:
        return False
    if lives:
        again = "UPDATE sessions SET ended_at = NULL, slot = -1 WHERE session_id = ? AND ended_at IS NOT NULL"
        database.execute(again, (session_id,))
        touch(database, session_id, at)
    database.execute(
        "INSERT INTO sessions (session_id, key, scope, opened_at, seen_at) VALUES (?, ?, 'owner', ?, ?) "
        "ON CONFLICT DO NOTHING",
        (session_id, key, at, at),
    )
    return True


def is_open(database: Database, session_id: str) -> bool:
    """Return whether a session has not ended."""
    query = "SELECT 1 FROM sessions WHERE session_id = ? AND ended_at IS NULL"
    return database.execute(query, (session_id,)).fetchone() is not None


def find(database: Database, session_id: str) -> KnownSession | None:
    """Return the session of an id, or None."""
    query = "SELECT key, scope, ended_at IS NOT NULL, switches FROM sessions WHERE session_id = ?"
    row = database.execute(query, (session_id,)).fetchone()
    if row is None:
        return None
    key, scope, ended, said = row
    return KnownSession(session_id=session_id, key=key, scope=scope, ended=bool(ended), switches=_switches(said))


def switch(database: Database, session_id: str, said: Mapping[str, bool]) -> None:
    """Store the features that the user switched in a session, for every process and after a restart."""
    database.execute("UPDATE sessions SET switches = ? WHERE session_id = ?", (json.dumps(dict(said)), session_id))


def switches(database: Database, session_id: str) -> Mapping[str, bool]:
    """Return the features that the user switched in a session.

    For its user, a session continues an abandoned predecessor, whose switches therefore still apply.
    """
    row = database.execute("SELECT key, scope, switches FROM sessions WHERE session_id = ?", (session_id,)).fetchone()
    if row is None or row[2]:
        return _switches(row[2]) if row else {}
    query = (
        "SELECT reason, switches FROM sessions WHERE key = ? AND scope = ? AND ended_at IS NOT NULL "
        "ORDER BY ended_at DESC LIMIT 1"
    )
    reason, said = database.execute(query, row[:2]).fetchone() or ("", "")
    return _switches(said) if reason == "abandoned" else {}


def _switches(said: str) -> Mapping[str, bool]:
    try:
        return {str(name): bool(on) for name, on in json.loads(said or "{}").items()}
    except UNDECODABLE:
        return {}  # as configured


def observe(
    database: Database,
    scope: str,
    session_id: str,
    seen: Sequence[Observation],
    at: float,
    request: Request | None = None,
) -> None:
    """Store observations, and update the session's last activity. A request that is repeated does nothing."""
    if request is not None and begin(database, request, at) is not None:
        return
    database.executemany(
        "INSERT INTO observations (scope, session_id, at, kind, tool, content, private, tags) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (scope, session_id, at, each.kind, each.tool, "" if each.private else each.content, each.private,
             "" if each.private else each.tags)
            for each in seen
        ],
    )  # fmt: skip
    touch(database, session_id, at)


def touch(database: Database, session_id: str, at: float) -> None:
    """Update the last activity of a session."""
    query = "UPDATE sessions SET seen_at = max(seen_at, ?) WHERE session_id = ? AND ended_at IS NULL"
    database.execute(query, (at, session_id))


def seen_in(database: Database, scope: str, session_id: str) -> list[Observation]:
    """Return a session's observations, oldest first; for a very long session, the first and the newest ones.

    Forgotten text is left out.
    """
    columns = "id, at, kind, content, tool, tags, private"
    query = f"SELECT {columns} FROM observations WHERE session_id = ? AND scope = ? ORDER BY id"
    newest = database.execute(f"{query} DESC LIMIT ?", (session_id, scope, _READ // 2)).fetchall()[::-1]
    oldest = database.execute(f"{query} LIMIT ?", (session_id, scope, _READ // 2)).fetchall()
    rows = {row[0]: row for row in [*oldest, *newest]}
    hidden = withheld(database, scope)
    seen: list[Observation] = []
    at_once: defaultdict[float, list[str]] = defaultdict(list)
    for _, at, _, content, *_ in rows.values():
        at_once[at].append(content)
    words = {at: hidden.words_of(*texts) for at, texts in at_once.items()} if hidden else {}
    for _, at, kind, content, tool, tags, private in rows.values():
        kept = hidden.cut(content, words=words.get(at, frozenset()))
        whole = kept == content
        gone = bool(private) or not (whole or kept.strip()) or hidden.hides(session_id, at)
        seen.append(
            Observation(
                kind=kind,
                content="" if gone else kept,
                tool=tool,
                tags=tags if whole and not gone else "",
                private=gone,
            )
        )
    return seen


def remember(database: Database, plan: "Plan") -> None:
    """Record the session of each memory that a plan adds. A replacement does not inherit the session."""
    rows = [
        (memory.session_id, plan.scope, memory.id, memory.type, memory.at) for memory in plan.added if memory.session_id
    ]
    database.executemany("INSERT INTO session_memories VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", rows)


def note_memory(database: Database, scope: str, session_id: str, memory: str, kind: str, at: float) -> None:
    """Record that a session said a memory, even if the memory existed before."""
    query = "INSERT INTO session_memories VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
    database.execute(query, (session_id, scope, memory, kind, at))
    touch(database, session_id, at)


def left_by(database: Database, scope: str, session_id: str) -> Left:
    """Return the active results of a session, oldest first."""
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


def has_left_anything(database: Database, scope: str, session_id: str) -> bool:
    """Return whether a fact or a stage summary of the session is active, on any day."""
    query = (
        "SELECT 1 FROM session_memories s JOIN memories m ON m.scope = s.scope AND m.id = s.memory "
        "WHERE s.session_id = ? AND s.scope = ? AND m.state = 'active' LIMIT 1"
    )
    return database.execute(query, (session_id, scope)).fetchone() is not None


def take_followup(database: Database, session_id: str) -> bool:
    """Take a session's only follow-up; return False if it was taken before, or if the session is not open."""
    query = "UPDATE sessions SET followups = 1 WHERE session_id = ? AND followups = 0 AND ended_at IS NULL"
    return bool(database.execute(query, (session_id,)).rowcount)


def was_followed_up(database: Database, session_id: str) -> bool:
    """Return whether the session's agent was asked to save the session."""
    query = "SELECT 1 FROM sessions WHERE session_id = ? AND followups > 0"
    return database.execute(query, (session_id,)).fetchone() is not None


def count_stop(database: Database, session_id: str) -> int:
    """Count a stop of an editor's agent in a session; return the count."""
    query = "UPDATE sessions SET stops = stops + 1 WHERE session_id = ? RETURNING stops"
    row = database.execute(query, (session_id,)).fetchone()
    return int(row[0]) if row else 0


def close(database: Database, session_id: str, end: End, state: EndState, at: float) -> float | None:
    """End a session, and return its duration in seconds; None if it is unknown or had ended before.

    If the host reports no duration, the time since the session was opened is stored. Of a session that had ended,
    the state is set if it was not saved yet.
    """
    query = (
        "UPDATE sessions SET ended_at = ?, reason = ?, state = ?, error = ?, "
        "duration_ms = coalesce(?, max(0, round(1000 * (? - opened_at)))) "
        "WHERE session_id = ? AND ended_at IS NULL RETURNING opened_at"
    )
    row = database.execute(query, (at, end.reason, state, end.error, end.duration_ms, at, session_id)).fetchone()
    if row is None:
        query = "UPDATE sessions SET state = ? WHERE session_id = ? AND state IN ('nothing', 'unsaved')"
        database.execute(query, (state, session_id))
    return max(0.0, at - row[0]) if row else None


def release(database: Database, slot: int) -> None:
    """Release the open sessions of an orderly closing process, so that another process can resume them."""
    database.execute("UPDATE sessions SET slot = -1 WHERE slot = ? AND ended_at IS NULL", (slot,))


def abandoned(database: Database, idle_before: float, dead_slots: Sequence[int]) -> list[OpenSession]:
    """Return the open sessions without activity since `idle_before`, and those of dead processes."""
    which = f"(seen_at < ? OR slot IN {AMONG_NUMBERS}) ORDER BY seen_at"
    return _open_sessions(database, which, idle_before, json.dumps(list(dead_slots)))


def open_in(database: Database, scopes: Sequence[str]) -> list[OpenSession]:
    """Return the open sessions of scopes."""
    return _open_sessions(database, f"scope IN {AMONG} ORDER BY seen_at", json.dumps(list(scopes)))


def _open_sessions(database: Database, which: str, *values: object) -> list[OpenSession]:
    names = ("session_id", "key", "scope", "opened_at", "seen_at")
    query = f"SELECT {', '.join(names)} FROM sessions WHERE ended_at IS NULL AND {which}"
    return [OpenSession(**dict(zip(names, row, strict=True))) for row in database.execute(query, values).fetchall()]


def counts(database: Database) -> dict[str, int]:
    """Return how sessions ended and what saved them.

    The keys are ended, open, errors (ends with an error message), state.<state>, layer.<layer>, staged (sessions with a
    stage summary), followups and doubles_prevented.
    """
    found: dict[str, int] = {"ended": 0, "open": 0, "errors": 0, "followups": 0, "doubles_prevented": 0}
    totals = database.execute("SELECT name, sum(number) FROM session_totals GROUP BY name HAVING sum(number) <> 0")
    found.update((str(name), int(number)) for name, number in totals)
    query = "SELECT count(DISTINCT session_id) FROM session_memories WHERE type = 'S'"
    found["staged"] = int(database.execute(query).fetchone()[0])
    found.update(database.execute("SELECT name, number FROM session_counts").fetchall())
    return found
