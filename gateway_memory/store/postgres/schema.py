"""The schema in PostgreSQL: numbered steps in SQL, each applied once, under a lock."""

from importlib.resources import files
from typing import Any, Final, NamedTuple

import psycopg
from psycopg import sql

from gateway_memory.errors import SchemaFromFutureError, StoreError
from gateway_memory.store.journal.sql import EVERY
from gateway_memory.store.postgres.connection import connected
from gateway_memory.store.postgres.transaction import see

__all__ = ["MOVING", "Standing", "check", "migrate", "standing", "status"]

MOVING: Final = "moving"
"""The table of a move into the schema, which exists until the move is complete."""
_LEAST_VERSION: Final = 150000
_MIGRATION_SECONDS: Final = 3600.0
_GRANTS: Final = (
    "GRANT USAGE ON SCHEMA {schema} TO {role}",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}",
    "ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {role}",
    "REVOKE INSERT, UPDATE, DELETE ON migrations FROM {role}",
    "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {schema} TO {role}",
    "ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT EXECUTE ON FUNCTIONS TO {role}",
)
_STEPS: Final = files("gateway_memory.store.postgres") / "migrations"


class Standing(NamedTuple):
    """How a schema stands. applied, missing, unknown: names of steps. server: the server's version, as 180000."""

    applied: tuple[str, ...]
    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    server: int


def _steps() -> dict[str, str]:
    """Return the steps of this version, by name, in their order."""
    found = sorted((path.name, path.read_text("utf-8")) for path in _STEPS.iterdir() if path.name.endswith(".sql"))
    return {name.removesuffix(".sql"): text for name, text in found}


def standing(dsn: str, schema: str) -> Standing:
    """Return which steps are applied. Raises StoreError."""
    with connected(dsn, schema) as connection:
        return _standing(connection, schema)


def _standing(connection: psycopg.Connection[Any], schema: str) -> Standing:
    query = "SELECT 1 FROM information_schema.tables WHERE table_schema = %s AND table_name = 'migrations'"
    known = connection.execute(query, (schema,)).fetchone()
    rows = connection.execute("SELECT name FROM migrations ORDER BY name").fetchall() if known else []
    applied, ours = tuple(str(row[0]) for row in rows), _steps()
    return Standing(
        applied=applied,
        missing=tuple(name for name in ours if name not in applied),
        unknown=tuple(name for name in applied if name not in ours),
        server=connection.info.server_version,
    )


def check(dsn: str, schema: str, *, by_move: bool = False) -> None:
    """Raise StoreError, with what to do, if this version can't work with the schema as it stands.

    Steps of a newer version that are unknown here do no harm, unless they say that older versions must stop.

    by_move: a move may fill the schema; for others, one that is not complete ends the check.
    """
    found = standing(dsn, schema)
    if found.server < _LEAST_VERSION:
        raise StoreError(f"PostgreSQL {found.server // 10_000} is too old: gateway-memory needs 15 or newer")
    if found.missing:
        raise StoreError(
            f"the schema {schema!r} lacks {', '.join(found.missing)}: run `gateway-memory db migrate` once, "
            "as the owner of the schema"
        )
    with connected(dsn, schema) as connection:
        query = "SELECT name FROM migrations WHERE ends_older AND NOT (name = ANY(%s)) ORDER BY name"
        ending = connection.execute(query, (list(_steps()),)).fetchall()
        moving = connection.execute("SELECT to_regclass(%s) IS NOT NULL", (f"{schema}.{MOVING}",)).fetchone()
        here = connection.execute("SELECT current_schema()").fetchone()
    if here != (schema,):
        raise StoreError(
            f"this connection leads to the schema {here[0] if here else None!r}, and not to {schema!r}, so another "
            "agent's memory would be read and written: a pooler ignores which schema a host asks for; give each agent "
            f"a role of its own, with ALTER ROLE … SET search_path = {schema}"
        )
    if ending:
        raise SchemaFromFutureError(f"the schema {schema!r} has {ending[0][0]}, which needs a newer gateway-memory")
    if moving == (True,) and not by_move:
        raise StoreError(
            f"a move into the schema {schema!r} was not completed; run the same `gateway-memory move` again"
        )


