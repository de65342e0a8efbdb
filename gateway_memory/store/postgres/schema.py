"""The schema in PostgreSQL: numbered steps in SQL, each applied once, under a lock."""

import random
import time
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, NamedTuple

import psycopg
from psycopg import errors, sql

from gateway_memory.errors import SchemaFromFutureError, StoreError
from gateway_memory.ground.databases import EVERY
from gateway_memory.store.postgres.connection import connected, in_transaction
from gateway_memory.store.postgres.failures import UnreachableError
from gateway_memory.store.postgres.rights import give, missing
from gateway_memory.store.postgres.shards import Place, check_noted, identity, misplaced, places_of
from gateway_memory.store.postgres.transaction import SQL
from gateway_memory.store.steps import FIRST, Steps

MIGRATION_TABLE: Final = "moving"
"""The table of a migration into the schema, which exists until that is complete."""
_LEAST_VERSION: Final = 150000
_MIGRATION_SECONDS: Final = 3600.0
_LOCK_MILLISECONDS: Final = 500
"""How long a step queues for a lock. Hosts that come after it wait behind it, and wait no longer than a second."""
_LOCKED_SECONDS: Final = 600.0
_NAMED_AT_MOST: Final = 5
STEPS: Final = Steps(
    folder=Path(__file__).parent / "migrations",
    former=frozenset(
        "0001_journal 0002_index 0003_walls 0004_partitions 0005_large 0006_health 0007_unread 0008_telling "
        "0009_outdated 0010_counted 0011_operators 0012_encoders".split()
    ),
)
_CLEAR_TEXT: Final = (
    "memories go in clear text to {host}: put sslmode=verify-full and sslrootcert into the connection string"
)
_BROKEN: Final = (errors.CheckViolation, errors.ForeignKeyViolation)


class SchemaState(NamedTuple):
    """The state of a schema. applied, missing, unknown: names of steps. server: the server's version, as 180000."""

    applied: tuple[str, ...]
    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    server: int


class Doubt(NamedTuple):
    """What an operator may not have meant, though all of it works. event: its name in the log."""

    event: str
    words: str


def state_of(dsn: str, schema: str) -> SchemaState:
    """Return which steps are applied. Raises StoreError."""
    with in_transaction(dsn, schema) as connection:
        return _state_of(connection, schema)


def _state_of(connection: psycopg.Connection[Any], schema: str) -> SchemaState:
    known = connection.execute(SQL["schema.is_made"], {"schema": schema}).fetchone() == (True,)
    rows = connection.execute("SELECT name FROM migrations ORDER BY name").fetchall() if known else []
    applied, ours = tuple(str(row[0]) for row in rows), STEPS.read()
    STEPS.check(applied, f"the schema {schema!r}")
    return SchemaState(
        applied=applied,
        missing=tuple(name for name in ours if name not in applied),
        unknown=tuple(name for name in applied if name not in ours and name not in STEPS.former),
        server=connection.info.server_version,
    )


def check(
    dsn: str,
    schema: str,
    *,
    by_migration: bool = False,
    role: str | None = None,
    replica: str = "",
    shards: Sequence[str] | None = None,
) -> list[Doubt]:
    """Return what may not be meant. Raise StoreError, with what to do, if this version can't work with the schema.

    Steps of a newer version that are unknown here do no harm, unless they say that older versions must stop.

    by_migration: one may fill the schema; for others, one that is not complete ends the check.
    role: look also at all that hosts need of the tables, for this role; "" for that of the connection.
    replica: the connection string of a server that searches read from; "" for none.
    shards: those of the servers over which the index is spread; None: not checked. One that is away is a doubt.
    """
    with in_transaction(dsn, schema) as connection:
        _check_tables(connection, schema, role)
        query = "SELECT name FROM migrations WHERE ends_older AND NOT (name = ANY(%s)) ORDER BY name"
        ending = connection.execute(query, (list(STEPS.read()),)).fetchall()
        is_migrating = connection.execute(
            "SELECT to_regclass(%s) IS NOT NULL", (f"{schema}.{MIGRATION_TABLE}",)
        ).fetchone()
        if ending:
            raise SchemaFromFutureError(f"the schema {schema!r} has {ending[0][0]}, which needs a newer gateway-memory")
        if is_migrating == (True,) and not by_migration:
            raise StoreError(
                f"a move into the schema {schema!r} was not completed; run the same `gateway-memory move` again"
            )
        doubts = _doubts(connection) + (_doubts_of_replica(connection, replica, schema) if replica else [])
        places = [] if shards is None else places_of(dsn, shards, identity(connection))
        for place in places:
            if place.dsn == dsn:
                check_noted(connection, place)
    for place in places:
        if place.dsn != dsn:
            try:
                with in_transaction(place.dsn, schema) as connection:
                    _check_tables(connection, schema, role)
                    check_noted(connection, place)
                    if host := _clear_text_to(connection):
                        doubts.append(Doubt("postgres.clear_text", _CLEAR_TEXT.format(host=host)))
            except UnreachableError as error:
                words = f"{place} is away, so those whose index is there are answered without a search: {error}"
                doubts.append(Doubt("postgres.shard", words))
    return doubts


