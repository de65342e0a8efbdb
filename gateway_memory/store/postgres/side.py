"""A memory in PostgreSQL, as a migration reads and fills it."""

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import psycopg
from psycopg import IsolationLevel

from gateway_memory.errors import StoreError, UsageError
from gateway_memory.store.journal.migration import Side, quoted, select
from gateway_memory.store.migration import PARTS, Cursor, Row, size_of
from gateway_memory.store.postgres.connection import connected
from gateway_memory.store.postgres.failures import failed
from gateway_memory.store.postgres.schema import check
from gateway_memory.store.postgres.transaction import SQL, Transaction
from recall import as_psycopg

_MIGRATING_TIMEOUT_SECONDS: Final = 3600.0
_LOCK_SECONDS: Final = 15.0
"""How long the server may take to notice that a killed process is gone."""
_POLL_SECONDS: Final = 0.1
_FIRST: Final = 10
_MOST: Final = 500
_BYTES: Final = 4 << 20
"""How much is asked of the server at once: as many rows as have this size, by the last ones."""


class PostgresSide(Side):
    """The tables of a schema. All text in PostgreSQL is valid."""

    without_nul = True

    def __init__(self, connection: psycopg.Connection[Any], schema: str) -> None:
        super().__init__(f"the schema {schema!r}", Transaction(connection))
        self._connection = connection
        self._schema = schema

    @classmethod
    @contextlib.contextmanager
    def open(cls, dsn: str, schema: str, *, reads: bool) -> "Iterator[PostgresSide]":
        """Open a schema exclusively: no process has it open, and none can start. reads: on one snapshot.

        Raises:
            UsageError: a process has it open, or this role does not own it.
            StoreError: the server can't be reached, or the schema is not up to date.
        """
        check(dsn, schema, by_migration=not reads)
        with connected(dsn, schema, timeout_seconds=_MIGRATING_TIMEOUT_SECONDS) as connection:
            _hold(connection, schema)
            if not reads:
                yield cls(connection, schema)
                return
            connection.isolation_level = IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            with connection.transaction():
                yield cls(connection, schema)

    def columns(self, part: str) -> frozenset[str]:
        query = "SELECT column_name FROM information_schema.columns WHERE table_schema = ? AND table_name = ?"
        return frozenset(str(row[0]) for row in self._all(query, (self._schema, part)))

    def rows(self, part: str, columns: Sequence[str], after: Cursor) -> Iterator[Row]:
        query, values = select(part, columns, after)
        with self._writing(), self._connection.cursor(name="moving") as cursor:
            cursor.execute(as_psycopg(query), values)
            most = _FIRST
            while rows := cursor.fetchmany(most):
                yield from rows
                most = max(1, min(_MOST, _BYTES * len(rows) // sum(map(size_of, rows))))

    def counters(self) -> dict[str, int]:
        query = 'SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM "{}"'
        return {table: int(self._all(query.format(name))[0][0]) for table, _, name in self._counting()}

    def notes(self) -> list[str]:
        return [
            "turns that wait in the spool of another process are not here: let each process send them before it ends"
        ]

    def count_on(self, counters: Mapping[str, int]) -> None:
        with self._writing():
            for table, column, name in self._counting():
                largest = int(self._all(f"SELECT coalesce(max({column}), 0) FROM {table}")[0][0])
                last = max(largest, counters.get(table, 0))
                self._all("SELECT setval(CAST(? AS regclass), ?, ?)", (name, max(last, 1), last > 0))
            self._all("SELECT add_episode_partitions(?)", (counters.get("turns", 0),))

    @contextlib.contextmanager
    def _writing(self, part: str = "") -> Iterator[None]:
        with _translate(part), self._connection.transaction():
            yield

    def _reading(self) -> contextlib.AbstractContextManager[None]:
        return _translate()

    def _tables(self) -> set[str]:
        query = SQL["side.all_tables"]
        return {str(row[0]) for row in self._all(query, (self._schema,))}

    def _add(self, part: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
        copy = f"COPY {part} ({quoted(columns)}) FROM STDIN"
        with self._connection.cursor() as writer, writer.copy(copy) as stream:
            for row in rows:
                stream.write_row(row)

    def _counting(self) -> list[tuple[str, str, str]]:
        """Return the tables that number their rows: table, column, and the name of the sequence."""
        query = SQL["side.numbered"]
        return [row for row in self._all(query, (self._schema,)) if row[0] in PARTS]


def _hold(connection: psycopg.Connection[Any], schema: str) -> None:
    """Take the lock under which processes start, until the connection ends. Raises UsageError if a process is there."""
    if connection.execute("SELECT row_security_active('memories')").fetchone() == (True,):
        raise UsageError(f"the schema {schema!r}: connect as the role that owns its tables, as for `db migrate`")
    until = time.monotonic() + _LOCK_SECONDS
    query = "SELECT pg_try_advisory_lock(hashtext(current_schema() || '.hosts'))"
    while connection.execute(query).fetchone() != (True,):
        if time.monotonic() > until:
            raise UsageError(
                f"the schema {schema!r}: a process is starting, or another move is running; try again later"
            )
        time.sleep(_POLL_SECONDS)
    hosts = connection.execute("SELECT count(*) FROM hosts WHERE until > now()").fetchone()
    if hosts and hosts[0]:
        raise UsageError(
            f"the schema {schema!r}: {hosts[0]} processes have this memory open; end them first, "
            "and wait 30 seconds for those that were killed"
        )


@contextlib.contextmanager
def _translate(part: str = "") -> Iterator[None]:
    """Translate errors; the server's own words may quote what was written."""
    try:
        yield
    except psycopg.Error as error:
        if part and error.sqlstate:
            kind = f"{type(error).__name__} ({error.sqlstate})"
            raise StoreError(
                f"PostgreSQL does not take a row of {part}: {kind}; nothing of its batch was copied"
            ) from error
        raise failed(error) from error
