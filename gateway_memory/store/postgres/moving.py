"""A memory in PostgreSQL, as a move reads and fills it."""

import contextlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import psycopg
from psycopg import IsolationLevel, sql

from gateway_memory.errors import StoreError, UsageError
from gateway_memory.store.moving import BEFORE_ANYTHING, PARTS, Cursor, Row, size_of
from gateway_memory.store.postgres.connection import failed, in_schema, unreachable
from gateway_memory.store.postgres.schema import MOVING, check
from recall import PatientConnection

__all__ = ["PostgresSide"]

_PATIENCE_SECONDS: Final = 3600.0
_LOCK_SECONDS: Final = 15.0
"""How long the server may take to notice that a killed process is gone."""
_POLL_SECONDS: Final = 0.1
_FIRST: Final = 10
_MOST: Final = 500
_BYTES: Final = 4 << 20
"""How much is asked of the server at once: as many rows as have this size, by the last ones."""
_MOVING: Final = sql.Identifier(MOVING)


class PostgresSide:
    """The tables of a schema that no host has open. Every call may raise StoreError.

    changed: 0, since all text in PostgreSQL is valid.
    """

    without_nul = True
    changed = 0

    def __init__(self, connection: psycopg.Connection[Any], schema: str) -> None:
        self.place = f"the schema {schema!r}"
        self._connection = connection
        self._schema = schema

    @classmethod
    @contextlib.contextmanager
    def open(cls, dsn: str, schema: str, *, reads: bool) -> "Iterator[PostgresSide]":
        """Open a schema exclusively: no host has it open, and none can start. reads: on one snapshot.

        Raises:
            UsageError: a host has it open, or this role does not own it.
            StoreError: the server can't be reached, or the schema is not up to date.
        """
        check(dsn, schema, by_move=not reads)
        try:
            connection = PatientConnection.connect(dsn, **in_schema(schema))
        except psycopg.Error as error:
            raise unreachable(error) from error
        connection.patience_seconds = _PATIENCE_SECONDS
        with contextlib.closing(connection), _translated():
            _hold(connection, schema)
            if not reads:
                yield cls(connection, schema)
                return
            connection.isolation_level = IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            with connection.transaction():
                yield cls(connection, schema)

    def identity(self) -> str:
        """Return the id of the memory, which it keeps when it is moved."""
        return str(self._one("SELECT journal FROM identity"))

    def columns(self, part: str) -> frozenset[str]:
        """Return the names of a part's columns."""
        query = "SELECT column_name FROM information_schema.columns WHERE table_schema = %s AND table_name = %s"
        return frozenset(str(row[0]) for row in self._all(query, (self._schema, part)))

    def tables(self) -> set[str]:
        """Return the names of all tables but those of the index."""
        query = (
            "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s) AND relkind IN ('r', 'p') "
            "AND NOT relispartition"
        )
        return {str(row[0]) for row in self._all(query, (self._schema,))} - {MOVING}

    def rows(self, part: str, columns: Sequence[str], after: Cursor) -> Iterator[Row]:
        """Yield the rows of a part after a key, in the order of the key."""
        key = sql.SQL(", ").join(map(sql.Identifier, PARTS[part]))
        query = sql.SQL("SELECT {} FROM {}").format(_named(columns), sql.Identifier(part))
        if after:
            marks = sql.SQL(", ").join([sql.Placeholder()] * len(after))
            query += sql.SQL(" WHERE ({}) > ({})").format(key, marks)
        if PARTS[part]:
            query += sql.SQL(" ORDER BY ") + key
        with _translated(), self._connection.transaction(), self._connection.cursor(name="moving") as cursor:
            cursor.execute(query, tuple(after or ()))
            most = _FIRST
            while rows := cursor.fetchmany(most):
                yield from rows
                most = max(1, min(_MOST, _BYTES * len(rows) // sum(map(size_of, rows))))

    def counters(self) -> dict[str, int]:
        """Return the last number that each table has given to a row."""
        query = sql.SQL("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {}")
        return {table: int(self._one(query.format(sql.Identifier(*name)))) for table, _, name in self._counting()}

    def notes(self) -> list[str]:
        """Return what is not moved, in words."""
        return ["turns that wait in the spool of another host are not here: let each host send them before it ends"]

    # As the target of a move

    def filled(self) -> list[str]:
        """Return the parts that hold anything."""
        query = sql.SQL("SELECT EXISTS (SELECT 1 FROM {})")
        return [part for part in PARTS if part not in BEFORE_ANYTHING and self._one(query.format(sql.Identifier(part)))]

    def unfinished(self) -> str | None:
        """Return the identity of the memory whose move to here is not complete; None without one."""
        if not self._one("SELECT to_regclass(%s) IS NOT NULL", (f"{self._schema}.{MOVING}",)):
            return None
        return str(self._one(sql.SQL("SELECT value FROM {} WHERE name = ''").format(_MOVING)))

    def begin(self, source: str) -> None:
        """Begin a move: until `finish`, no host opens this memory."""
        create = sql.SQL("CREATE TABLE {} (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
        with _translated(), self._connection.transaction():
            for part in sorted(BEFORE_ANYTHING):
                self._connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(part)))
            self._connection.execute(create.format(_MOVING))
            self._connection.execute(sql.SQL("INSERT INTO {} VALUES ('', %s)").format(_MOVING), (source,))

    def cursor(self, part: str) -> Cursor:
        """Return up to which key a part was copied."""
        found = self._all(sql.SQL("SELECT value FROM {} WHERE name = %s").format(_MOVING), (part,))
        return tuple(json.loads(found[0][0])) if found else None

    def put(self, part: str, columns: Sequence[str], rows: Iterable[Row], cursor: Cursor) -> None:
        """Store rows, with the key up to which the part is copied. A part without a key is stored as a whole."""
        table = sql.Identifier(part)
        copy = sql.SQL("COPY {} ({}) FROM STDIN").format(table, _named(columns))
        query = sql.SQL("INSERT INTO {} VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value")
        with _translated(part), self._connection.transaction():
            if not PARTS[part]:
                self._connection.execute(sql.SQL("DELETE FROM {}").format(table))
            with self._connection.cursor() as writer, writer.copy(copy) as stream:
                for row in rows:
                    stream.write_row(row)
            self._connection.execute(query.format(_MOVING), (part, json.dumps(cursor)))

    def count_on(self, counters: Mapping[str, int]) -> None:
        """Let the next numbers be higher than these, and than all that were copied."""
        most = sql.SQL("SELECT coalesce(max({}), 0) FROM {}")
        with _translated(), self._connection.transaction():
            for table, column, name in self._counting():
                largest = int(self._one(most.format(sql.Identifier(column), sql.Identifier(table))))
                last = max(largest, counters.get(table, 0))
                query = sql.SQL("SELECT setval({}::regclass, %s, %s)").format(sql.Literal(".".join(name)))
                self._connection.execute(query, (max(last, 1), last > 0))
            self._connection.execute("SELECT add_episode_partitions(%s)", (counters.get("turns", 0),))

    def finish(self) -> None:
        """End the move: from now on, hosts can open the memory."""
        with _translated(), self._connection.transaction():
            self._connection.execute(sql.SQL("DROP TABLE {}").format(_MOVING))

    def _counting(self) -> list[tuple[str, str, tuple[str, str]]]:
        """Return the tables that number their rows: table, column, and the schema and name of the sequence."""
        query = (
            "SELECT t.relname, a.attname, s.relname FROM pg_class s JOIN pg_depend d ON d.objid = s.oid "
            "AND d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.deptype = 'i' "
            "JOIN pg_class t ON t.oid = d.refobjid "
            "JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid "
            "JOIN pg_namespace n ON n.oid = s.relnamespace WHERE s.relkind = 'S' AND n.nspname = %s"
        )
        found = self._all(query, (self._schema,))
        return [(table, column, (self._schema, name)) for table, column, name in found if table in PARTS]

    def _one(self, query: str | sql.Composable, values: Sequence[Any] = ()) -> Any:
        return self._all(query, values)[0][0]

    def _all(self, query: str | sql.Composable, values: Sequence[Any] = ()) -> list[Any]:
        with _translated():
            return self._connection.execute(query, values).fetchall()  # type: ignore[arg-type]


def _hold(connection: psycopg.Connection[Any], schema: str) -> None:
    """Take the lock under which hosts start, until the connection ends. Raises UsageError if a host is there."""
    if connection.execute("SELECT row_security_active('memories')").fetchone() == (True,):
        raise UsageError(f"the schema {schema!r}: connect as the role that owns its tables, as for `db migrate`")
    until = time.monotonic() + _LOCK_SECONDS
    query = "SELECT pg_try_advisory_lock(hashtext(current_schema() || '.hosts'))"
    while connection.execute(query).fetchone() != (True,):
        if time.monotonic() > until:
            raise UsageError(f"the schema {schema!r}: a host is starting, or another move is running; try again later")
        time.sleep(_POLL_SECONDS)
    found = connection.execute("SELECT count(*) FROM hosts WHERE until > now()").fetchone()
    if found and found[0]:
        raise UsageError(
            f"the schema {schema!r}: {found[0]} hosts have this memory open; end them first, "
            "and wait 30 seconds for those that were killed"
        )


def _named(columns: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))


@contextlib.contextmanager
def _translated(part: str = "") -> Iterator[None]:
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
