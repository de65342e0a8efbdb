"""Delete scopes from every table."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg import sql

from gateway_memory.scope import Scope
from gateway_memory.store.journal.links import linked_with
from gateway_memory.store.journal.sql import EVERY, member
from gateway_memory.store.postgres.connection import connected
from gateway_memory.store.postgres.transaction import Transaction, see
from recall import PatientConnection

__all__ = ["ScopeTables"]

_PATIENCE_SECONDS: Final = 600.0
_OF_SESSIONS: Final = "session_id IN (SELECT session_id FROM sessions WHERE scope = ANY(%s))"
_OF_INDEX: Final = "scope IN (SELECT number FROM scope WHERE key = ANY(%s))"
_INDEX: Final = ("vector", "vector_2", "row", "removed", "file", "large_block", "large_word", "large")
_OF_GRAPH: Final = "EXISTS (SELECT 1 FROM scope WHERE key = ANY(%s))"
_OF_PLANS: Final = f"{member('body', 'scope')} = ANY(%s)"


class ScopeTables:
    """The tables of a memory, on a connection of its own. Every call may raise StoreError."""

    def __init__(self, dsn: str, schema: str) -> None:
        self._dsn = dsn
        self._schema = schema

    def linked_with(self, scope: str) -> list[str]:
        """Return the other scopes of the person to whom a scope belongs."""
        with self._connected() as connection:
            return linked_with(Transaction(connection), scope)

    def count(self, scopes: Sequence[Scope]) -> dict[str, int]:
        """Return how many rows scopes have, by table."""
        with self._connected() as connection:
            return {
                table: int((connection.execute(query, values).fetchone() or (0,))[0])
                for table, query, values in self._each(connection, "SELECT count(*)", scopes)
            }

    def erase(self, scopes: Sequence[Scope]) -> None:
        """Delete all rows of scopes, in one transaction. Hosts that hold them notice it at the next message."""
        keys = [scope.key for scope in scopes]
        with self._connected() as connection:
            for _, query, values in self._each(connection, "DELETE", scopes):
                connection.execute(query, values)
            connection.execute("DELETE FROM links WHERE target = ANY(%s)", (keys,))
            connection.execute("UPDATE turns SET joined = '' WHERE joined = ANY(%s)", (keys,))

    def _each(
        self, connection: psycopg.Connection[Any], verb: str, scopes: Sequence[Scope]
    ) -> list[tuple[str, sql.Composed, tuple[list[str]]]]:
        """Return each table that has rows of scopes, with a query of what it has; those that others refer to last."""
        keys, folders = [scope.key for scope in scopes], [scope.folder for scope in scopes]
        query = (
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE "
            "c.relnamespace = to_regnamespace(%s) AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND "
            "a.attname = 'scope' AND a.atttypid = 'text'::regtype AND c.relname <> 'sessions' ORDER BY c.relname"
        )
        tables = [str(row[0]) for row in connection.execute(query, (self._schema,)).fetchall()]
        query = (
            "SELECT relname FROM pg_class JOIN scope ON relname = 'large_vector_' || number WHERE key = ANY(%s) "
            "AND relnamespace = to_regnamespace(%s)"
        )
        graphs = [str(row[0]) for row in connection.execute(query, (keys, self._schema)).fetchall()]
        found = [
            ("told", _OF_SESSIONS, keys),
            ("plans", _OF_PLANS, keys),
            *((table, _OF_GRAPH, keys) for table in graphs),
            *((table, _OF_INDEX, keys) for table in _INDEX),
            *((table, "scope = ANY(%s)", keys) for table in tables),
            ("documents", "folder = ANY(%s)", folders),
            ("sessions", "scope = ANY(%s)", keys),
            ("scope", "key = ANY(%s)", keys),
        ]
        return [
            (table, sql.SQL(f"{verb} FROM {{}} WHERE {where}").format(sql.Identifier(table)), (values,))
            for table, where, values in found
        ]

    @contextmanager
    def _connected(self) -> Iterator[PatientConnection]:
        """A patient connection in a transaction that sees all scopes. What goes wrong in it is translated."""
        there = connected(self._dsn, self._schema, patience_seconds=_PATIENCE_SECONDS)
        with there as connection, connection.transaction():
            see(connection, EVERY)
            yield connection
