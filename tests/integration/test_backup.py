"""A memory in PostgreSQL that was dumped and restored, as docs/postgres.md says."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from postgres import KINDS, POSTGRES, app_of, migrated
from psycopg import sql

from gateway_memory import OWNER, Config, GatewayMemory
from gateway_memory.config.settings import MemorySync, StoreSettings
from gateway_memory.store.postgres.schema import check, migrate, status
from recall import EmbedderSettings, RecallSettings

PROGRAMS = POSTGRES.get("installed")

pytestmark = [
    pytest.mark.of_postgres,
    pytest.mark.slow,
    pytest.mark.skipif("installed" not in KINDS or PROGRAMS is None, reason="there is no pg_dump"),
    pytest.mark.xdist_group("alone"),
]


@pytest.fixture
def dsn(postgres_dsn: Callable[[str], str]) -> str:
    return postgres_dsn("installed")


@pytest.fixture
def config(dsn: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Config]:
    monkeypatch.setenv("GATEWAY_MEMORY_DSN", app_of(dsn))
    with migrated(dsn) as schema:
        recall = RecallSettings(embedder=EmbedderSettings(provider="none"))
        store = StoreSettings(backend="postgres", schema=schema)
        yield Config(defaults=MemorySync(auto_recall=recall, store=store))


def call(program: str, *arguments: str) -> None:
    assert PROGRAMS is not None
    found = shutil.which(program, path=str(PROGRAMS / "bin"))
    assert found
    subprocess.run([found, *arguments], check=True, capture_output=True)


async def test_a_restored_memory_goes_on_where_the_backup_was_made(dsn: str, config: Config, tmp_path: Path) -> None:
    schema = config.defaults.store.schema
    dump = str(tmp_path / "memory.dump")
    async with GatewayMemory(config, tmp_path / "host") as memory:
        session = await memory.start_session("monday", user="zoe")
        await memory.after_reply(session, user="Remember that the bell is broken.", reply="OK", turn_id="one")
        await memory.flush()
        call("pg_dump", "--format=custom", f"--schema={schema}", f"--file={dump}", dsn)
        await memory.after_reply(session, user="Remember that the lamp is green.", reply="OK", turn_id="two")
        await memory.flush()
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))
    call("pg_restore", "--exit-on-error", f"--dbname={dsn}", dump)

    check(app_of(dsn), schema)
    assert migrate(dsn, schema) == []
    assert ("wall between scopes", "holds for gateway_memory_app") in status(app_of(dsn), schema)
    async with GatewayMemory(config, tmp_path / "other") as memory:
        session = await memory.start_session("tuesday", user="zoe")
        assert "bell" in session.opening
        assert "lamp" not in session.opening
        await memory.after_reply(session, user="Remember that the roof is flat.", reply="OK")
        again = await memory.start_session("monday", user="zoe")  # a host whose spool still has what was said
        await memory.after_reply(again, user="Remember that the bell is broken.", reply="OK", turn_id="one")
        await memory.after_reply(again, user="Remember that the lamp is green.", reply="OK", turn_id="two")
        await memory.flush()
        found = {hit.text for hit in await memory.search(session, "bell lamp roof", limit=20) if hit.kind == "memory"}
        assert sorted(text.split()[1] for text in found) == ["bell", "lamp", "roof"]
        stranger = await memory.start_session("stranger", user=OWNER)
        assert "bell" not in stranger.opening
    with psycopg.connect(dsn, options=f"-csearch_path={schema}") as connection:
        assert connection.execute("SELECT count(*) FROM episodes").fetchone() == (3,)
