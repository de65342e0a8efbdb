"""Sessions by functions over a connection in a transaction: that of the event loop, or that of a hook without one."""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway_memory.ground.databases import Database
from gateway_memory.store.journal.requests import Request, begin
from gateway_memory.store.journal.sql import SQL, UNDECODABLE
from gateway_memory.store.journal.withheld import withheld

if TYPE_CHECKING:
    from gateway_memory.store.plan import Plan

SHARED_KEY: Final = "a session key in two processes"
"""The place of the failure that is noted where a session is opened that another living process has open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """An observation of a session. A private one has no content."""

    kind: str
    content: str = ""
    tool: str = ""
    tags: str = ""
    private: bool = False


READ: Final = 2_000
"""The maximum number of observations that are read for a session's summary: the first and the newest ones."""


def register(database: Database, session_id: str, key: str, at: float, *, lives: bool, joined: str = "") -> bool:
    """Register an owner's session under its own id, unless it is known; return False if another key has the id.

    lives: the session is active, so that it is reopened if it had ended. joined: as in NewTurn.
    """
    known = database.execute("SELECT key FROM sessions WHERE session_id = ?", (session_id,)).fetchone()
    if known and known[0] != key:
        return False
    if lives:
        again = "UPDATE sessions SET ended_at = NULL, slot = -1 WHERE session_id = ? AND ended_at IS NOT NULL"
        database.execute(again, (session_id,))
        database.execute(
            "UPDATE sessions SET joined = ? WHERE session_id = ? AND joined <> ?", (joined, session_id, joined)
        )
        touch(database, session_id, at)
    database.execute(SQL["opened.register"], (session_id, key, at, at, joined))
    return True


def is_open(database: Database, session_id: str) -> bool:
    """Return whether a session has not ended."""
    query = "SELECT 1 FROM sessions WHERE session_id = ? AND ended_at IS NULL"
    return database.execute(query, (session_id,)).fetchone() is not None


def switches(database: Database, session_id: str) -> Mapping[str, bool]:
    """Return the features that the user switched in a session.

    For its user, a session continues an abandoned predecessor, whose switches therefore still apply.
    """
    row = database.execute("SELECT key, scope, switches FROM sessions WHERE session_id = ?", (session_id,)).fetchone()
    if row is None or row[2]:
        return switches_of(row[2]) if row else {}
    reason, body = database.execute(SQL["opened.previous_switches"], row[:2]).fetchone() or ("", "")
    return switches_of(body) if reason == "abandoned" else {}


def switches_of(body: str) -> Mapping[str, bool]:
    """Decode the column `switches`."""
    try:
        return {str(name): bool(on) for name, on in json.loads(body or "{}").items()}
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
        SQL["opened.observe"],
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
    newest = database.execute(f"{query} DESC LIMIT ?", (session_id, scope, READ // 2)).fetchall()[::-1]
    oldest = database.execute(f"{query} LIMIT ?", (session_id, scope, READ // 2)).fetchall()
    rows = {row[0]: row for row in [*oldest, *newest]}
    hidden = withheld(database, scope)
    observations: list[Observation] = []
    at_once: defaultdict[float, list[str]] = defaultdict(list)
    for _, at, _, content, *_ in rows.values():
        at_once[at].append(content)
    words = {at: hidden.words_of(*texts) for at, texts in at_once.items()} if hidden else {}
    for _, at, kind, content, tool, tags, private in rows.values():
        text = hidden.cut(content, words=words.get(at, frozenset()))
        whole = text == content
        is_hidden = bool(private) or not (whole or text.strip()) or hidden.hides(session_id, at)
        observations.append(
            Observation(
                kind=kind,
                content="" if is_hidden else text,
                tool=tool,
                tags=tags if whole and not is_hidden else "",
                private=is_hidden,
            )
        )
    return observations


def remember(database: Database, plan: "Plan") -> None:
    """Record the session of each memory that a plan adds. A replacement does not inherit the session."""
    rows = [
        (memory.session_id, plan.scope, memory.id, memory.type, memory.at) for memory in plan.added if memory.session_id
    ]
    database.executemany("INSERT INTO session_memories VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", rows)


def has_left_anything(database: Database, scope: str, session_id: str) -> bool:
    """Return whether a fact or a stage summary of the session is active, on any day."""
    return database.execute(SQL["opened.has_left_anything"], (session_id, scope)).fetchone() is not None


def take_followup(database: Database, session_id: str) -> bool:
    """Take a session's only follow-up; return False if it was taken before, or if the session is not open."""
    query = "UPDATE sessions SET followups = 1 WHERE session_id = ? AND followups = 0 AND ended_at IS NULL"
    return bool(database.execute(query, (session_id,)).rowcount)


def count_stop(database: Database, session_id: str) -> int:
    """Count a stop of an editor's agent in a session; return the count."""
    query = "UPDATE sessions SET stops = stops + 1 WHERE session_id = ? RETURNING stops"
    row = database.execute(query, (session_id,)).fetchone()
    return int(row[0]) if row else 0


def leave_scopes(database: Database, scopes: Collection[str]) -> None:
    """Keep nothing of waiting turns in these shared scopes, which are deleted. The turns stay."""
    for (joined,) in database.execute("SELECT DISTINCT joined FROM turns WHERE joined <> ''").fetchall():
        kept = "\n".join(key for key in joined.split("\n") if key not in scopes)
        if kept != joined:
            database.execute("UPDATE turns SET joined = ? WHERE joined = ?", (kept, joined))
