"""Rows in PostgreSQL: several hosts share them. The tables are made by who owns the database.

Rows of the scopes that were read lately stay in memory with their texts, so that a search of them needs no more than a
look at the scope's revision; while the server is away, not even that.
"""

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import psycopg
from psycopg import errors

from recall.log import get_logger
from recall.rows.columns import LOADED, STORED, stored_of
from recall.rows.patient import PatientConnection
from recall.rows.port import LoadedRow, Opening, Poll, ScopeChanges
from recall.rows.sql import SqlRows
from recall.types import Filter, RecallError, RowsBusyError, Stored

__all__ = ["PostgresRows"]

_log = get_logger(__name__)

# A server that is away is asked again only then.
_REST_SECONDS = 1.0
# Rows in memory with their texts, over all scopes. A row has about a kilobyte.
_RESIDENT_ROWS = 150_000
_COLLIDED = (errors.SerializationFailure, errors.DeadlockDetected, errors.LockNotAvailable)


class PostgresRows(SqlRows):
    """The adapter of `Rows` for PostgreSQL. arguments: of psycopg's `connect`; they say in which schema the tables are.

    resident_rows: the maximum number of rows whose texts stay in memory.
    """

    def __init__(self, dsn: str, arguments: dict[str, Any], *, resident_rows: int = _RESIDENT_ROWS) -> None:
        self._server = _Server(dsn, arguments)
        super().__init__(self._server)
        self._most = resident_rows
        self._texts: OrderedDict[str, dict[int, Stored]] = OrderedDict()

    def load(self, scope: str, after: int, limit: int) -> Sequence[LoadedRow]:
        if after < 0:
            self._texts[scope] = {}
        where = "where r.scope = ? and r.sequence > ? order by r.sequence limit ?"
        rows = self._both(scope, where, self._number(scope), after, limit)
        if not rows:
            self._evict(scope)
        return rows

    def _both(self, scope: str, where: str, *values: Any) -> list[LoadedRow]:
        """Return rows of a scope as the index loads them, and keep their texts."""
        size = len(LoadedRow._fields)
        query = f"select {LOADED}, {STORED} from row r left join vector v on v.sequence = r.sequence {where}"
        texts = self._texts.get(scope)
        loaded = []
        for row in self._rows(query, *values):
            loaded.append(LoadedRow._make(row[:size]))
            if texts is not None:
                texts[row[0]] = stored_of(scope, row[size:])
        return loaded

    def _evict(self, kept: str) -> None:
        self._texts.move_to_end(kept)
        total = sum(map(len, self._texts.values()))
        while total > self._most and len(self._texts) > 1:
            total -= len(self._texts.popitem(last=False)[1])

    def changed_since(self, scope: str, revision: int) -> ScopeChanges | None:
        if not self._server.is_current():
            return ScopeChanges(revision, (), (), ())
        with self._server.reading():
            current, forgotten = self._scope(scope)
            if current < revision or revision < forgotten:
                return None
            if current == revision:
                return ScopeChanges(current, (), (), ())
            since = (self._number(scope), revision)
            rows = self._both(scope, "where r.scope = ? and r.revision > ? order by r.sequence", *since)
            removed = [
                row[0] for row in self._rows("select sequence from removed where scope = ? and revision > ?", *since)
            ]
            query = "select sequence, vector from vector where scope = ? and revision > ? order by sequence"
            vectors = self._rows(query, *since)
        texts = self._texts.get(scope, {})
        for sequence in removed:
            texts.pop(sequence, None)
        return ScopeChanges(current, rows, removed, vectors)

    def by_sequences(self, scope: str, sequences: Sequence[int]) -> Sequence[Stored]:
        texts = self._texts.get(scope)
        if texts is None:
            return super().by_sequences(scope, sequences)
        self._texts.move_to_end(scope)
        found = [texts[sequence] for sequence in sequences if sequence in texts]
        missing = [sequence for sequence in sequences if sequence not in texts]
        if missing and self.is_current():
            found += super().by_sequences(scope, missing)
        return found

    def matching(self, scope: str, only: Filter) -> Sequence[int]:
        if self.is_current() or scope not in self._texts:
            return super().matching(scope, only)
        return [sequence for sequence, stored in self._texts[scope].items() if _passes(stored, only)]

    def erase(self, scope: str) -> None:
        self._texts.pop(scope, None)
        super().erase(scope)


