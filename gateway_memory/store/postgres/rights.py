"""What the role of hosts may do with the tables: how it is given, and what of it is missing."""

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg import sql

from gateway_memory.store.postgres.transaction import SQL


def give(connection: psycopg.Connection[Any], schema: str, role: str) -> None:
    """Let a role read and write the tables, those of later steps too. Within a transaction of the owner.

    Rows are numbered by identity columns, whose sequences need no right of their own. A partition is seen through its
    table. Of the steps, a host reads which are applied; the table of a migration is the owner's.
    """
    names = {"schema": sql.Identifier(schema), "role": sql.Identifier(role)}
    for grant in SQL["rights.grants"].split("; "):
        connection.execute(sql.SQL(grant).format(**names))


def missing(connection: psycopg.Connection[Any], schema: str, role: str) -> Sequence[str]:
    """Return what a role lacks that hosts need, such as "UPDATE, DELETE on turns". The role must exist.

    It is asked of the catalog, which every role may read, whatever it may do with the schema.
    """
    rows = connection.execute(SQL["rights.missing_rights"], {"schema": schema, "role": role}).fetchall()
    return [f"{privileges} on {name}" for privileges, name in rows]
