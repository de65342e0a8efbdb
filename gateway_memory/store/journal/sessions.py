"""Sessions: which are open, their observations and results, how they ended, and the turns that they accept."""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Final, Literal

from gateway_memory.ground import EVERY, Database
from gateway_memory.store.journal.episodes import touch_turns
from gateway_memory.store.journal.requests import Request, begin
from gateway_memory.store.journal.sql import (
    AMONG,
    AMONG_NUMBERS,
    SQL,
    UNDECODABLE,
    ProcessSlot,
    SqlConnection,
    Table,
    columns_of,
    distinct,
    made,
)
from gateway_memory.store.journal.withheld import withheld
from gateway_memory.store.plan import EXCHANGE
from gateway_memory.store.report import ReplyReport

if TYPE_CHECKING:
    from gateway_memory.store.plan import Plan

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
_READY: Final = SQL["sessions.mark_delivered"]
_WITH_SCOPES: Final = ("sessions", "memories", "episodes", "reviews")
"""The tables in which a scope is that holds anything."""
_UNSAVED: Final = 100
"""The maximum number of records that are made up at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """An observation of a session. A private one has no content."""

    kind: str
    content: str = ""
    tool: str = ""
    tags: str = ""
    private: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTurn:
    """A turn to accept. Times are epoch seconds.

    turn_id: the caller's id. The same id in the same session key and scope is the same turn; its newest reply counts.
    recalled: the ids of the memories that were recalled for the reply.
    report: what was considered for it, if it is known.
    seen: the observations of the turn.
    extract: whether memories are extracted from it. episode: whether it is kept after it was processed.
    joined: the keys of the shared scopes that its session has joined, with line breaks between. Its decisions go there.
    speaker: in a room, the key of the scope of whoever says it. speaker_prefix: how a line begins that names them:
    "Wang: ".
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
    speaker: str = ""
    speaker_prefix: str = ""


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

    switches: the features that the user switched, by name. joined: the keys of the shared scopes that it reads, with
    line breaks between.
    """

    session_id: str
    key: str
    scope: str
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
        query = "SELECT key, scope, ended_at IS NOT NULL, switches, joined FROM sessions WHERE session_id = ?"
        for key, scope, ended, body, joined in await self._rows((), query, session_id):
            switches = switches_of(body)
            return KnownSession(session_id, key, scope, ended=bool(ended), switches=switches, joined=joined)
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


# Functions over a connection in a transaction, of the event loop's or of a hook, which has no event loop.

_READ: Final = 2_000
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
    database.execute(SQL["sessions.register"], (session_id, key, at, at, joined))
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
    reason, body = database.execute(SQL["sessions.previous_switches"], row[:2]).fetchone() or ("", "")
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
        SQL["sessions.observe"],
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
    return database.execute(SQL["sessions.has_left_anything"], (session_id, scope)).fetchone() is not None


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

    A turn whose id is known is not stored again, and has the number of the first one. Its reply stands from now on: it
    was made again.

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
    query = SQL["sessions.add_turn"]
    results = {key: database.execute(query, (*_of_turn(turn), slot)) for key, (turn, slot) in new.items()}
    numbers |= {key: int(result.fetchone()[0]) for key, result in results.items()}
    replies = [
        (numbers[key], *_of_reply(turn), json.dumps(turn.recalled), _as_json(turn.report))
        for key, (turn, _) in new.items()
    ]
    database.executemany(SQL["sessions.add_replies"], replies)
    for turn, _ in new.values():
        if turn.seen:
            observe(database, turn.scope, turn.session_id, turn.seen, turn.accepted_at)
        else:
            touch(database, turn.session_id, turn.accepted_at)
    for key, (turn, _) in zip(keys, turns, strict=True):
        if key not in new or new[key][0] is not turn:
            _reply_anew(database, numbers[key], turn)
    return [numbers[key] for key in keys]


def _reply_anew(database: Database, number: int, turn: NewTurn) -> None:
    """Let a stored turn have another reply to the same words. Nothing is changed by one that broke off.

    The first reply of a forgotten exchange stays: by it, its words are withheld elsewhere.
    """
    gone = "SELECT 1 FROM memories WHERE scope = ? AND turn = ? AND category = ? AND state = 'forgotten'"
    if not turn.reply or database.execute(gone, (turn.scope, number, EXCHANGE)).fetchone():
        return
    query = 'UPDATE turns SET reply = ? WHERE id = ? AND "user" = ? AND reply <> ?'
    database.execute(query, (turn.reply, number, turn.user, turn.reply))
    query = 'UPDATE episodes SET reply = ? WHERE scope = ? AND turn = ? AND "user" = ? AND reply <> ?'
    user = f"{turn.speaker_prefix}{turn.user}" if turn.user else ""
    if database.execute(query, (turn.reply, turn.scope, number, user, turn.reply)).rowcount:
        touch_turns(database, turn.scope, [number])


_of_turn: Final = attrgetter(
    *("scope", "session_key", "session_id", "user", "reply", "at", "accepted_at", "extract", "episode", "joined"),
    *("speaker", "speaker_prefix"),
)
_of_reply: Final = attrgetter("scope", "session_id", "at", "session_key", "turn_id")


def _as_json(report: ReplyReport | None) -> str:
    return json.dumps(report.to_json(), separators=(",", ":")) if report else ""
