"""A transaction in PostgreSQL: what it sees, which locks it takes, and what the server itself ends."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import psycopg

from gateway_memory.ground.databases import Result
from gateway_memory.store.journal.sql import Scopes, statements
from recall import SEE, TimeoutConnection, as_psycopg, storable

SQL: Final = statements(Path(__file__).with_name("queries.sql"))
"""The statements that take more than a line, by "module.name"; shorter ones are where they run."""


_NAMED: Final = "(hashtextextended(current_schema() || name, 0)) FROM unnest(CAST(? AS TEXT[])) AS name"
LOCK_EXCLUSIVE: Final = f"SELECT pg_advisory_xact_lock{_NAMED}"
LOCK_SHARED: Final = f"SELECT pg_advisory_xact_lock_shared{_NAMED}"
SEE_SOON: Final = (
    f"{SEE}, set_config('lock_timeout', %s, true), set_config('statement_timeout', %s, true), "
    "set_config('idle_in_transaction_session_timeout', '10000', true)"
)
"""Timeouts by which the server itself ends what no process waits for any more, in milliseconds.

Each takes less than the connection timeout, so a timeout means that the server is gone. A process that is cut off
within a transaction holds its locks for ten seconds at most.
"""


def see(connection: TimeoutConnection, scopes: Scopes) -> None:
    """Let the transaction of a connection find its tables, and see the rows of these scopes."""
    connection.execute(SEE, (connection.search_path, names_of(scopes)))


def names_of(scopes: Scopes) -> list[str]:
    """Return the keys of scopes as a list."""
    return [scopes] if isinstance(scopes, str) else list(scopes)


class Transaction:
    """A `Database` over a connection in a transaction.

    pipeline: of the connection, if it has begun one. Statements are then sent without waiting for the server until
    a result is read, so that those of a loop travel together. An error is raised by the statement that waits.
    """

    def __init__(self, connection: psycopg.Connection[Any], pipeline: psycopg.Pipeline | None = None) -> None:
        self._connection = connection
        self._pipeline = pipeline

    def execute(self, query: str, values: Sequence[Any] = (), /) -> Result:
        cursor = self._connection.execute(as_psycopg(query), [storable(value) for value in values])
        return _Awaited(cursor, self._pipeline) if self._pipeline else cursor

    def executemany(self, query: str, values: Iterable[Sequence[Any]], /) -> Result:
        cursor = self._connection.cursor()
        if rows := [[storable(value) for value in row] for row in values]:
            cursor.executemany(as_psycopg(query), rows)
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
