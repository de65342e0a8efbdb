"""The journal without an event loop: for hooks, which are short-lived, and for deleting a scope."""

import contextlib
import json
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gateway_memory.errors import store_errors
from gateway_memory.ground.databases import Database
from gateway_memory.scope import OWNER_KEY
from gateway_memory.store.disk.records import DiskRecords
from gateway_memory.store.journal import opened
from gateway_memory.store.journal.arrivals import NewTurn, accept
from gateway_memory.store.journal.injected import add_injected, clear_injected
from gateway_memory.store.journal.opened import Observation
from gateway_memory.store.journal.records import is_saved
from gateway_memory.store.journal.sql import AMONG, transaction
from gateway_memory.store.journal.sqlite import open_journal
from gateway_memory.store.summaries import SESSIONS_FILE

_BY_SCOPE: Final = (
    "sessions", "turns", "memories", "receipts", "marks", "observations", "replies", "history", "changes", "events",
    "noticed", "session_memories", "saved_sessions", "session_logs", "uses", "uses_read", "unreadable",
    "withheld_records", "episodes", "episode_pages", "links", "link_items", "link_codes", "link_tries", "requests",
    "reviews", "feedback", "names", "plans", "told",
)  # fmt: skip
_BY_SESSION: Final = ("transcript_messages", "shown_memories")
_ROWS: Final[Mapping[str, str]] = {
    **dict.fromkeys(_BY_SCOPE, "scope = ?"),
    **dict.fromkeys(_BY_SESSION, "session_id IN (SELECT session_id FROM sessions WHERE scope = ?)"),
}
"""The rows of a scope, by table; those that others refer to last."""
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
        """Open the journal, and create it or apply missing schema steps.

        Raises:
            SchemaFromFutureError: a newer version wrote it.
            StoreError: it is damaged, or was locked for too long. The file is unchanged.
        """
        with store_errors(workspace / "journal.sqlite", sqlite3.Error):
            database = open_journal(workspace)
        try:
            yield cls(workspace, database)
        finally:
            database.close()

    def _translate(self) -> contextlib.AbstractContextManager[None]:
        return store_errors(self._workspace / "journal.sqlite", sqlite3.Error)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction for the functions of `sessions`, `episodes` and their like."""
        with self._translate(), transaction(self._database):
            yield self._database

    # Sessions

    def unread(self, messages: Sequence[str]) -> set[str]:
        """Return which of these ids are of messages that were not read from any transcript yet."""
        query = f"SELECT id FROM transcript_messages WHERE id IN {AMONG}"
        with self.transaction() as database:
            return set(messages) - {str(row[0]) for row in database.execute(query, (json.dumps(messages),))}

    def read(self, turns: Sequence[NewTurn]) -> None:
        """Store turns of a transcript in one transaction, each once by its id, in whatever session it was read first.

        A turn that is neither extracted from nor kept leaves its observations alone, and still counts as read. The
        turns belong to no process: the next one that has the workspace open processes them.
        """
        with self.transaction() as database:
            for turn in turns:
                read = "INSERT OR IGNORE INTO transcript_messages VALUES (?, ?)"
                if not database.execute(read, (turn.turn_id, turn.session_id)).rowcount:
                    continue
                if turn.extract or turn.episode:
                    accept(database, turn, _NOBODY)
                else:
                    opened.observe(database, turn.scope, turn.session_id, turn.seen, turn.accepted_at)

    def add_injected(self, session_id: str, items: Sequence[tuple[str, str]], *, anew: bool) -> None:
        """Record memories (id, text) that are injected into a session. anew: nothing else is in its context."""
        with self.transaction() as database:
            if anew:
                clear_injected(database, session_id)
            add_injected(database, session_id, items)

    def followup(
        self, session_id: str, is_worth_a_prompt: Callable[[list[Observation]], bool]
    ) -> list[Observation] | None:
        """Take a session's only follow-up, and return the session's observations; None if no follow-up is due.

        A follow-up is due if nothing of the session is saved and its observations are worth it.
        """
        file = DiskRecords(self._workspace / SESSIONS_FILE)
        with self.transaction() as database:
            if is_saved(database, OWNER_KEY, file, session_id):
                return None
            if opened.has_left_anything(database, OWNER_KEY, session_id):
                return None
            kept = opened.seen_in(database, OWNER_KEY, session_id)
            return kept if is_worth_a_prompt(kept) and opened.take_followup(database, session_id) else None

    def failures_at(self, place: str, since: float) -> int:
        """Return how often something failed at a place since a time, in epoch seconds."""
        query = "SELECT coalesce(sum(count), 0) FROM failures WHERE place = ? AND at >= ?"
        with self.transaction() as database:
            return int(database.execute(query, (place, since)).fetchone()[0])

    def notices(self) -> list[tuple[str, str]]:
        """Return the notices that are set: the scope and the name of each."""
        with self.transaction() as database:
            rows = database.execute("SELECT scope, name FROM marks ORDER BY scope, name").fetchall()
        return [(str(scope), str(name)) for scope, name in rows]

    def kept_turns(self) -> list[KeptTurn]:
        """Return the episodes of all scopes without their texts."""
        query = "SELECT scope, turn, at, CAST(user AS BLOB), CAST(reply AS BLOB) FROM episodes ORDER BY turn"
        with self._translate():  # no transaction, which would make a gateway's writes wait
            return [_kept(row) for row in self._database.execute(query)]

    def unindexed_pages(self) -> set[tuple[str, int]]:
        """Return the pages of episodes, each with its scope, that changed since they were indexed."""
        with self.transaction() as database:
            rows = database.execute("SELECT scope, page FROM episode_pages WHERE behind").fetchall()
        return {(str(scope), int(page)) for scope, page in rows}

    # Deletion of a scope

    def sessions_of(self, scope: str) -> list[str]:
        """Return the ids of a scope's sessions."""
        with self.transaction() as database:
            rows = database.execute("SELECT session_id FROM sessions WHERE scope = ?", (scope,)).fetchall()
        return [str(row[0]) for row in rows]

    def linked_with(self, scope: str) -> list[str]:
        """Return the other scopes of the person to whom a scope belongs."""
        from gateway_memory.store.journal.links import linked_with  # hooks do not need this import

        with self.transaction() as database:
            return linked_with(database, scope)

    def count(self, scope: str) -> dict[str, int]:
        """Return the number of rows of a scope, by table."""
        with self.transaction() as database:
            queries = {table: f"SELECT count(*) FROM {table} WHERE {rows}" for table, rows in _ROWS.items()}
            return {table: int(database.execute(query, (scope,)).fetchone()[0]) for table, query in queries.items()}

    def erase(self, scopes: Sequence[str]) -> None:
        """Delete the rows of scopes, and rewrite the file, so that no page contains their text."""
        with self._translate():
            self._database.execute("PRAGMA secure_delete = ON")
        with self.transaction() as database:
            for scope in scopes:
                for table, rows in reversed([*_ROWS.items()]):
                    database.execute(f"DELETE FROM {table} WHERE {rows}", (scope,))
            opened.leave_scopes(database, scopes)
        with self._translate():
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
        with self.transaction() as database:
            for table, column in _TEXTS:
                query = f"SELECT {column}, scope IN {AMONG} FROM {table}"
                for text, is_mine in database.execute(query, (json.dumps(list(scopes)),)):
                    (mine if is_mine else others).add(str(text))
        return mine, others


def weights_of(database: Database, memories: Sequence[str]) -> list[tuple[str, str, str, float]]:
    """Return (id, category, importance, epoch seconds) of those of the owner's memories that are known."""
    query = f"SELECT id, category, importance, at FROM memories WHERE scope = ? AND id IN {AMONG}"
    return list(database.execute(query, (OWNER_KEY, json.dumps(list(memories)))).fetchall())


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
