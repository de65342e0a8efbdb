"""Delete scopes from every table."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg import sql

from gateway_memory.ground.databases import EVERY
from gateway_memory.scope import Scope
from gateway_memory.store.journal.links import linked_with
from gateway_memory.store.journal.opened import leave_scopes
from gateway_memory.store.postgres.connection import in_transaction
from gateway_memory.store.postgres.transaction import SQL, Transaction
from recall import TimeoutConnection

_ERASING_TIMEOUT_SECONDS: Final = 600.0
_OF_GRAPH: Final = "EXISTS (SELECT 1 FROM large WHERE scope = ANY(%s))"


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
        """Delete all rows of scopes, in one transaction. Processes that hold them notice it at the next message."""
        keys = [scope.key for scope in scopes]
        with self._connected() as connection:
            for _, query, values in self._each(connection, "DELETE", scopes):
                connection.execute(query, values)
            connection.execute("DELETE FROM links WHERE target = ANY(%s)", (keys,))
            leave_scopes(Transaction(connection), keys)

    def _each(
        self, connection: psycopg.Connection[Any], verb: str, scopes: Sequence[Scope]
    ) -> list[tuple[str, sql.Composed, tuple[list[str]]]]:
        """Return each table that has rows of scopes, with a query of what it has; those that others refer to last."""
        keys, folders = [scope.key for scope in scopes], [scope.folder for scope in scopes]
        query = SQL["scopes.tables"]
        tables = [str(row[0]) for row in connection.execute(query, (self._schema,)).fetchall()]
        query = SQL["scopes.graphs"]
        graphs = [str(row[0]) for row in connection.execute(query, (keys, self._schema)).fetchall()]
        conditions = [
            *((table, _OF_GRAPH, keys) for table in graphs),
            *((table, "scope = ANY(%s)", keys) for table in tables),
            ("documents", "folder = ANY(%s)", folders),
            ("scope", "key = ANY(%s)", keys),
        ]
        return [
            (table, sql.SQL(f"{verb} FROM {{}} WHERE {where}").format(sql.Identifier(table)), (values,))
            for table, where, values in conditions
        ]

    @contextmanager
    def _connected(self) -> Iterator[TimeoutConnection]:
        """A connection in a transaction that sees all scopes. What goes wrong in it is translated."""
        with in_transaction(self._dsn, self._schema, EVERY, timeout_seconds=_ERASING_TIMEOUT_SECONDS) as connection:
            yield connection
