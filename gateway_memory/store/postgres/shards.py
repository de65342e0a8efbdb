"""The servers over which the index is spread by scope, and what is noted on each: which scopes it has.

The first server has all but the index, from which the index is made anew wherever it is missing. So nothing is moved
between servers: where the list has changed, the rows that are on another server than their scope's are deleted.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import psycopg

from gateway_memory.errors import StoreError
from gateway_memory.store.postgres.connection import connected, in_transaction
from gateway_memory.store.postgres.transaction import SQL
from recall import SHARD, shard_of

_TIMEOUT_SECONDS: Final = 3600.0
_TABLES: Final = ('"row"', "vector", "vector_2", "removed", "scope")
"""The tables of the index, in which a scope is deleted; the others follow by their foreign keys."""


class Place(NamedTuple):
    """A server. number: in the list, from 1; 0 for the first server where the list does not name it.

    label: what is noted there; "" where there is no list.
    """

    dsn: str
    number: int
    shards: int
    label: str

    def has(self, scope: str) -> bool:
        """Return whether the rows of a scope belong there."""
        return self.number == 1 + shard_of(scope, self.shards)

    def __str__(self) -> str:
        return f"server {self.number} of store.shards" if self.number else "the server of the store"


def places_of(dsn: str, shards: Sequence[str], journal: str) -> list[Place]:
    """Return the server of the store, and those of the list. journal: the id of the memory."""
    if not shards:
        return [Place(dsn, 1, 1, "")]
    listed = [Place(each, number, len(shards), "") for number, each in enumerate(shards, 1)]
    places = listed if dsn in shards else [Place(dsn, 0, len(shards), ""), *listed]
    return [place._replace(label=f"{journal} {place.number}/{place.shards}") for place in places]


def identity(connection: psycopg.Connection[Any]) -> str:
    """Return the id of the memory."""
    return str((connection.execute("SELECT journal FROM identity").fetchone() or ("",))[0])


def noted(connection: psycopg.Connection[Any]) -> str:
    """Return what is noted of the scopes that a server has; "" for all."""
    return str((connection.execute("SELECT value FROM meta WHERE key = %s", (SHARD,)).fetchone() or ("",))[0])


def spread(dsn: str, schema: str, shards: Sequence[str]) -> list[str]:
    """Note on each server which scopes it has, and delete the index of others there. Return what was done.

    Call it with the DSNs of the owner, once the tables are there.

    Raises StoreError: a server can't be reached, or holds another memory. What is done stays, and it can be run again.
    """
    with in_transaction(dsn, schema) as connection:
        journal = identity(connection)
    places = places_of(dsn, shards, journal)
    done = []
    for place in places:  # first of all, so that no host goes on with the former list
        with in_transaction(place.dsn, schema) as connection:
            before = noted(connection)
            is_ours = identity(connection) == journal or before.startswith(journal)
            if not is_ours and connection.execute(SQL["shards.is_used"]).fetchone():
                raise StoreError(f"{place}: its schema {schema!r} is that of another memory; name another server")
            if before != place.label:
                connection.execute("DELETE FROM meta WHERE key = %s", (SHARD,))
                connection.execute("INSERT INTO meta SELECT %s, %s WHERE %s <> ''", (SHARD, place.label, place.label))
                done.append(f"{place}: noted which part of the index it has")
    for place in places:
        with connected(place.dsn, schema, timeout_seconds=_TIMEOUT_SECONDS) as connection:
            if noted(connection) != place.label:
                raise StoreError(f"{place}: another one of the list is the same server; name each once")
            if wrong := misplaced(connection, place):
                for scope in wrong:
                    with connection.transaction():
                        for table in _TABLES:
                            column = "key" if table == "scope" else "scope"
                            connection.execute(f"DELETE FROM {table} WHERE {column} = %s".encode(), (scope,))
                done.append(f"{place}: deleted the index of {len(wrong)} scopes that are made anew on another one")
    return done


def misplaced(connection: psycopg.Connection[Any], place: Place) -> list[str]:
    """Return the scopes that have rows on a server, and belong on another one."""
    return [key for (key,) in connection.execute("SELECT key FROM scope ORDER BY key") if not place.has(key)]


def check_noted(connection: psycopg.Connection[Any], place: Place) -> None:
    """Raise StoreError where another list is noted on a server than that of its place."""
    if noted(connection) != place.label:
        raise StoreError(
            f"{place}: another list of store.shards is noted there. If this one is right, run `gateway-memory db "
            "migrate` with it once, as the owner of the schema, and start all hosts with it"
        )
