"""A transaction in PostgreSQL: what it sees, which locks it takes, and what the server itself ends."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final, NamedTuple

import psycopg

from gateway_memory.store.journal.sql import Found, Named

__all__ = ["LOCK_ALONE", "LOCK_BESIDE", "SEE_SOON", "Begin", "Transaction", "see", "soon", "transaction"]

_NAMED: Final = "(hashtextextended(current_schema() || name, 0)) FROM unnest(CAST(? AS TEXT[])) AS name"
LOCK_ALONE: Final = f"SELECT pg_advisory_xact_lock{_NAMED}"
LOCK_BESIDE: Final = f"SELECT pg_advisory_xact_lock_shared{_NAMED}"
_SEE: Final = "SELECT set_config('gateway_memory.scopes', CAST(%s AS TEXT[])::text, true)"
"""What the policies of the schema compare rows with. It ends with the transaction."""
SEE_SOON: Final = (
    f"{_SEE}, set_config('lock_timeout', %s, true), set_config('statement_timeout', %s, true), "
    "set_config('idle_in_transaction_session_timeout', '10000', true)"
)
"""What the server itself ends, so that nothing goes on there for which nobody waits any more. In milliseconds.

Each takes less than a connection's patience: who waits knows then that the server lives. A host that is cut off within
a transaction holds its locks for ten seconds at most.
"""


def see(connection: psycopg.Connection[Any], of: Named) -> None:
    """Let the transaction of a connection see the rows of these scopes."""
    connection.execute(_SEE, (_names(of),))


def _names(of: Named) -> list[str]:
    return [of] if isinstance(of, str) else list(of)


@lru_cache(maxsize=1024)
def translated(query: str) -> str:
    """Return a shared query as psycopg takes it."""
    return query.replace("%", "%%").replace("?", "%s").replace("json_each(", "json_texts(")


class Transaction:
    """A `Database` over a connection in a transaction.

    pipeline: of the connection, if it has begun one. Statements are then sent without waiting for the server until
    somebody looks at a result, so that those of a loop travel together. An error is raised by the statement that waits.
    """

    def __init__(self, connection: psycopg.Connection[Any], pipeline: psycopg.Pipeline | None = None) -> None:
        self._connection = connection
        self._pipeline = pipeline
        self.is_ending = False
        """Whether the commit may have reached the server."""

    @property
    def is_lost(self) -> bool:
        """Whether the connection ended before the transaction did."""
        return self._connection.closed and not self.is_ending

    def execute(self, query: str, values: Sequence[Any] = (), /) -> Found:
        cursor = self._connection.execute(translated(query), [_storable(value) for value in values])
        return _Awaited(cursor, self._pipeline) if self._pipeline else cursor

    def executemany(self, query: str, values: Iterable[Sequence[Any]], /) -> Found:
        cursor = self._connection.cursor()
        if rows := [[_storable(value) for value in row] for row in values]:
            cursor.executemany(translated(query), rows)
        return cursor


class _Awaited:
    """The result of a statement in a pipeline, which may not be there yet."""

    def __init__(self, cursor: psycopg.Cursor[Any], pipeline: psycopg.Pipeline) -> None:
        self._cursor = cursor
        self._pipeline = pipeline
        self.fetchone, self.fetchall = cursor.fetchone, cursor.fetchall  # psycopg waits for these itself

    @property
    def rowcount(self) -> int:
        self._pipeline.sync()
        return self._cursor.rowcount

    def __iter__(self) -> Iterator[Any]:
        return iter(self._cursor)


def _storable(value: Any) -> Any:
    """Return a value without the character that PostgreSQL has no text for."""
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(value, str) else value


class Begin(NamedTuple):
    """How a transaction begins. of: the scopes that it sees. locks: queries that take locks, with their names.

    seconds, lock_seconds: how long a statement, and a wait for a lock, may take.
    """

    level: str
    of: Named
    locks: Sequence[tuple[str, list[str]]]
    seconds: float
    lock_seconds: float


def soon(of: Named, seconds: float, lock_seconds: float) -> tuple[list[str], str, str]:
    """Return the values of `SEE_SOON`."""
    return _names(of), str(round(1000 * lock_seconds)), str(round(1000 * seconds))


@contextmanager
def transaction(connection: psycopg.Connection[Any], begun: Begin) -> Iterator[Transaction]:
    """A transaction that sees scopes and holds locks."""
    try:
        with connection.pipeline() as pipeline:
            database = Transaction(connection, pipeline)
            connection.execute(f"BEGIN ISOLATION LEVEL {begun.level}")
            connection.execute(SEE_SOON, soon(begun.of, begun.seconds, begun.lock_seconds))
            for query, names in begun.locks:
                database.execute(query, (names,))
            yield database
            database.is_ending = True
            connection.execute("COMMIT")
    except BaseException:
        if not connection.closed:
            connection.rollback()
        raise