def _check_tables(connection: psycopg.Connection[Any], schema: str, role: str | None) -> None:
    _check_version(connection)
    _check_rights(connection, schema, role)
    state = _state_of(connection, schema)
    if state.missing:
        raise StoreError(
            f"the schema {schema!r} lacks {', '.join(state.missing)}: run `gateway-memory db migrate` once, "
            "as the owner of the schema"
        )


def _check_version(connection: psycopg.Connection[Any]) -> None:
    if (version := connection.info.server_version) < _LEAST_VERSION:
        raise StoreError(f"PostgreSQL {version // 10_000} is too old: gateway-memory needs 15 or newer")


def _check_rights(connection: psycopg.Connection[Any], schema: str, role: str | None) -> None:
    """Raise StoreError where there are no tables, and where there are some that the role may not use."""
    if connection.execute(SQL["schema.is_made"], {"schema": schema}).fetchone() != (True,):
        raise StoreError(
            f"the database {connection.info.dbname!r} has no tables in the schema {schema!r}: if it is the right one, "
            "run `gateway-memory db migrate` once, as the owner of the schema"
        )
    if role:
        _check_role(connection, role)
    who = role or str((connection.execute("SELECT current_user").fetchone() or ("",))[0])
    lacking = missing(connection, schema, who)
    if role is None:  # a host finds the rest by itself, and works on without what it does not use
        lacking = [each for each in lacking if each.startswith("USAGE") or each == "SELECT on migrations"]
    if lacking:
        more = [f"{len(lacking) - _NAMED_AT_MOST} more"] if len(lacking) > _NAMED_AT_MOST else []
        names = "; ".join([*lacking[:_NAMED_AT_MOST], *more])
        raise StoreError(
            f"the schema {schema!r} has tables, and the role {who!r} lacks {names}: run "
            f"`gateway-memory db migrate --app-role {who}` once, as the owner of the schema"
        )


def _check_role(connection: psycopg.Connection[Any], role: str) -> None:
    if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone():
        raise StoreError(f"there is no role {role!r}: make it first, with CREATE ROLE … LOGIN PASSWORD …")


def _doubts(connection: psycopg.Connection[Any]) -> list[Doubt]:
    doubts = []
    if host := _clear_text_to(connection):
        doubts.append(Doubt("postgres.clear_text", _CLEAR_TEXT.format(host=host)))
    if connection.execute("SELECT row_security_active('memories')").fetchone() != (True,):
        doubts.append(
            Doubt(
                "postgres.no_wall",
                f"row-level security does not hold for the role {connection.info.user!r}, which owns the tables or is "
                "above it: let hosts connect as another one, given by `db migrate --app-role`",
            )
        )
    return doubts


def _doubts_of_replica(connection: psycopg.Connection[Any], replica: str, schema: str) -> list[Doubt]:
    """Return why searches will not read from a replica. They read from the primary then."""
    whose = "SELECT journal FROM identity"
    try:
        with in_transaction(replica, schema) as other:
            host = _clear_text_to(other)
            is_same = other.execute(whose).fetchone() == connection.execute(whose).fetchone()
    except StoreError as error:
        return [Doubt("postgres.replica", f"searches can't read from the replica: {error}")]
    if not is_same:
        return [Doubt("postgres.replica", "searches don't read from the replica: it holds another memory")]
    return [Doubt("postgres.clear_text", _CLEAR_TEXT.format(host=host))] if host else []


def _clear_text_to(connection: psycopg.Connection[Any]) -> str:
    """Return the other machine to which this connection sends what everybody between may read; "" without one."""
    address = connection.info.hostaddr
    if connection.pgconn.ssl_in_use or not address or _is_here(address):  # no address: a Unix socket
        return ""
    return connection.info.host or address


def _is_here(address: str) -> bool:
    try:
        return ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return address.startswith("/")