def _passes(stored: Stored, only: Filter) -> bool:
    """Return what `condition_of` says in SQL."""
    entry = stored.entry
    if entry.type == "S" or ((only.type or only.category) and entry.kind == "episode"):
        return False
    wanted = ((only.type, entry.type), (only.category, entry.category), (only.session, entry.session))
    if any(value and value != found for value, found in wanted):
        return False
    return (only.since is None or entry.at >= only.since) and (only.until is None or entry.at < only.until)


class _Server:
    """A connection that is opened again in the background when it was lost, and never waits long."""

    hint = ""

    def __init__(self, dsn: str, arguments: dict[str, Any]) -> None:
        self._dsn = dsn
        self._arguments = arguments
        self._connection: PatientConnection | None = None
        self._connecting: threading.Thread | None = None
        self._rests_until = 0.0
        self._is_open = False

    @property
    def connection(self) -> "_Server":
        return self

    def open(self) -> Opening:
        with _translated():
            self._connection = self._connect()
        self._is_open = True
        return "found" if self.execute("select 1 from scope limit 1").fetchall() else "made"

    def _connect(self) -> "PatientConnection":
        return PatientConnection.connect(self._dsn, **self._arguments)

    def close(self) -> None:
        self._is_open = False
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def poll(self) -> Poll:
        """Return "changed" while the server answers: each scope is then compared by its revision."""
        return "changed" if self._ready() else "unchanged"

    def is_current(self) -> bool:
        return self._connection is not None and not self._connection.closed

    def recreate(self) -> None:
        raise RecallError("rows in PostgreSQL make no sense; they are left for an operator to look at")

    def _ready(self) -> bool:
        if self.is_current():
            return True
        if self._connecting is None and self._is_open and time.monotonic() >= self._rests_until:
            self._connecting = threading.Thread(target=self._connect_again, name="recall-postgres", daemon=True)
            self._connecting.start()
        return False

    def _connect_again(self) -> None:
        try:
            connection = self._connect()
        except psycopg.Error as error:
            _log.warning("recall.server_away", error=type(error).__name__)
            self._rests_until = time.monotonic() + _REST_SECONDS
        else:
            if self._is_open:
                self._connection = connection
            else:
                connection.close()
        self._connecting = None

    def execute(self, query: str, values: Sequence[Any] = (), /) -> Any:
        with _translated():
            return self._there().execute(_translation(query), _storable(values))

    def executemany(self, query: str, values: Sequence[Sequence[Any]], /) -> None:
        with _translated():
            self._there().cursor().executemany(_translation(query), [_storable(row) for row in values])

    def _there(self) -> "PatientConnection":
        if self._connection is None or not self._ready():
            raise RecallError("PostgreSQL is away")
        return self._connection

    @contextmanager
    def writing(self) -> Iterator["_Server"]:
        with _translated(), self._there().transaction():
            yield self

    @contextmanager
    def reading(self) -> Iterator["_Server"]:
        with _translated(), self._there().transaction():
            self.execute("set transaction isolation level repeatable read, read only")
            yield self

    erasing = writing


@contextmanager
def _translated() -> Iterator[None]:
    """Raise recall's errors, which quote nothing that was stored."""
    try:
        yield
    except _COLLIDED as error:
        raise RowsBusyError(f"another host writes the same rows ({type(error).__name__})") from error
    except psycopg.Error as error:
        raise RecallError(f"PostgreSQL cannot be read or written ({type(error).__name__})") from error


def _storable(values: Sequence[Any]) -> list[Any]:
    """Return values without the character that PostgreSQL has no text for."""
    return [value.replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(value, str) else value for value in values]


@lru_cache(maxsize=256)
def _translation(query: str) -> str:
    """Return a shared query as psycopg takes it. `row` is a keyword there."""
    return re.sub(r"\brow\b", '"row"', query.replace("?", "%s"))
