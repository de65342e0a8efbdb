"""Hosts behind PgBouncer, which lends each transaction any connection."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from patience import until
from pgbouncer import PGBOUNCER, pooled
from postgres import KINDS, app_of, migrated

from gateway_memory import OWNER, Config, GatewayMemory
from gateway_memory.cli.main import main
from gateway_memory.config.settings import MemorySync, StoreSettings
from gateway_memory.edge.config_reference import render_config
from recall import EmbedderSettings, RecallSettings

pytestmark = [
    pytest.mark.of_postgres,
    pytest.mark.slow,
    pytest.mark.skipif(not KINDS or PGBOUNCER is None, reason="there is no PostgreSQL, or no PgBouncer"),
    pytest.mark.xdist_group("alone"),
]


@pytest.fixture
def config(dsn: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Config]:
    """A memory behind a pooler with eight connections, as docs/postgres.md says to set it up."""
    with migrated(dsn) as schema, pooled(app_of(dsn), connections=8) as there:
        monkeypatch.setenv("GATEWAY_MEMORY_DSN", there)
        recall = RecallSettings(embedder=EmbedderSettings(provider="none"))
        store = StoreSettings(backend="postgres", schema=schema)
        yield Config(defaults=MemorySync(auto_recall=recall, store=store))


@pytest.mark.parametrize("hears", ["directly", "by looking"])
async def test_hosts_behind_a_pooler_share_a_memory(
    config: Config,
    dsn: str,
    hears: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a connection past the pooler they hear of each other too, by looking."""
    if hears == "directly":
        monkeypatch.setenv("GATEWAY_MEMORY_DIRECT_DSN", app_of(dsn))
    async with GatewayMemory(config, tmp_path / "one") as here, GatewayMemory(config, tmp_path / "two") as there:
        speaker = await here.start_session("speaker", user=OWNER)
        listener = await there.start_session("listener", user=OWNER)
        await here.after_reply(speaker, user="Remember that the staging port is 8443.", reply="OK")
        await here.flush()
        await until(lambda: len(listener.pending.inbox))
        assert "8443" in (await there.before_reply(listener, "hello")).text


async def test_many_transactions_share_few_connections(config: Config, tmp_path: Path) -> None:
    async with GatewayMemory(config, tmp_path / "one") as here, GatewayMemory(config, tmp_path / "two") as there:

        async def talk(memory: GatewayMemory, number: int) -> None:
            session = await memory.start_session(f"s{number}", user=f"u{number}")
            for turn in range(5):
                said = f"Remember that locker {number}x{turn} opens with {7919 * (5 * number + turn + 1)}."
                await memory.after_reply(session, user=said, reply="OK")

        await asyncio.gather(*(talk((here, there)[number % 2], number) for number in range(20)))
        await here.flush()
        await there.flush()
        for number in range(20):
            session = await here.start_session(f"look{number}", user=f"u{number}")
            found = await here.search(session, f"locker {number}x", limit=50)
            texts = {hit.text for hit in found if hit.kind == "memory"}
            assert len(texts) == 5, (number, texts)
            assert all(f"locker {number}x" in text for text in texts)


async def test_agents_with_memories_of_their_own_share_a_pooler_and_a_role(
    config: Config, dsn: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with migrated(dsn) as other:
        store = replace(config.defaults.store, schema=other)
        second = Config(defaults=replace(config.defaults, store=store))
        async with GatewayMemory(config, tmp_path / "one") as here, GatewayMemory(second, tmp_path / "two") as there:
            for number in range(8):  # by any of the pooler's connections
                session = await here.start_session(f"one{number}", user=OWNER)
                stranger = await there.start_session(f"two{number}", user=OWNER)
                said = f"Remember that locker {number} opens with {7919 * (number + 1)}."
                await here.after_reply(session, user=said, reply="OK")
                await here.flush()
                assert len(await here.search(session, f"locker {number}")) > 0
                assert await there.search(stranger, f"locker {number}") == ()
        for each in (config, second):
            file = tmp_path / f"{each.defaults.store.schema}.json5"
            file.write_text(render_config(each), "utf-8")
            for command in (["db", "check"], ["db", "status"]):
                assert await asyncio.to_thread(main, [*command, "--config", str(file)]) == 0
        told = "".join(capsys.readouterr())
        assert ("memories: 8" in told, "memories: 0" in told) == (True, True)
        scoped = ["delete", "--config", str(tmp_path / f"{other}.json5"), "--scope", "user:nobody", "--yes"]
        assert await asyncio.to_thread(main, scoped) == 0