def migrate(dsn: str, schema: str, *, app_role: str = "") -> list[str]:
    """Apply the missing steps, each in a transaction of its own, and return their names. Raises StoreError.

    app_role: a role that may read and write the tables from now on, those of later steps too. It is not their owner,
    so it sees only the scopes that its transactions name.

    A step whose first line is `-- ends older versions` is refused by versions that do not know it; all others work on.
    """
    done: list[str] = []
    with connected(dsn, schema, patience_seconds=_MIGRATION_SECONDS) as connection:
        if connection.info.server_version < _LEAST_VERSION:
            raise StoreError(f"PostgreSQL {connection.info.server_version // 10_000} is too old: 15 is needed")
        if app_role and not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (app_role,)).fetchone():
            raise StoreError(f"there is no role {app_role!r}: make it first, with CREATE ROLE … LOGIN PASSWORD …")
        connection.execute("SELECT pg_advisory_lock(hashtext(%s))", (f"{schema}.migrations",))
        connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
        connection.execute(
            "CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, "
            "ends_older BOOLEAN NOT NULL, at TIMESTAMPTZ NOT NULL DEFAULT now())"
        )
        for name in _standing(connection, schema).missing:
            text = _steps()[name]
            with connection.transaction():
                connection.execute(text)  # our own file, without values
                ends = text.startswith("-- ends older versions")
                connection.execute("INSERT INTO migrations VALUES (%s, %s)", (name, ends))
            done.append(name)
        if app_role:
            names = {"schema": sql.Identifier(schema), "role": sql.Identifier(app_role)}
            with connection.transaction():
                for grant in _GRANTS:
                    connection.execute(sql.SQL(grant).format(**names))
    return done


def status(dsn: str, schema: str) -> list[tuple[str, str]]:
    """Return what an operator asks first: server, steps, hosts, what waits, and how large it is. Raises StoreError."""
    found = standing(dsn, schema)
    told = [
        ("server", f"PostgreSQL {found.server // 10_000}.{found.server % 10_000}"),
        ("schema", schema),
        ("applied", ", ".join(found.applied) or "nothing"),
        ("missing", ", ".join(found.missing) or "nothing"),
    ]
    if found.missing:
        return told
    counts = {
        "wall between scopes": "SELECT CASE WHEN row_security_active('memories') THEN 'holds for ' ELSE "
        "'does not hold for ' END || current_user",
        "hosts": "SELECT count(*) FROM hosts WHERE until > now()",
        "scopes": "SELECT count(*) FROM scope",
        "memories": "SELECT count(*) FROM memories WHERE state = 'active'",
        "episodes": "SELECT count(*) FROM episodes",
        "turns that wait": "SELECT count(*) FROM turns",
        "seconds that the oldest waits": "SELECT coalesce(round(extract(epoch FROM now()) - min(accepted_at)), 0) "
        "FROM turns",
        "rows without a vector": 'SELECT count(*) FROM "row" WHERE embedded = 0',
        "scopes searched in the database": "SELECT count(*) FILTER (WHERE ready) || CASE WHEN EXISTS (SELECT 1 "
        "FROM pg_extension WHERE extname = 'vector') THEN '' ELSE ' (without pgvector)' END FROM large",
        "partitions of episodes": "SELECT count(*) FROM pg_inherits WHERE inhparent = 'episodes'::regclass",
        "size": "SELECT pg_size_pretty(sum(pg_total_relation_size(c.oid))) FROM pg_class c "
        "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND c.relkind = 'r'",
    }
    with connected(dsn, schema, patience_seconds=_MIGRATION_SECONDS) as connection, connection.transaction():
        see(connection, EVERY)
        return told + [(name, str((connection.execute(query).fetchone() or [""])[0])) for name, query in counts.items()]
