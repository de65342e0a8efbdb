"""The wall between scopes in PostgreSQL: a transaction sees the rows of the scopes that it names, and no others."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack

import psycopg
import pytest
from postgres import KINDS, app_of, migrated

from gateway_memory.config.settings import StoreSettings
from gateway_memory.errors import StoreError
from gateway_memory.scope import OWNER_SCOPE, Scope
from gateway_memory.store.journal.sql import Scopes
from gateway_memory.store.journal.store import Store
from gateway_memory.store.memory_record import MemoryRecord
from gateway_memory.store.plan import Plan
from gateway_memory.store.postgres.connection import PostgresConnection, in_schema
from gateway_memory.store.postgres.schema import status
from gateway_memory.store.postgres.storage import open_shared
from recall import Entry, FileEntries, PostgresRows, Stamp

pytestmark = [pytest.mark.of_postgres, pytest.mark.slow, pytest.mark.skipif(not KINDS, reason="there is no PostgreSQL")]

MEMORY_FILE = "MEMORY.md"
ZOE, ADA = Scope.parse("user:zoe"), Scope.parse("user:ada")


@pytest.fixture
def schema(dsn: str) -> Iterator[str]:
    with migrated(dsn) as schema:
        yield schema


@pytest.fixture
async def store(dsn: str, schema: str) -> AsyncIterator[Store]:
    """A memory of three scopes, each with a document and a memory of its own."""
    async with AsyncExitStack() as stack:
        store = (await open_shared(stack, app_of(dsn), StoreSettings(schema=schema)))[0]
        for scope in (OWNER_SCOPE, ZOE, ADA):
            async with store.documents.writing(scope):
                await store.documents.create(scope, MEMORY_FILE, f"# Memory\n\n- of {scope.key}\n")
            memory = MemoryRecord(id="aaaaaaaa", text=f"of {scope.key}", file=MEMORY_FILE, at=1.0)
            plan = Plan(scope=scope.key, folder=scope.folder, stage="rules", at=1.0, added=(memory,))
            number, _ = await store.turns.save_plan(plan)
            await store.turns.finish(plan, number)
        yield store


@pytest.fixture
async def connection(dsn: str, schema: str, store: Store) -> AsyncIterator[PostgresConnection]:
    connection = PostgresConnection(app_of(dsn), schema=schema, most=1)
    await connection.open()
    yield connection
    await connection.close()


@pytest.mark.parametrize(
    ("named", "seen"),
    [
        ((), []),
        ("", []),
        ("user:zoe", ["of user:zoe"]),
        (["user:ada", "owner"], ["of owner", "of user:ada"]),
        ("user:%", []),
        ('user:zoe","owner', []),
        ("{user:zoe}", []),
        ("*", ["of owner", "of user:ada", "of user:zoe"]),
    ],
)
async def test_a_query_that_forgets_its_scope_sees_what_is_named(
    connection: PostgresConnection, named: Scopes, seen: list[str]
) -> None:
    query = "SELECT text FROM memories ORDER BY scope"
    for _ in range(2):  # over the same connection, on which nothing may stay named
        assert [row[0] for row in await connection.rows(query, scopes=named)] == seen
        assert await connection.rows(query) == []
        assert [row[0] for row in await connection.read(lambda it: it.execute(query).fetchall(), scopes=named)] == seen
        assert [
            row[0] for row in await connection.transact(lambda it: it.execute(query).fetchall(), scopes=named)
        ] == seen
        found = await connection.transact(
            lambda it: it.execute(query).fetchall(), scopes=named, exclusive=["a"], shared=["b"]
        )
        assert [row[0] for row in found] == seen


@pytest.mark.parametrize(
    "query",
    [
        "INSERT INTO history (scope, memory, at, event, other) VALUES ('user:zoe', 'm', 1, 'added', '')",
        "UPDATE memories SET scope = 'user:zoe' WHERE scope = 'user:ada'",
    ],
)
async def test_what_is_written_into_another_scope_is_refused(connection: PostgresConnection, query: str) -> None:
    with pytest.raises(StoreError, match="PostgreSQL refuses it"):
        await connection.transact(lambda database: database.execute(query), scopes="user:ada")


async def test_what_is_changed_without_a_name_is_not_found(connection: PostgresConnection) -> None:
    for query in ("DELETE FROM memories", "UPDATE documents SET content = ''", "DELETE FROM plans"):
        assert await connection.transact(lambda database: database.execute(query).rowcount, scopes="user:eve") == 0  # noqa: B023
    assert await connection.rows("SELECT count(*) FROM memories", scopes="*") == [(3,)]


async def test_documents_are_seen_by_their_folder(connection: PostgresConnection) -> None:
    query = "SELECT convert_from(content, 'UTF8') FROM documents"
    ((text,),) = await connection.rows(query, scopes=f"folder {ZOE.folder}")
    assert "of user:zoe" in text
    assert await connection.rows(query, scopes="user:zoe") == []
    assert len(await connection.rows(query, scopes="folder ")) == 1  # the owner's


def test_the_index_shows_the_scope_that_is_asked_for(dsn: str, schema: str) -> None:
    rows = PostgresRows(app_of(dsn), in_schema(schema))
    rows.open()
    for scope in ("user:zoe", "user:ada"):
        entries = [Entry(id="i1", text=f"of {scope}", at=1.0)]
        file = FileEntries(name=MEMORY_FILE, stamp=Stamp(mtime_ns=1, size=2, digest="d"), entries=entries)
        rows.replace(scope, [file], {})
    query = "select text from row order by text"
    rows._server.see("user:zoe")
    assert rows._server.execute(query).fetchall() == [("of user:zoe",)]
    with rows._server.reading():
        assert rows._server.execute(query).fetchall() == [("of user:zoe",)]
        rows._server.see("user:ada")
        assert rows._server.execute(query).fetchall() == [("of user:ada",)]
    rows._server.see("user:eve")
    assert rows._server.execute(query).fetchall() == []
    rows.close()


def test_each_table_that_holds_rows_of_scopes_has_a_wall(dsn: str, schema: str) -> None:
    """`sessions` and `scope` hold keys and states and no words, and are looked up before a scope is known.

    `told` holds numbers, and is looked up with the events of projects that a session of another scope has joined.
    """
    with psycopg.connect(dsn) as connection:
        query = (
            "SELECT c.relname, c.relrowsecurity, EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND "
            "a.attname IN ('scope', 'folder') AND NOT a.attisdropped) FROM pg_class c "
            "WHERE c.relnamespace = to_regnamespace(%s) AND c.relkind IN ('r', 'p')"
        )
        found = {name: (walled, of_scopes) for name, walled, of_scopes in connection.execute(query, (schema,))}
    open_to_all = {name for name, (walled, of_scopes) in found.items() if of_scopes and not walled}
    assert open_to_all == {"sessions", "locks", "told"}
    assert found["plans"][0]


def test_an_operator_is_told_whether_the_wall_holds(dsn: str, schema: str) -> None:
    assert ("wall between scopes", "holds for gateway_memory_app") in status(app_of(dsn), schema)
    owners = dict(status(dsn, schema))["wall between scopes"]
    assert owners.startswith("does not hold for ")


def test_what_the_owner_does_for_hosts_uses_no_table_of_theirs(dsn: str, schema: str) -> None:
    """A temporary table would be looked up first, and its triggers would run with the rights of the owner."""
    with psycopg.connect(dsn) as connection:
        query = (
            "SELECT proname, proconfig, has_function_privilege('public', oid, 'EXECUTE'), "
            "has_function_privilege(%s, oid, 'EXECUTE') FROM pg_proc "
            "WHERE pronamespace = to_regnamespace(%s) AND prosecdef"
        )
        found = connection.execute(query, ("gateway_memory_app", schema)).fetchall()
    assert {name for name, *_ in found} >= {"expire_episodes", "add_vector_graph", "forget_large"}
    for name, settings, by_all, by_hosts in found:
        assert settings == [f"search_path={schema}, pg_temp"], name
        assert (by_all, by_hosts) == (False, True), name


def test_hosts_may_not_touch_the_list_of_steps(dsn: str, schema: str) -> None:
    with (
        psycopg.connect(app_of(dsn), options=f"-csearch_path={schema}") as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("DELETE FROM migrations")
