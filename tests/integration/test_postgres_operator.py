"""What whoever runs the database relies on: rights, encryption, locks, limits, indexes, constraints, words."""

import asyncio
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from patience import until
from postgres import KINDS, POSTGRES, Postgres, app_of, migrated, with_step
from psycopg import sql
from psycopg.conninfo import make_conninfo

from gateway_memory import OWNER, UNNUMBERED, Config, GatewayMemory, Session
from gateway_memory.cli.main import main
from gateway_memory.config.settings import MemorySync, StoreSettings
from gateway_memory.errors import StoreError
from gateway_memory.serving.calls import AgentCalls
from gateway_memory.serving.models import AfterReply, SpeakerFacts
from gateway_memory.store.postgres import schema as schemas
from gateway_memory.store.postgres.connection import PostgresConnection
from gateway_memory.store.postgres.schema import check, migrate, status
from gateway_memory.sync import storage
from recall import EmbedderSettings, RecallSettings

pytestmark = [
    pytest.mark.of_postgres,
    pytest.mark.slow,
    pytest.mark.skipif(not KINDS, reason="there is no PostgreSQL"),
    pytest.mark.xdist_group("operator"),
]

OPEN_PORTS = storage.open_ports
PAGE = Path(__file__).parents[2] / "docs" / "postgres-operations.md"


@pytest.fixture
def schema(dsn: str) -> Iterator[str]:
    with migrated(dsn) as schema:
        yield schema


@pytest.fixture
def owner(dsn: str, schema: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(dsn, autocommit=True, options=f"-csearch_path={schema}") as connection:
        yield connection


@pytest.fixture
def host(dsn: str, schema: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(app_of(dsn), options=f"-csearch_path={schema}") as connection:
        yield connection


@pytest.fixture
def stranger(dsn: str) -> Iterator[str]:
    """A role of hosts to which nobody has given anything."""
    name = "gm_stranger"
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(name)))
        yield name
        connection.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(name)))
        connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


# Rights


def test_an_empty_database_is_told_from_missing_rights(dsn: str, schema: str, stranger: str) -> None:
    as_stranger = make_conninfo(dsn, user=stranger)
    with pytest.raises(StoreError, match=r"has no tables in the schema 'nobody_made_it'.*db migrate"):
        check(as_stranger, "nobody_made_it")
    with pytest.raises(StoreError, match=rf"has tables, and the role 'gm_stranger' lacks USAGE on the schema {schema}"):
        check(as_stranger, schema)
    with pytest.raises(StoreError, match="db migrate --app-role gm_stranger"):
        check(as_stranger, schema, role="")


def test_each_right_that_hosts_lack_is_named_with_what_mends_it(
    dsn: str, schema: str, owner: psycopg.Connection[tuple[object, ...]], stranger: str
) -> None:
    migrate(dsn, schema, app_role=stranger)
    check(dsn, schema, role=stranger)
    for statement, lacking in (
        ("REVOKE UPDATE, DELETE ON turns FROM gm_stranger", "UPDATE, DELETE on turns"),
        ("REVOKE SELECT ON episodes FROM gm_stranger", "SELECT on episodes"),
        (
            "REVOKE EXECUTE ON FUNCTION add_episode_partitions FROM gm_stranger",
            r"EXECUTE on add_episode_partitions\(\)",
        ),
        (f"REVOKE USAGE ON SCHEMA {schema} FROM gm_stranger", f"USAGE on the schema {schema}"),
    ):
        owner.execute(statement.encode())
        with pytest.raises(StoreError, match=f"lacks .*{lacking}.*db migrate --app-role gm_stranger"):
            check(dsn, schema, role=stranger)
        migrate(dsn, schema, app_role=stranger)
        check(dsn, schema, role=stranger)
    with pytest.raises(StoreError, match="there is no role 'nobody'"):
        check(dsn, schema, role="nobody")


