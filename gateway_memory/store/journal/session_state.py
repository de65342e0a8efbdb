"""Sessions in SQL, as gateways and hooks share them: their observations, results and ends, and the turns they accept.

Functions over a connection in a transaction.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from gateway_memory.runtime.ground import Database
from gateway_memory.store.journal.requests import Request, begin
from gateway_memory.store.journal.sql import SQL, UNDECODABLE
from gateway_memory.store.journal.withheld import withheld
from gateway_memory.store.report import ReplyReport

if TYPE_CHECKING:
    from gateway_memory.store.plan import Plan

_READ: Final = 2_000
"""The maximum number of observations that are read for a session's summary: the first and the newest ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """An observation of a session. A private one has no content."""

    kind: str
    content: str = ""
    tool: str = ""
    tags: str = ""
    private: bool = False


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
    database.execute(SQL["session_state.register"], (session_id, key, at, at, joined))
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
    reason, body = database.execute(SQL["session_state.previous_switches"], row[:2]).fetchone() or ("", "")
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
        SQL["session_state.observe"],
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
    return database.execute(SQL["session_state.has_left_anything"], (session_id, scope)).fetchone() is not None


def take_followup(database: Database, session_id: str) -> bool:
    """Take a session's only follow-up; return False if it was taken before, or if the session is not open."""
    query = "UPDATE sessions SET followups = 1 WHERE session_id = ? AND followups = 0 AND ended_at IS NULL"
    return bool(database.execute(query, (session_id,)).rowcount)


def count_stop(database: Database, session_id: str) -> int:
    """Count a stop of an editor's agent in a session; return the count."""
    query = "UPDATE sessions SET stops = stops + 1 WHERE session_id = ? RETURNING stops"
    row = database.execute(query, (session_id,)).fetchone()
    return int(row[0]) if row else 0


# New turns, accepted in a transaction: that of the event loop, or that of a hook, which has no event loop.


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTurn:
    """A turn to accept. Times are epoch seconds.

    turn_id: the caller's id. The same id in the same session key and scope is the same turn.
    recalled: the ids of the memories that were recalled for the reply.
    report: what was considered for it, if it is known.
    seen: the observations of the turn.
    extract: whether memories are extracted from it. episode: whether it is kept after it was processed.
    joined: the keys of the shared scopes that its session has joined, with line breaks between. Its decisions go there.
    """

    turn_id: str
    scope: str
    session_key: str
    session_id: str
    user: str
    reply: str
    at: float
    accepted_at: float
    recalled: tuple[str, ...] = ()
    report: ReplyReport | None = None
    seen: tuple[Observation, ...] = ()
    extract: bool = True
    episode: bool = False
    joined: str = ""


def leave_scopes(database: Database, scopes: Collection[str]) -> None:
    """Keep nothing of waiting turns in these shared scopes, which are deleted. The turns stay."""
    for (joined,) in database.execute("SELECT DISTINCT joined FROM turns WHERE joined <> ''").fetchall():
        kept = "\n".join(key for key in joined.split("\n") if key not in scopes)
        if kept != joined:
            database.execute("UPDATE turns SET joined = ? WHERE joined = ?", (kept, joined))


def accept(database: Database, turn: NewTurn, slot: int) -> int:
    """Accept one turn: see `accept_all`."""
    return accept_all(database, [(turn, slot)])[0]


def accept_all(database: Database, turns: Sequence[tuple[NewTurn, int]]) -> list[int]:
    """Store turns and their observations in their order, and return their numbers.

    A turn whose id is known is not stored again, and has the number of the first one.

    turns: with the slot of the process that holds each; -1 for none, so that the next process adopts it.
    """
    keys = [(turn.scope, turn.session_key, turn.turn_id) for turn, _ in turns]
    query = "SELECT turn FROM replies WHERE scope = ? AND session_key = ? AND turn_id = ?"
    # All statements are sent before the first result is waited for; below as well.
    lookups = [database.execute(query, key) for key in keys]
    numbers = {key: int(row[0]) for key, result in zip(keys, lookups, strict=True) if (row := result.fetchone())}
    new: dict[tuple[str, str, str], tuple[NewTurn, int]] = {}
    for key, each in zip(keys, turns, strict=True):
        if key not in numbers:
            new.setdefault(key, each)
    query = SQL["session_state.add_turn"]
    results = {key: database.execute(query, (*_of_turn(turn), slot)) for key, (turn, slot) in new.items()}
    numbers |= {key: int(result.fetchone()[0]) for key, result in results.items()}
    replies = [
        (numbers[key], *_of_reply(turn), json.dumps(turn.recalled), _as_json(turn.report))
        for key, (turn, _) in new.items()
    ]
    database.executemany(SQL["session_state.add_replies"], replies)
    for turn, _ in new.values():
        if turn.seen:
            observe(database, turn.scope, turn.session_id, turn.seen, turn.accepted_at)
        else:
            touch(database, turn.session_id, turn.accepted_at)
    return [numbers[key] for key in keys]


_of_turn: Final = attrgetter(
    "scope", "session_key", "session_id", "user", "reply", "at", "accepted_at", "extract", "episode", "joined"
)
_of_reply: Final = attrgetter("scope", "session_id", "at", "session_key", "turn_id")


def _as_json(report: ReplyReport | None) -> str:
    return json.dumps(report.to_json(), separators=(",", ":")) if report else ""
