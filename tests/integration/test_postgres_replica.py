"""Searches and lists that are read from a replica: a real standby that streams, lags, is gone, or is left behind."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from patience import seconds, until
from postgres import POSTGRES, Postgres, app_of, config_of, migrated
from psycopg import sql

from gateway_memory import OWNER, GatewayMemory
from gateway_memory.store.postgres.connection import in_schema
from gateway_memory.store.postgres.schema import check, migrate
from recall import Entry, FileEntries, Filter, PostgresRows
from recall.rows.tables import VectorSpace

INSTALL = POSTGRES.get("installed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(INSTALL is None, reason="there is no PostgreSQL with pg_basebackup"),
    pytest.mark.xdist_group("alone"),
]


@pytest.fixture(scope="module")
def primary() -> Iterator[Postgres]:
    assert INSTALL
    server = Postgres(INSTALL)
    yield server
    server.remove()


@pytest.fixture(scope="module")
def standby(primary: Postgres) -> Iterator[Postgres]:
    assert INSTALL
    server = Postgres(INSTALL, standby_of=primary)
    yield server
    server.remove()


@pytest.fixture
def schema(primary: Postgres, standby: Postgres, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("GATEWAY_MEMORY_DSN", app_of(primary.dsn))
    monkeypatch.setenv("GATEWAY_MEMORY_REPLICA_DSN", app_of(standby.dsn))
    with migrated(primary.dsn) as schema:
        yield schema


@contextmanager
def opened(dsn: str, schema: str, replica: str) -> Iterator[PostgresRows]:
    rows = PostgresRows(dsn, in_schema(schema), replica=replica)
    rows.open()
    try:
        yield rows
    finally:
        rows.close()


def put(rows: PostgresRows, *texts: str, scope: str = "owner") -> None:
    entries = [Entry(id=f"i{text}", text=text, at=1.0) for text in texts]
    rows.replace(scope, [FileEntries(name="MEMORY.md", stamp=None, entries=entries)], {})


def reads_of(server: Postgres, schema: str) -> int:
    """Return how often the rows of the index were looked at on a server."""
    looks = "SELECT coalesce(sum(seq_scan + idx_scan), 0) FROM pg_stat_user_tables"
    query = f"{looks} WHERE schemaname = %s AND relname = 'row'"
    with psycopg.connect(server.dsn) as connection:
        return int((connection.execute(query.encode(), (schema,)).fetchone() or (0,))[0])


async def replayed(primary: Postgres, standby: Postgres) -> None:
    """Wait until the standby has all that the primary has."""
    with psycopg.connect(primary.dsn) as one, psycopg.connect(standby.dsn, autocommit=True) as other:
        upto = one.execute("SELECT pg_current_wal_insert_lsn()").fetchone()
        await until(lambda: other.execute("SELECT pg_last_wal_replay_lsn() >= %s", upto).fetchone() == (True,))


@contextmanager
def behind(standby: Postgres) -> Iterator[None]:
    """Let a standby replay nothing more for a while."""
    with psycopg.connect(standby.dsn, autocommit=True) as connection:
        connection.execute("SELECT pg_wal_replay_pause()")
        try:
            yield
        finally:
            connection.execute("SELECT pg_wal_replay_resume()")


async def test_what_a_replica_has_is_read_from_it(primary: Postgres, standby: Postgres, schema: str) -> None:
    with opened(app_of(primary.dsn), schema, "") as writer:
        put(writer, "the bell", "the lamp")
    with psycopg.connect(primary.dsn, autocommit=True) as connection:  # a server counts what a process did as it ends
        hosts = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'gateway-memory'"
        await until(lambda: not connection.execute(hosts).fetchall())
    with opened(app_of(primary.dsn), schema, app_of(standby.dsn)) as rows:
        rows.poll()
        await replayed(primary, standby)
        await until(lambda: rows._reader("owner") is rows._replica)  # it connects in the background

        def look() -> bool:
            assert {stored.entry.text for stored in rows.listed("owner", Filter(), 9)} == {"the bell", "the lamp"}
            assert len(rows.load("owner", -1, 9)) == rows.count("owner") == len(rows.newest("owner", 9)) == 2
            return reads_of(standby, schema) >= 4

        before = reads_of(primary, schema)
        await until(look)
        assert reads_of(primary, schema) == before


async def test_what_was_just_written_is_read_from_the_primary(
    primary: Postgres, standby: Postgres, schema: str
) -> None:
    with opened(app_of(primary.dsn), schema, app_of(standby.dsn)) as rows:
        rows.poll()
        put(rows, "the bell")
        put(rows, "the roof", scope="user:zoe")
        await replayed(primary, standby)
        await until(lambda: rows._reader("owner") is rows._replica)
        with behind(standby):
            put(rows, "the bell", "the lamp")
            assert {stored.entry.text for stored in rows.listed("owner", Filter(), 9)} == {"the bell", "the lamp"}
            assert len(rows.load("owner", -1, 9)) == rows.count("owner") == 2
            assert rows._reader("owner") is rows._server
            assert rows._reader("user:zoe") is rows._replica, "of this scope it has everything"
        await replayed(primary, standby)
        assert rows._reader("owner") is rows._replica


async def test_a_replica_that_goes_away_is_missed_by_nobody(primary: Postgres, schema: str) -> None:
    assert INSTALL
    standby = Postgres(INSTALL, standby_of=primary)
    try:
        with opened(app_of(primary.dsn), schema, app_of(standby.dsn)) as rows:
            rows.poll()
            put(rows, "the bell")
            await replayed(primary, standby)
            await until(lambda: rows._reader("owner") is rows._replica)
            standby.stop()
            assert [stored.entry.text for stored in rows.listed("owner", Filter(), 9)] == ["the bell"]
            standby.start()
            await until(lambda: rows._reader("owner") is rows._replica)
            standby.freeze()
            try:
                assert [stored.entry.text for stored in rows.listed("owner", Filter(), 9)] == ["the bell"]
            finally:
                standby.thaw()
    finally:
        standby.remove()


def test_an_operator_is_told_why_a_replica_is_not_read(primary: Postgres, standby: Postgres, schema: str) -> None:
    def told(replica: str) -> list[str]:
        return [doubt.words for doubt in check(app_of(primary.dsn), schema, replica=replica)]

    assert told("") == []
    assert INSTALL
    other = Postgres(INSTALL)
    try:
        assert "UndefinedTable" in told(other.dsn)[0]
        with psycopg.connect(other.dsn, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        migrate(other.dsn, schema)
        assert told(other.dsn) == ["searches don't read from the replica: it holds another memory"]
    finally:
        other.remove()
    assert "can't be reached" in told(other.dsn)[0]


async def test_the_right_replica_leaves_no_doubt(primary: Postgres, standby: Postgres, schema: str) -> None:
    await replayed(primary, standby)
    assert check(app_of(primary.dsn), schema, replica=app_of(standby.dsn)) == []


async def test_a_replica_with_the_vectors_of_another_encoder_is_not_read(
    primary: Postgres, standby: Postgres, schema: str
) -> None:
    with opened(app_of(primary.dsn), schema, app_of(standby.dsn)) as rows:
        rows.poll()
        put(rows, "the bell")
        await replayed(primary, standby)
        await until(lambda: rows._reader("owner") is rows._replica)
        with behind(standby):
            rows.use_vector_space(VectorSpace("new", 4, 0.1, 0.4), 1.0, begins=True)
            assert rows._reader("owner") is rows._server
        await replayed(primary, standby)
        assert rows._reader("owner") is rows._replica


async def test_a_replica_that_another_server_has_left_behind_is_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It has rows of revisions that are given a second time, since it had replayed more than the one that goes on."""
    assert INSTALL
    servers = [first := Postgres(INSTALL)]
    try:
        servers.append(heir := Postgres(INSTALL, standby_of=first))
        servers.append(replica := Postgres(INSTALL, standby_of=first))
        dsn = f"{app_of(first.dsn)} host=127.0.0.1,127.0.0.1 port={first.port},{heir.port}"
        with migrated(first.dsn) as schema:
            with opened(f"{dsn} target_session_attrs=read-write", schema, app_of(replica.dsn)) as rows:
                rows.poll()
                put(rows, "the bell")
                await replayed(first, heir)
                heir.stop()
                put(rows, "the bell", "the lamp")
                put(rows, "the bell", "the lamp", "the roof")
                await replayed(first, replica)
                await until(lambda: rows._reader("owner") is rows._replica)
                first.stop()
                heir.start()
                heir.promote()
                await until(lambda: rows.poll() == "replaced")
                for texts in (["the bell", "the door"], ["the bell", "the door", "the wall"]):
                    put(rows, *texts)
                assert {stored.entry.text for stored in rows.listed("owner", Filter(), 9)} == set(texts)
                assert rows._reader("owner") is rows._server
            first.start()
    finally:
        for server in reversed(servers):
            server.remove()