def test_the_shell_checks_the_rights_of_hosts(
    dsn: str,
    schema: str,
    stranger: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "config.json5"
    path.write_text(
        f'{{agents: {{defaults: {{memorySync: {{store: {{backend: "postgres", schema: "{schema}"}}}}}}}}}}', "utf-8"
    )
    monkeypatch.setenv("GATEWAY_MEMORY_DSN", app_of(dsn))
    assert main(["db", "check", "--config", str(path)]) == 0
    assert "warning" not in capsys.readouterr().err
    monkeypatch.setenv("GATEWAY_MEMORY_DSN", dsn)
    assert main(["db", "check", "--config", str(path)]) == 0
    assert "warning: row-level security does not hold" in capsys.readouterr().err
    assert main(["db", "check", "--config", str(path), "--app-role", stranger]) == 1
    assert "USAGE on the schema" in capsys.readouterr().err


# Encryption


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")
@pytest.mark.skipif("installed" not in POSTGRES, reason="the server that pip brings is built without TLS")
def test_memories_in_clear_text_past_this_machine_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    with ExitStack() as stack:
        server = Postgres(POSTGRES["installed"])
        stack.callback(server.remove)
        server.encrypt()
        schema = stack.enter_context(migrated(server.dsn))
        app = app_of(server.dsn)
        assert check(make_conninfo(app, sslmode="disable"), schema) == [], "the loopback is this machine"
        assert dict(status(make_conninfo(app, sslmode="disable"), schema))["connection"] == "on this machine"
        monkeypatch.setattr(schemas, "_is_here", lambda address: False)  # as if the server were elsewhere
        (doubt,) = check(make_conninfo(app, sslmode="disable"), schema)
        assert doubt.event == "postgres.clear_text"
        assert re.search(r"clear text to 127\.0\.0\.1.*sslmode=verify-full", doubt.words)
        assert check(make_conninfo(app, sslmode="require"), schema) == []
        assert dict(status(make_conninfo(app, sslmode="require"), schema))["connection"] == "encrypted"
        socket = make_conninfo(server.dsn, host=str(server.folder), user="gateway_memory_app", sslmode="disable")
        assert check(socket, schema) == [], "nobody is between the ends of a socket"


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.0.9", "::1", "/run/postgresql"])
def test_what_is_on_this_machine(address: str) -> None:
    assert schemas._is_here(address)  # no test machine has all of them, nor those of the next test


@pytest.mark.parametrize("address", ["10.0.0.7", "fe80::1%eth0", "what is this"])
def test_what_is_elsewhere(address: str) -> None:
    assert not schemas._is_here(address)


# Locks and limits


async def test_a_step_waits_for_a_backup_without_stopping_hosts(
    dsn: str,
    schema: str,
    owner: psycopg.Connection[tuple[object, ...]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    step = "ALTER TABLE turns ADD COLUMN added_later INTEGER"
    monkeypatch.setattr(schemas, "STEPS", with_step(schemas.STEPS, tmp_path / "steps", "9999_later", step))
    with psycopg.connect(dsn, options=f"-csearch_path={schema}") as backup:
        backup.execute("SELECT count(*) FROM turns")  # its lock lasts as long as the transaction
        done: list[object] = []
        waiting = threading.Thread(target=lambda: done.append(migrate(dsn, schema)))
        waiting.start()
        try:
            query = "SELECT count(*) FROM pg_locks WHERE relation = 'turns'::regclass AND NOT granted"
            await until(lambda: owner.execute(query).fetchone() == (1,))
            connection = PostgresConnection(app_of(dsn), schema=schema)
            await connection.open()
            for _ in range(5):  # behind the step, and each within the patience of a host
                assert await connection.rows("SELECT count(*) FROM turns", scopes="*") == [(0,)]
            await connection.close()
            assert not done
        finally:
            backup.rollback()
            await asyncio.to_thread(waiting.join)
    assert done == [["9999_later"]]


def test_a_step_that_gets_no_lock_says_who_is_in_the_way(
    dsn: str, schema: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    step = "ALTER TABLE turns ADD COLUMN added_later INTEGER"
    monkeypatch.setattr(schemas, "STEPS", with_step(schemas.STEPS, tmp_path / "steps", "9999_later", step))
    with psycopg.connect(dsn, options=f"-csearch_path={schema}") as backup:
        backup.execute("SELECT count(*) FROM turns")
        with pytest.raises(StoreError, match=r"9999_later waits for a transaction.*pg_stat_activity"):
            migrate(dsn, schema, locked_seconds=0.0)


def test_hosts_make_no_more_tables_than_there_are_turns_for(
    host: psycopg.Connection[tuple[object, ...]], owner: psycopg.Connection[tuple[object, ...]]
) -> None:
    query = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'episodes'::regclass"
    before = owner.execute(query).fetchone()
    for _ in range(3):
        host.execute("SELECT add_episode_partitions(9000000000000)")
        host.commit()
    assert owner.execute(query).fetchone() == before
    owner.execute("ALTER TABLE turns ALTER COLUMN id RESTART WITH 9000001")
    host.execute("SELECT add_episode_partitions(9000001)")
    host.commit()
    assert owner.execute(query).fetchone() == ((before or (0,))[0] + 2,), "for the numbers that come next"  # type: ignore[operator]
    with pytest.raises(psycopg.errors.CheckViolation):
        host.execute("SELECT add_large_vectors(77, 256)")
    host.rollback()
    for statement in ("SELECT setval('turns_id_seq', 9000000000)", "CREATE TABLE theirs (id int)"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            host.execute(statement)
        host.rollback()


# Answers


async def test_a_turn_that_waits_for_its_number_is_told_from_one_that_is_not_kept(tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = Postgres(next(iter(POSTGRES.values())))
        stack.callback(server.remove)
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("GATEWAY_MEMORY_DSN", app_of(server.dsn))
        # This server, also where other tests of the run have another one in the place of files.
        patch.setattr("gateway_memory.sync.storage.open_ports", OPEN_PORTS)
        schema = stack.enter_context(migrated(server.dsn))
        words = RecallSettings(embedder=EmbedderSettings(provider="none"))
        store = StoreSettings(backend="postgres", schema=schema)
        config = Config(defaults=MemorySync(auto_recall=words, store=store))
        async with GatewayMemory(config, tmp_path) as memory:
            session = await memory.start_session("agent:main:main", user=OWNER)
            assert await memory.after_reply(session, user="The first.", reply="OK") == 1
            assert await memory.after_reply(session, user="A page.", reply="OK", provenance="web") == 0
            server.freeze()
            try:
                assert await memory.after_reply(session, user="The second.", reply="OK") == UNNUMBERED
                assert UNNUMBERED, "who asks whether there is a number is told that it is kept"
                said = AfterReply(
                    id="t3", speaker=SpeakerFacts(key="agent:main:main"), user="The third.", reply="OK", provenance=""
                )
                with patch.context() as instead:
                    instead.setattr(memory, "session_of", lambda *_, **__: _at_once(session))
                    answer = await AgentCalls("main", memory).after_reply(said)
                assert answer.model_dump() == {"turn": 0, "kept": True}
            finally:
                server.thaw()
            query = "SELECT count(*) FROM replies"
            with psycopg.connect(server.dsn, autocommit=True, options=f"-csearch_path={schema}") as owner:
                await until(lambda: owner.execute(query.encode()).fetchone() == (3,))


async def _at_once(session: Session) -> Session:
    return session


# Rows


def test_what_names_its_scope_is_found_by_an_index_behind_the_policies(
    owner: psycopg.Connection[tuple[object, ...]], host: psycopg.Connection[tuple[object, ...]]
) -> None:
    """100,000 rows of 1,000 scopes. The policy is a filter on what the index finds; it looks once at what is named."""
    fill, vector = "FROM generate_series(1, 100000) g", "convert_to(repeat('x', 256), 'UTF8')"
    owner.execute(f"INSERT INTO scope (key) SELECT 'user:' || g {fill}".encode())
    owner.execute(
        "INSERT INTO replies (turn, scope, session_id, at, recalled) "
        f"SELECT g, 'user:' || g % 1000, 's', g, '[]' {fill}".encode()
    )
    owner.execute(
        'INSERT INTO "row" (added, revision, scope, file, id, text, at, kind, type, category, importance, confidence, '
        "session, heading, speaker, reply, until, turn, traits, speaker_term, length, terms) SELECT 1, 1, "
        "'user:' || g % 1000, 'f', 'i' || g, 't', g, 'item', 'W', '', 1, 1, '', '', '', '', '', g, 0, 0, 1, '' "
        f"{fill}".encode()
    )
    insert = "INSERT INTO vector (sequence, scope, revision, vector) SELECT g, 'user:' || g % 1000, 1"
    owner.execute(f"{insert}, {vector} {fill}".encode())
    owner.execute("ANALYZE")
    host.execute("SELECT set_config('gateway_memory.scopes', '{user:7}', true)")
    for query in (
        "SELECT * FROM replies WHERE scope = 'user:7'",
        "SELECT * FROM replies WHERE scope = 'user:7' AND turn < 90000 ORDER BY turn DESC LIMIT 10",
        "SELECT * FROM \"row\" WHERE scope = 'user:7'",
        "SELECT * FROM \"row\" r LEFT JOIN vector v USING (scope, sequence) WHERE r.scope = 'user:7'",
    ):
        plan = "\n".join(str(line) for (line,) in host.execute(f"EXPLAIN {query}".encode()))
        assert "Seq Scan" not in plan, plan
        assert "InitPlan" in plan, "the names are read once, not for each row"


def test_each_table_behind_the_wall_has_an_index_that_begins_with_its_scope(
    owner: psycopg.Connection[tuple[object, ...]],
) -> None:
    query = (
        "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
        "WHERE a.attname IN ('scope', 'folder') AND c.relnamespace = current_schema()::regnamespace "
        "AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND NOT EXISTS (SELECT 1 FROM pg_index i "
        "WHERE i.indrelid = c.oid AND i.indkey[0] = a.attnum AND i.indpred IS NULL)"
    )
    assert owner.execute(query).fetchall() == []


def test_each_key_of_a_table_with_scopes_has_the_scope_first_as_text(
    owner: psycopg.Connection[tuple[object, ...]],
) -> None:
    """Then rows of a scope can lie apart from those of others: in a partition by its hash, or on another server."""
    query = (
        "SELECT c.relname, i.indexrelid::regclass::text FROM pg_class c "
        "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'scope' LEFT JOIN pg_index i "
        "ON i.indrelid = c.oid AND i.indisunique WHERE c.relnamespace = current_schema()::regnamespace "
        "AND c.relkind IN ('r', 'p') AND NOT c.relispartition "
        "AND (a.atttypid <> 'text'::regtype OR NOT a.attnotnull OR i.indkey[0] <> a.attnum)"
    )
    assert owner.execute(query).fetchall() == []
    query = (
        "SELECT relname FROM pg_class c WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') "
        "AND NOT EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = c.oid AND attname IN ('scope', 'folder')) "
        "AND NOT relispartition ORDER BY relname"
    )
    of_no_scope = {name for (name,) in owner.execute(query).fetchall()}
    assert of_no_scope == set(
        "failures heard hosts identity leases meta migrations scope session_counts session_totals sources usage".split()
    ), "a new table has a scope, or belongs to the whole memory"


def test_new_rows_keep_to_the_constraints_and_old_ones_stop_no_step(
    dsn: str,
    schema: str,
    owner: psycopg.Connection[tuple[object, ...]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    odd = "INSERT INTO feedback (scope, turn, memory, verdict, at) VALUES ('owner', %s, 'odd', 'wrong', 1)"
    owner.execute(odd, (1,))
    step = "ALTER TABLE feedback ADD CONSTRAINT feedback_memory CHECK (memory <> 'odd') NOT VALID"
    monkeypatch.setattr(schemas, "STEPS", with_step(schemas.STEPS, tmp_path / "steps", "9999_later", step))
    assert migrate(dsn, schema) == ["9999_later"]
    assert dict(status(dsn, schema))["constraints that old rows break"] == "feedback_memory"
    with pytest.raises(psycopg.errors.CheckViolation):
        owner.execute(odd, (2,))
    owner.execute("DELETE FROM feedback")
    migrate(dsn, schema)
    assert dict(status(dsn, schema))["constraints that old rows break"] == "none"


def test_each_table_says_what_it_holds(owner: psycopg.Connection[tuple[object, ...]]) -> None:
    query = (
        "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') "
        "AND NOT relispartition AND obj_description(oid, 'pg_class') IS NULL"
    )
    assert owner.execute(query).fetchall() == [], "a step that adds a table adds a COMMENT ON it"


def test_the_page_lists_what_lies_outside_row_level_security(owner: psycopg.Connection[tuple[object, ...]]) -> None:
    query = (
        "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' "
        "AND NOT relispartition AND NOT relrowsecurity"
    )
    outside = {str(name) for (name,) in owner.execute(query)}
    part = PAGE.read_text("utf-8").partition("## What lies outside row-level security")[2].partition("\n## ")[0]
    listed = {
        name
        for line in part.splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`(\w+)`", line.split("|")[1])
    }
    assert listed == outside
