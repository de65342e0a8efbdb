"""The journal without an event loop: for hooks, which are short-lived, and for deleting a scope."""

import contextlib
import json
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gateway_memory.errors import store_failed
from gateway_memory.scope import OWNER_KEY
from gateway_memory.store.disk.record_file import DiskRecords
from gateway_memory.store.journal import session_state
from gateway_memory.store.journal.episodes import Episode, Quotable, latest_of, quotable_of
from gateway_memory.store.journal.injected import add_injected, clear_injected
from gateway_memory.store.journal.records import is_saved
from gateway_memory.store.journal.session_state import Observation, accept
from gateway_memory.store.journal.sql import member
from gateway_memory.store.journal.sqlite import open_journal, transaction
from gateway_memory.store.journal.withheld import outdated, withheld
from gateway_memory.store.summaries import SESSIONS_FILE
from gateway_memory.store.withheld import Withheld

if TYPE_CHECKING:
    from gateway_memory.store.journal.session_state import NewTurn

_BY_SCOPE: Final = (
    "sessions", "turns", "memories", "receipts", "marks", "observations", "replies", "history", "changes", "events",
    "noticed", "session_memories", "saved_sessions", "session_logs", "uses", "uses_read", "unreadable",
    "withheld_records", "episodes", "episode_pages", "links", "link_items", "link_codes", "link_tries", "requests",
    "reviews", "feedback",
)  # fmt: skip
_BY_SESSION: Final = ("told", "transcript_messages", "shown_memories")
_NOBODY: Final = -1
"""The slot of turns that no process holds."""
_TEXTS: Final = (("memories", "text"), ("memories", "id"), ("observations", "content"), ("turns", "user"),
          ("episodes", "user"), ("episodes", "reply"), ("reviews", "text"))  # fmt: skip


def journal_id(workspace: Path) -> str:
    """Return the id by which other gateways know a workspace's journal, or "" if it can't be read."""
    path = workspace / "journal.sqlite"
    if not path.is_file():
        return ""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            return str(database.execute("SELECT journal FROM identity").fetchone()[0])
    except (sqlite3.Error, TypeError):
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTurn:
    """An episode without its text. at: epoch seconds, 0 if it can't be read."""

    scope: str
    number: int
    at: float
    readable: bool