async def test_a_search_finds_at_once_what_was_said(
    primary: Postgres, standby: Postgres, schema: str, tmp_path: Path
) -> None:
    async with (
        GatewayMemory(config_of(schema), tmp_path / "one") as here,
        GatewayMemory(config_of(schema), tmp_path / "two") as there,
    ):
        speaker = await here.start_session("speaker", user=OWNER)
        await here.after_reply(speaker, user="Remember that the bell is broken.", reply="OK")
        await here.flush()
        await replayed(primary, standby)
        before = reads_of(standby, schema)
        other = await there.start_session("other", user=OWNER)
        assert any("bell" in hit.text for hit in await there.search(other, "which bell?"))
        with behind(standby):
            await here.after_reply(speaker, user="Remember that the lamp is broken.", reply="OK")
            await here.flush()
            newcomer = await there.start_session("newcomer", user=OWNER)
            assert "lamp" in newcomer.opening
            assert any("lamp" in hit.text for hit in await there.search(newcomer, "which lamp?"))
            assert "lamp" in (await there.command(newcomer, "/memory list") or "")

        await replayed(primary, standby)
        async with asyncio.timeout(seconds(30)):
            while reads_of(standby, schema) <= before:
                await there.search(other, "what is broken?", limit=20)
                await there.command(other, "/memory list")
