"""What the role of hosts may do with the tables: how it is given, and what of it is missing."""

from collections.abc import Sequence
from typing import Any, Final

import psycopg
from psycopg import sql

__all__ = ["give", "missing"]

_GRANTS: Final = (
    "GRANT USAGE ON SCHEMA {schema} TO {role}",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}",
    "ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {role}",
    "REVOKE INSERT, UPDATE, DELETE ON migrations FROM {role}",
    "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {schema} TO {role}",
    "ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT EXECUTE ON FUNCTIONS TO {role}",
)
# Rows are numbered by identity columns, whose sequences need no right of their own. A partition is seen through its
# table. Of the steps, a host reads which are applied; the table of a move is the owner's.
_NEEDED: Final = """
    SELECT 'USAGE', 'the schema ' || n.nspname FROM pg_namespace n
        WHERE n.nspname = %(schema)s AND NOT has_schema_privilege(%(role)s, n.oid, 'USAGE')
    UNION ALL
    SELECT string_agg(privilege, ', '), c.relname FROM pg_class c
        CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS privilege
        WHERE c.relnamespace = to_regnamespace(quote_ident(%(schema)s)) AND c.relkind IN ('r', 'p')
        AND NOT c.relispartition AND c.relname <> 'moving' AND (c.relname <> 'migrations' OR privilege = 'SELECT')
        AND NOT has_table_privilege(%(role)s, c.oid, privilege) GROUP BY c.relname
    UNION ALL
    SELECT 'EXECUTE', p.proname || '()' FROM pg_proc p WHERE p.pronamespace = to_regnamespace(quote_ident(%(schema)s))
        AND NOT has_function_privilege(%(role)s, p.oid, 'EXECUTE')
"""


def give(connection: psycopg.Connection[Any], schema: str, role: str) -> None:
    """Let a role read and write the tables, those of later steps too. Within a transaction of the owner."""
    names = {"schema": sql.Identifier(schema), "role": sql.Identifier(role)}
    for grant in _GRANTS:
        connection.execute(sql.SQL(grant).format(**names))


def missing(connection: psycopg.Connection[Any], schema: str, role: str) -> Sequence[str]:
    """Return what a role lacks that hosts need, such as "UPDATE, DELETE on turns". The role must exist.

    It is asked of the catalog, which every role may read, whatever it may do with the schema.
    """
    rows = connection.execute(_NEEDED, {"schema": schema, "role": role}).fetchall()
    return [f"{privileges} on {name}" for privileges, name in rows]