class JournalInPlace:
    """The journal of a workspace, used from one thread. Every call may raise StoreError.

    Its sessions are those of an editor, and belong to the owner.
    """

    def __init__(self, workspace: Path, database: sqlite3.Connection) -> None:
        self._workspace = workspace
        self._database = database

    @classmethod
    @contextlib.contextmanager
    def open(cls, workspace: Path) -> "Iterator[JournalInPlace]":
        """Open the journal, and create or migrate it if necessary.

        Raises:
            SchemaFromFutureError: a newer version wrote it.
            StoreError: it is damaged, or was locked for too long. The file is unchanged.
        """
        with _translated(workspace):
            database = open_journal(workspace)
        try:
            yield cls(workspace, database)
        finally:
            database.close()

    # Sessions

    def register(self, session_id: str, key: str, at: float, *, lives: bool, joined: str = "") -> bool:
        """Register a session under its own id, unless it is known; return False if another key has the id.

        lives: the session is active, so that it is reopened if it had ended.
        at: epoch seconds. joined: as in NewTurn.
        """
        with self._changing() as database:
            return session_state.register(database, session_id, key, at, lives=lives, joined=joined)

    def is_open(self, session_id: str) -> bool:
        """Return whether a session has not ended."""
        with self._changing() as database:
            return session_state.is_open(database, session_id)

    def seen_in(self, session_id: str) -> list[Observation]:
        """Return a session's observations, oldest first, without forgotten text."""
        with self._changing() as database:
            return session_state.seen_in(database, OWNER_KEY, session_id)

    def observe(self, session_id: str, seen: Sequence[Observation], at: float) -> None:
        """Store observations. at: epoch seconds."""
        with self._changing() as database:
            session_state.observe(database, OWNER_KEY, session_id, seen, at)

    def switches(self, session_id: str) -> Mapping[str, bool]:
        """Return the features that the user switched in a session."""
        with self._changing() as database:
            return session_state.switches(database, session_id)

    def unread(self, messages: Sequence[str]) -> set[str]:
        """Return which of these ids are of messages that were not read from any transcript yet."""
        query = "SELECT id FROM transcript_messages WHERE id IN (SELECT value FROM json_each(?))"
        with self._changing() as database:
            return set(messages) - {str(row[0]) for row in database.execute(query, (json.dumps(messages),))}

    def read(self, turns: "Sequence[NewTurn]") -> None:
        """Store turns of a transcript in one transaction, each once by its id, in whatever session it was read first.

        A turn that is neither extracted from nor kept leaves its observations alone, and still counts as read. The
        turns belong to no process: the next one that has the workspace open processes them.
        """
        with self._changing() as database:
            for turn in turns:
                read = "INSERT OR IGNORE INTO transcript_messages VALUES (?, ?)"
                if not database.execute(read, (turn.turn_id, turn.session_id)).rowcount:
                    continue
                if turn.extract or turn.episode:
                    accept(database, turn, _NOBODY)
                else:
                    session_state.observe(database, turn.scope, turn.session_id, turn.seen, turn.accepted_at)

    def add_injected(self, session_id: str, items: Sequence[tuple[str, str]], *, anew: bool) -> None:
        """Record memories (id, text) that are injected into a session. anew: nothing else is in its context."""
        with self._changing() as database:
            if anew:
                clear_injected(database, session_id)
            add_injected(database, session_id, items)

    def has_left_anything(self, session_id: str) -> bool:
        """Return whether a fact or a stage summary of a session is active."""
        with self._changing() as database:
            return session_state.has_left_anything(database, OWNER_KEY, session_id)

    def count_stop(self, session_id: str) -> int:
        """Count a stop of an editor's agent in a session; return the count."""
        with self._changing() as database:
            return session_state.count_stop(database, session_id)

    def followup(
        self, session_id: str, is_worth_a_prompt: Callable[[list[Observation]], bool]
    ) -> list[Observation] | None:
        """Take a session's only follow-up, and return the session's observations; None if no follow-up is due.

        A follow-up is due if nothing of the session is saved and its observations are worth it.
        """
        file = DiskRecords(self._workspace / SESSIONS_FILE)
        with self._changing() as database:
            if is_saved(database, OWNER_KEY, file, session_id):
                return None
            if session_state.has_left_anything(database, OWNER_KEY, session_id):
                return None
            seen = session_state.seen_in(database, OWNER_KEY, session_id)
            return seen if is_worth_a_prompt(seen) and session_state.take_followup(database, session_id) else None

    def withheld(self) -> Withheld:
        """Return what the owner has forgotten and has not restored."""
        with self._changing() as database:
            return withheld(database, OWNER_KEY)

    def quotable(self, turns: Sequence[int]) -> Quotable:
        """Return the owner's episodes of these turns."""
        with self._changing() as database:
            return quotable_of(database, OWNER_KEY, turns)

    def latest(self, besides: str, limit: int) -> list[Episode]:
        """Return the first exchanges of the owner's session that took place last, beside one of an id."""
        with self._changing() as database:
            return latest_of(database, OWNER_KEY, besides, limit)

    def outdated(self) -> dict[str, str]:
        """Return those of the owner's memories that may no longer hold, each with the active one that says so."""
        with self._changing() as database:
            return outdated(database, OWNER_KEY)

    def weights(self, memories: Sequence[str]) -> list[tuple[str, str, str, float]]:
        """Return (id, category, importance, epoch seconds) of those of the owner's memories that are known."""
        query = (
            "SELECT id, category, importance, at FROM memories "
            "WHERE scope = ? AND id IN (SELECT value FROM json_each(?))"
        )
        with self._changing() as database:
            return list(database.execute(query, (OWNER_KEY, json.dumps(list(memories)))).fetchall())

    def failures_at(self, place: str, since: float) -> int:
        """Return how often something failed at a place since a time, in epoch seconds."""
        query = "SELECT coalesce(sum(count), 0) FROM failures WHERE place = ? AND at >= ?"
        with self._changing() as database:
            return int(database.execute(query, (place, since)).fetchone()[0])

    def kept_turns(self) -> list[KeptTurn]:
        """Return the episodes of all scopes without their texts."""
        query = "SELECT scope, turn, at, CAST(user AS BLOB), CAST(reply AS BLOB) FROM episodes ORDER BY turn"
        with _translated(self._workspace):  # no transaction, which would make a gateway's writes wait
            return [_kept(row) for row in self._database.execute(query)]

    # Deletion of a scope

    def sessions_of(self, scope: str) -> list[str]:
        """Return the ids of a scope's sessions."""
        with self._changing() as database:
            return _sessions(database, scope)

    def linked_with(self, scope: str) -> list[str]:
        """Return the other scopes of the person to whom a scope belongs."""
        from gateway_memory.store.journal.links import linked_with  # hooks do not need this import

        with self._changing() as database:
            return linked_with(database, scope)

    def count(self, scope: str) -> dict[str, int]:
        """Return the number of rows of a scope, by table."""
        counts: dict[str, int] = {}
        with self._changing() as database:
            for table in _BY_SCOPE:
                query = f"SELECT count(*) FROM {table} WHERE scope = ?"
                counts[table] = int(database.execute(query, (scope,)).fetchone()[0])
            counts["plans"] = len(_plans(database, scope))
            sessions = json.dumps(_sessions(database, scope))
            for table in _BY_SESSION:
                query = f"SELECT count(*) FROM {table} WHERE session_id IN (SELECT value FROM json_each(?))"
                counts[table] = int(database.execute(query, (sessions,)).fetchone()[0])
        return counts

    def erase(self, scopes: Sequence[str]) -> None:
        """Delete the rows of scopes, and rewrite the file, so that no page contains their text."""
        with _translated(self._workspace):
            self._database.execute("PRAGMA secure_delete = ON")
        with self._changing() as database:
            for scope in scopes:
                sessions = json.dumps(_sessions(database, scope))
                for table in _BY_SESSION:
                    query = f"DELETE FROM {table} WHERE session_id IN (SELECT value FROM json_each(?))"
                    database.execute(query, (sessions,))
                plans = [(number,) for number in _plans(database, scope)]
                database.executemany("DELETE FROM plans WHERE id = ?", plans)
                for table in _BY_SCOPE:
                    database.execute(f"DELETE FROM {table} WHERE scope = ?", (scope,))
                database.execute("UPDATE turns SET joined = '' WHERE joined = ?", (scope,))
        with _translated(self._workspace):
            self._database.execute("VACUUM")
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def texts(self, scopes: Sequence[str]) -> set[str]:
        """Return the texts and ids in the rows of scopes that occur in no other scope's rows."""
        mine, others = self._texts(scopes)
        return mine - others

    def said_elsewhere(self, scopes: Sequence[str], texts: Collection[str]) -> set[str]:
        """Return those of some texts that the rows of other scopes contain."""
        others = "\n".join(self._texts(scopes)[1])
        return {text for text in texts if text in others}

    def _texts(self, scopes: Sequence[str]) -> tuple[set[str], set[str]]:
        """Return the texts and ids in the rows of scopes, and those in the rows of others."""
        mine = {session_id for scope in scopes for session_id in self.sessions_of(scope)}
        others: set[str] = set()
        with self._changing() as database:
            for table, column in _TEXTS:
                query = f"SELECT {column}, scope IN (SELECT value FROM json_each(?)) FROM {table}"
                for text, is_mine in database.execute(query, (json.dumps(list(scopes)),)):
                    (mine if is_mine else others).add(str(text))
        return mine, others

    @contextlib.contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        with _translated(self._workspace), transaction(self._database):
            yield self._database


def _kept(row: Sequence[Any]) -> KeptTurn:
    scope, number, at, *sides = row
    timed = isinstance(at, int | float)
    return KeptTurn(
        scope=str(scope),
        number=int(number),
        at=float(at) if timed else 0.0,
        readable=timed and all(_is_text(side) for side in sides),
    )


def _is_text(side: object) -> bool:
    try:
        return isinstance(side, bytes) and side.decode() is not None
    except UnicodeDecodeError:
        return False


@contextlib.contextmanager
def _translated(workspace: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise store_failed(workspace / "journal.sqlite", error) from error


def _sessions(database: sqlite3.Connection, scope: str) -> list[str]:
    rows: list[tuple[Any]] = database.execute("SELECT session_id FROM sessions WHERE scope = ?", (scope,)).fetchall()
    return [str(row[0]) for row in rows]


def _plans(database: sqlite3.Connection, scope: str) -> list[int]:
    query = f"SELECT id FROM plans WHERE {member('body', 'scope')} = ?"
    return [int(row[0]) for row in database.execute(query, (scope,))]
