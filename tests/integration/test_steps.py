"""The steps of a schema: those of development versions give what the first step gives, and no row is lost over them.

data/journal-development.sql and data/postgres-development.sql are dumps of stores that the last development version
made, by its 22 and 12 steps, with something in every table.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from postgres import KINDS, app_of, app_role, fresh_schema, migrated, with_step
from psycopg import sql

from gateway_memory import OWNER, Config, GatewayMemory
from gateway_memory.config.settings import MemorySync, StoreSettings
from gateway_memory.errors import SchemaFromFutureError, StoreError
from gateway_memory.store.journal import sqlite
from gateway_memory.store.journal.sqlite import STEPS, open_journal
from gateway_memory.store.postgres import schema as schemas
from gateway_memory.store.postgres.schema import check, migrate, state_of, status
from recall import EmbedderSettings, RecallSettings

DATA = Path(__file__).parents[1] / "data"
INDEX = ("scope", "row", "vector", "vector_2", "removed", "file", "large", "large_block", "large_word")
"""The tables of the index over PostgreSQL, whose rows are renamed by the steps, or made anew."""
TOGETHER = 4
ROUNDS = 5

# Files


def journal(folder: Path) -> Path:
    """Write the journal of the last development version, and return its folder."""
    folder.mkdir()
    with closing(sqlite3.connect(folder / "journal.sqlite")) as database:
        database.executescript((DATA / "journal-development.sql").read_text("utf-8"))
    return folder


def schema_of(database: sqlite3.Connection) -> set[tuple[object, ...]]:
    """Return what a schema consists of, without the wording of its tables, which a new column changes."""
    found: set[tuple[object, ...]] = set()
    for kind, name, table, text in database.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall():
        bare = " ".join(line.partition("--")[0].strip() for line in (text or "").splitlines())
        found.add((kind, name, table, None if kind == "table" else " ".join(bare.split())))
        if kind == "table":
            found.add((name, "WITHOUT ROWID" in bare, "AUTOINCREMENT" in bare))
            found.update((name, *column) for column in database.execute(f"PRAGMA table_xinfo({name})"))
            query = 'SELECT name, "unique", origin, partial FROM pragma_index_list(?)'
            for index in database.execute(query, (name,)).fetchall():
                found.update((*index, *part) for part in database.execute(f"PRAGMA index_xinfo({index[0]})"))
    return found


Columns = dict[str, list[str]]
"""The columns of each table."""


def columns_of(database: sqlite3.Connection) -> Columns:
    query = "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'"
    found: Columns = {}
    for table, column in database.execute(query):
        found.setdefault(table, []).append(f'"{column}"')
    return {table: columns for table, columns in found.items() if table != "migrations"}


def rows_of(database: sqlite3.Connection, columns: Columns) -> dict[str, list[tuple[object, ...]]]:
    return {name: database.execute(f"SELECT {', '.join(of)} FROM {name}").fetchall() for name, of in columns.items()}


def names_of(database: sqlite3.Connection) -> list[str]:
    return [name for (name,) in database.execute("SELECT name FROM migrations ORDER BY rowid")]


def test_a_journal_of_all_former_steps_is_taken_over_as_it_is(tmp_path: Path) -> None:
    former = journal(tmp_path / "former")
    with closing(sqlite3.connect(former / "journal.sqlite")) as database:
        columns = columns_of(database)
        before = rows_of(database, columns)
        assert set(names_of(database)) == STEPS.former
    assert all(before.values()), "there is something in every table"
    (tmp_path / "new").mkdir()
    with closing(open_journal(former)) as taken, closing(open_journal(tmp_path / "new")) as new:
        assert rows_of(taken, columns) == before
        assert names_of(taken) == names_of(new) == list(STEPS.read())
        assert schema_of(taken) == schema_of(new)


def test_processes_that_take_a_journal_over_together_all_open_it(tmp_path: Path) -> None:
    for number in range(ROUNDS):
        former = journal(tmp_path / str(number))
        barrier = threading.Barrier(TOGETHER)

        def opened(former: Path = former, barrier: threading.Barrier = barrier) -> list[str]:
            barrier.wait()
            with closing(open_journal(former)) as database:
                return names_of(database)

        with ThreadPoolExecutor(TOGETHER) as threads:
            for future in [threads.submit(opened) for _ in range(TOGETHER)]:
                assert future.result() == list(STEPS.read())


@pytest.mark.parametrize("missing", ["= '0022_counted'", "= '0009_withheld'", "> '0001_spine'"])
def test_a_journal_of_some_former_steps_is_refused_and_left_as_it_was(tmp_path: Path, missing: str) -> None:
    former = journal(tmp_path / "former")
    with closing(sqlite3.connect(former / "journal.sqlite")) as database:
        database.execute(f"DELETE FROM migrations WHERE name {missing}")
        database.commit()
        before = list(database.iterdump())
        with pytest.raises(StoreError, match=r"development version .* steps.*Nothing was changed.*docs/operate\.md"):
            open_journal(former)
        assert list(database.iterdump()) == before


def test_a_journal_of_former_steps_and_newer_ones_is_from_the_future(tmp_path: Path) -> None:
    former = journal(tmp_path / "former")
    with closing(sqlite3.connect(former / "journal.sqlite")) as database:
        database.execute("INSERT INTO migrations VALUES ('0023_flying_cars', 0)")
        database.commit()
        with pytest.raises(SchemaFromFutureError, match="0023_flying_cars"):
            open_journal(former)


def test_a_later_step_is_applied_once_wherever_the_first_one_came_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "made").mkdir()
    open_journal(tmp_path / "made").close()
    step = "ALTER TABLE memories ADD COLUMN colour TEXT NOT NULL DEFAULT ''; -- after it"
    monkeypatch.setattr(sqlite, "STEPS", with_step(STEPS, tmp_path / "steps", "0099_colour", step))
    for folder in (tmp_path / "made", journal(tmp_path / "former"), tmp_path):
        for _ in range(2):
            with closing(open_journal(folder)) as database:
                assert names_of(database) == [*STEPS.read(), "0099_colour"]
                assert "colour" in [column[1] for column in database.execute("PRAGMA table_info(memories)")]


# PostgreSQL

over_postgres = [pytest.mark.slow, pytest.mark.skipif(not KINDS, reason="there is no PostgreSQL")]
CATALOG = {
    "columns": """
        SELECT table_name, column_name, ordinal_position, data_type, column_default, is_nullable, identity_generation
        FROM information_schema.columns WHERE table_schema = %(schema)s
    """,
    "relations": """
        SELECT relname, relkind, relpersistence, relrowsecurity, relispartition, reloptions, obj_description(oid),
            pg_get_expr(relpartbound, oid), ARRAY(SELECT unnest(relacl)::text ORDER BY 1) FROM pg_class
        WHERE relnamespace = %(schema)s::regnamespace AND NOT (relispartition AND relkind = 'i')
    """,
    "comments": """
        SELECT c.relname, a.attname, col_description(c.oid, a.attnum) FROM pg_class c
        JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = %(schema)s::regnamespace AND col_description(c.oid, a.attnum) IS NOT NULL
    """,
    "indexes": r"""
        SELECT tablename, regexp_replace(indexdef, 'INDEX episodes_(\d|rest)\w*', 'INDEX') FROM pg_indexes
        WHERE schemaname = %(schema)s
    """,  # those of a partition have names of their own
    "constraints": """
        SELECT conrelid::regclass::text, conname, contype, convalidated, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = %(schema)s::regnamespace AND contype <> 'n'
    """,  # that a column is not null is a constraint from PostgreSQL 18 on
    "policies": """
        SELECT tablename, policyname, permissive, roles::text, cmd, qual, with_check FROM pg_policies
        WHERE schemaname = %(schema)s
    """,
    "triggers": """
        SELECT t.tgrelid::regclass::text, t.tgname, translate(pg_get_triggerdef(t.oid), '()', '') FROM pg_trigger t
        JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace = %(schema)s::regnamespace AND NOT t.tgisinternal
    """,  # a dump has more parentheses
    "functions": """
        SELECT oid::regprocedure::text, pg_get_functiondef(oid), ARRAY(SELECT unnest(proacl)::text ORDER BY 1)
        FROM pg_proc WHERE pronamespace = %(schema)s::regnamespace
    """,
    "rights": """
        SELECT defaclobjtype::text, defaclacl::text FROM pg_default_acl
        WHERE defaclnamespace = %(schema)s::regnamespace
        UNION ALL SELECT 'schema', nspacl::text FROM pg_namespace WHERE oid = %(schema)s::regnamespace
    """,
}


@pytest.fixture
def former(dsn: str) -> Iterator[str]:
    """A schema of the last development version."""
    with fresh_schema(dsn) as schema:
        app_role(dsn)
        dump = (DATA / "postgres-development.sql").read_text("utf-8").replace("gm_development", schema)
        with psycopg.connect(dsn) as connection:
            connection.execute(dump.encode())
        yield schema


def catalog(dsn: str, schema: str) -> dict[str, set[str]]:
    """Return what a schema consists of."""
    with psycopg.connect(dsn, options=f"-csearch_path={schema}") as connection:
        found = {part: connection.execute(query.encode(), {"schema": schema}) for part, query in CATALOG.items()}
        return {part: {str(row).replace(schema, "SCHEMA") for row in rows} for part, rows in found.items()}


def columns_in(dsn: str, schema: str) -> Columns:
    query = (
        "SELECT table_name, array_agg(column_name::text) FROM information_schema.columns WHERE table_schema = %s "
        "AND table_name IN (SELECT tablename FROM pg_tables WHERE schemaname = %s) GROUP BY table_name"
    )
    with psycopg.connect(dsn) as connection:
        return {str(name): columns for name, columns in connection.execute(query, (schema, schema)).fetchall()}


def content(dsn: str, schema: str, columns: Columns | None = None, *, without: str = "") -> dict[str, list[str]]:
    """Return the rows of the tables, those of some columns alone if they are given."""
    with psycopg.connect(dsn, options=f"-csearch_path={schema}") as connection:
        found: dict[str, list[str]] = {}
        for table, names in (columns or columns_in(dsn, schema)).items():
            listed = sql.SQL(", ").join(map(sql.Identifier, sorted(names)))
            query = sql.SQL("SELECT ROW({})::text FROM {} ORDER BY 1").format(listed, sql.Identifier(table))
            if table != without:
                found[table] = [str(row) for (row,) in connection.execute(query)]
        return found


class TestPostgres:
    pytestmark = over_postgres

    async def test_a_schema_of_all_former_steps_is_taken_over_as_it_is(
        self, dsn: str, former: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        columns = columns_in(dsn, former)
        before = content(dsn, former, columns, without="migrations")
        whole = {name for name, rows in before.items() if rows}
        assert before.keys() - whole == {"locks", "episodes_1", "episodes_rest"}, "there is something in every table"
        with pytest.raises(StoreError, match=r"lacks 0001_schema, .*: run `gateway-memory db migrate`"):
            check(app_of(dsn), former)
        assert ("missing", ", ".join(schemas.STEPS.read())) in status(dsn, former)
        assert migrate(dsn, former) == list(schemas.STEPS.read())
        kept = {table: named for table, named in columns.items() if table not in INDEX}
        assert content(dsn, former, kept, without="migrations") == {
            table: before[table] for table in kept if table in before
        }
        after = content(dsn, former)
        for table in ("scope", "row", "vector", "vector_2", "removed", "file"):
            assert len(after[table]) == len(before[table]), table
        assert state_of(dsn, former).applied == tuple(schemas.STEPS.read())
        assert migrate(dsn, former) == []
        with migrated(dsn) as new:
            fresh = catalog(dsn, new)
            for part, found in catalog(dsn, former).items():
                assert found ^ fresh[part] == set(), part

        monkeypatch.setenv("GATEWAY_MEMORY_DSN", app_of(dsn))
        recall = RecallSettings(embedder=EmbedderSettings(provider="none"))
        store = StoreSettings(backend="postgres", schema=former)
        config = Config(defaults=MemorySync(auto_recall=recall, store=store))
        async with GatewayMemory(config, tmp_path) as memory:
            await memory.flush()
            session = await memory.start_session("new", user=OWNER)
            for query, expected in (
                ("staging port", "the staging port is 8443"),
                ("where is the printer", "the printer is on the second floor"),  # which waited
            ):
                assert expected in [hit.text for hit in await memory.search(session, query)]
            assert not any("Tigger" in hit.text for hit in await memory.search(session, "what is the cat called"))

    async def test_owners_that_take_a_schema_over_together_do_so_once(self, dsn: str, former: str) -> None:
        done = await asyncio.gather(*(asyncio.to_thread(migrate, dsn, former) for _ in range(TOGETHER)))
        assert sorted(map(len, done)) == [0, 0, 0, len(schemas.STEPS.read())]

    @pytest.mark.parametrize("missing", ["= '0012_encoders'", "= '0003_walls'", "> '0001_journal'"])
    def test_a_schema_of_some_former_steps_is_refused_and_left_as_it_was(
        self, dsn: str, former: str, missing: str
    ) -> None:
        with psycopg.connect(dsn, options=f"-csearch_path={former}") as owner:
            owner.execute(f"DELETE FROM migrations WHERE name {missing}".encode())
        before = content(dsn, former), catalog(dsn, former)
        for refused in (migrate, check, status):
            told = rf"the schema '{former}': made by a development version .*Nothing was changed.*docs/operate\.md"
            with pytest.raises(StoreError, match=told):
                refused(dsn, former)
        assert (content(dsn, former), catalog(dsn, former)) == before