def migrate(dsn: str, schema: str, *, app_role: str = "", locked_seconds: float = _LOCKED_SECONDS) -> list[str]:
    """Apply the missing steps, each in a transaction of its own, and return their names. Raises StoreError.

    app_role: a role that may read and write the tables from now on, those of later steps too. It is not their owner,
    so it sees only the scopes that its transactions name.
    locked_seconds: how long a step tries to get its locks, while hosts and backups hold others.

    A step whose first line is `-- ends older versions` is refused by versions that do not know it; all others work on.
    """
    applied: list[str] = []
    with connected(dsn, schema, timeout_seconds=_MIGRATION_SECONDS) as connection:
        _check_version(connection)
        if app_role:
            _check_role(connection, app_role)
        connection.execute("SELECT pg_advisory_lock(hashtext(%s))", (f"{schema}.migrations",))
        connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
        connection.execute(
            "CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, "
            "ends_older BOOLEAN NOT NULL, at TIMESTAMPTZ NOT NULL DEFAULT now())"
        )

        def apply(name: str, text: str) -> None:
            if name == FIRST and STEPS.takes_over(state.applied):
                connection.execute("DELETE FROM migrations WHERE name = ANY(%s)", (list(STEPS.former),))
            else:
                connection.execute(text)  # our own file, without values
            ends = text.startswith("-- ends older versions")
            connection.execute("INSERT INTO migrations VALUES (%s, %s)", (name, ends))

        until = time.monotonic() + locked_seconds
        state, steps = _state_of(connection, schema), STEPS.read()
        for name in state.missing:
            _briefly(connection, lambda: apply(name, steps[name]), name, until)  # noqa: B023 - called at once
            applied.append(name)
        if app_role:
            with connection.transaction():
                give(connection, schema, app_role)
        for table, constraint in connection.execute(SQL["schema.not_validated"], {"schema": schema}).fetchall():
            query = sql.SQL("ALTER TABLE {} VALIDATE CONSTRAINT {}")
            statement = query.format(sql.Identifier(table), sql.Identifier(constraint))
            try:
                _briefly(connection, lambda: connection.execute(statement), constraint, until)  # noqa: B023
            except _BROKEN:
                continue  # it holds for new rows; `status` names it
    return applied


def _briefly(connection: psycopg.Connection[Any], work: Callable[[], object], name: str, until: float) -> None:
    """Run work in a transaction that queues for locks for a moment only, and again until it gets them.

    Raises StoreError: not until then. Nothing of the work is done.
    """
    while True:
        try:
            with connection.transaction():
                connection.execute("SELECT set_config('lock_timeout', %s, true)", (str(_LOCK_MILLISECONDS),))
                work()
        except (errors.LockNotAvailable, errors.DeadlockDetected) as error:
            if time.monotonic() > until:
                raise StoreError(
                    f"{name} waits for a transaction that holds its tables, such as a backup's: look for the oldest "
                    "xact_start in pg_stat_activity, and run `gateway-memory db migrate` again; nothing of it is done"
                ) from error
            time.sleep(random.uniform(0.1, 1.0))  # noqa: S311 - no secret
        else:
            return


def status(dsn: str, schema: str, shards: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return what an operator asks first: server, steps, hosts, what waits, and how large it is. Raises StoreError.

    shards: the connection strings of the servers over which the index is spread, each of which gets a line.
    """
    state = state_of(dsn, schema)
    lines = [
        ("server", f"PostgreSQL {state.server // 10_000}.{state.server % 10_000}"),
        ("schema", schema),
        ("applied", ", ".join(state.applied) or "nothing"),
        ("missing", ", ".join(state.missing) or "nothing"),
    ]
    if state.missing:
        return lines
    with in_transaction(dsn, schema, EVERY, timeout_seconds=_MIGRATION_SECONDS) as connection:
        lines.append(("connection", _way_of(connection)))
        unseen = [name for _, name in connection.execute(SQL["schema.not_validated"], {"schema": schema}).fetchall()]
        lines.append(("constraints that old rows break", ", ".join(unseen) or "none"))
        lines += [
            (name.removeprefix("status."), str((connection.execute(query).fetchone() or [""])[0]))
            for name, query in SQL.items()
            if name.startswith("status.")
        ]
        places = places_of(dsn, shards, identity(connection)) if shards else []
    return lines + [(str(place), _state_of_shard(place, schema)) for place in places]


def _state_of_shard(place: Place, schema: str) -> str:
    try:
        with in_transaction(place.dsn, schema, EVERY, timeout_seconds=_MIGRATION_SECONDS) as connection:
            check_noted(connection, place)
            scopes, waiting, size = [
                (connection.execute(SQL[f"status.{name}"]).fetchone() or [""])[0]
                for name in ("scopes", "rows without a vector", "size")
            ]
            wrong = len(misplaced(connection, place))
    except StoreError as error:
        return str(error)
    return f"{scopes} scopes, {wrong} of them misplaced, {waiting} rows without a vector, {size}"


def _way_of(connection: psycopg.Connection[Any]) -> str:
    if connection.pgconn.ssl_in_use:
        return "encrypted"
    host = _clear_text_to(connection)
    return f"in clear text to {host}" if host else "on this machine"
