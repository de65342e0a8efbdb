"""The index of a memory on two servers: each person's on one of them, while the first has everything else."""

import asyncio
import re
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from patience import seconds
from postgres import POSTGRES, Postgres, app_of, app_role, config_of, fresh_schema
from psycopg import sql

from gateway_memory import Config, Facts, GatewayMemory, Session
from gateway_memory.config.settings import StoreSettings
from gateway_memory.errors import ConfigError, StoreError
from gateway_memory.scope import Scope, resolve_scope
from gateway_memory.store.postgres.schema import check, migrate, status
from gateway_memory.store.postgres.shards import spread
from gateway_memory.store.postgres.side import PostgresSide
from gateway_memory.transfer.deletion import Deletion
from recall import shard_of

INSTALL = POSTGRES.get("installed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(INSTALL is None, reason="there is no PostgreSQL with pg_dump"),
    pytest.mark.xdist_group("alone"),
]

BOTH = ("GATEWAY_MEMORY_DSN", "GATEWAY_MEMORY_SHARD_2")


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Postgres, Postgres]]:
    assert INSTALL
    both = Postgres(INSTALL), Postgres(INSTALL)
    yield both
    for server in both:
        server.remove()


@pytest.fixture
def schema(servers: tuple[Postgres, Postgres], monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a schema of which neither server has anything, and that is dropped from both."""
    for name, server in zip(BOTH, servers, strict=True):
        monkeypatch.setenv(name, app_of(server.dsn))
        server.start() if server.process is None else None
    first, second = servers
    with fresh_schema(first.dsn) as schema:
        yield schema
        second.start() if second.process is None else None
        with psycopg.connect(second.dsn, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))


def made(servers: tuple[Postgres, Postgres], schema: str, *, shards: bool = True) -> list[str]:
    """Do what `db migrate` does; return what it says of the shards."""
    for server in servers if shards else servers[:1]:
        migrate(server.dsn, schema, app_role=app_role(server.dsn))
    return spread(servers[0].dsn, schema, [server.dsn for server in servers] if shards else ())


def config(schema: str, *, shards: bool = True) -> Config:
    one = config_of(schema)
    store = replace(one.defaults.store, shards=BOTH if shards else ())
    return replace(one, defaults=replace(one.defaults, store=store))


def somebody_on(server: int) -> str:
    """Return the name of somebody whose index is on a server."""
    return next(name for name in map("p{}".format, range(99)) if shard_of(scope_of(name).key, 2) == server)


def scope_of(name: str) -> Scope:
    return resolve_scope(user=name, room=None)


HERE, THERE = somebody_on(0), somebody_on(1)
"""Two people, each with the index on another server."""


def rows_on(server: Postgres, schema: str) -> set[str]:
    """Return the scopes that have rows on a server."""
    with psycopg.connect(server.dsn) as connection:
        table = sql.Identifier(schema, "row")
        return {key for (key,) in connection.execute(sql.SQL("SELECT DISTINCT scope FROM {}").format(table))}


def said_on(server: Postgres, schema: str) -> set[str]:
    """Return what was said, as far as a server has it in the index."""
    with psycopg.connect(server.dsn) as connection:
        query = sql.SQL("SELECT text FROM {} WHERE kind = 'episode' AND speaker = 'user'")
        return {text for (text,) in connection.execute(query.format(sql.Identifier(schema, "row")))}


class Host:
    """A host with a session of each of the two."""

    def __init__(self, memory: GatewayMemory, sessions: dict[str, Session]) -> None:
        self.memory = memory
        self.sessions = sessions

    @classmethod
    @asynccontextmanager
    async def of(cls, config: Config, folder: Path) -> AsyncIterator["Host"]:
        async with GatewayMemory(config, folder) as memory:
            yield cls(memory, {name: await memory.start_session(f"of {name}", user=name) for name in (HERE, THERE)})

    async def tell(self, name: str, what: str) -> None:
        assert await self.memory.after_reply(
            self.sessions[name], user=f"Remember that the {what} is broken.", reply="OK"
        )

    async def finds(self, name: str, *things: str) -> None:
        """Wait until somebody finds these things, each as one memory, and nothing of the others."""
        found: list[str] = []

        async def all_are_there() -> bool:
            nonlocal found
            hits = await self.memory.search(self.sessions[name], " ".join(("broken", *things)), limit=50)
            found = sorted(hit.text for hit in hits if hit.kind == "memory")
            return len(found) == len(things) and all(any(each in text for text in found) for each in things)

        async with asyncio.timeout(seconds(60)):
            while not await all_are_there():
                await asyncio.sleep(0.2)


async def test_the_index_of_each_person_is_on_one_server(
    servers: tuple[Postgres, Postgres], schema: str, tmp_path: Path
) -> None:
    first, second = servers
    made(servers, schema)
    async with Host.of(config(schema), tmp_path / "a") as here, Host.of(config(schema), tmp_path / "b") as there:
        for name, what in ((HERE, "bell"), (THERE, "lamp")):
            await here.tell(name, what)
        await here.memory.flush()
        for host in (here, there):
            await host.finds(HERE, "bell")
            await host.finds(THERE, "lamp")
    assert rows_on(first, schema) == {scope_of(HERE).key}
    assert rows_on(second, schema) == {scope_of(THERE).key}


async def test_a_project_on_the_other_server_is_read_beside_ones_own(
    servers: tuple[Postgres, Postgres], schema: str, tmp_path: Path
) -> None:
    made(servers, schema)
    project = next(name for name in map("Boat{}".format, range(99)) if shard_of(f"project:{name}", 2) == 1)
    async with GatewayMemory(config(schema), tmp_path) as memory:
        session = await memory.start_session("chat", user=HERE, project=project)
        for said in (f"We decided to use Redis for the queue of {project}.", "Remember that the bell is broken."):
            await memory.after_reply(session, user=said, reply="OK")
        await memory.flush()
        assert rows_on(servers[0], schema) == {scope_of(HERE).key}
        assert rows_on(servers[1], schema) == {f"project:{project}"}
        found = " ".join(hit.text for hit in await memory.search(session, "the Redis queue, and the bell"))
        assert "Redis" in found
        assert "bell" in found


@pytest.mark.parametrize("how", ["gone", "frozen"])
async def test_a_server_that_is_missing_is_missed_by_its_people_alone(
    servers: tuple[Postgres, Postgres], schema: str, how: str, tmp_path: Path
) -> None:
    second = servers[1]
    made(servers, schema)
    async with Host.of(config(schema), tmp_path) as host:
        await host.tell(HERE, "bell")
        await host.tell(THERE, "lamp")
        await host.memory.flush()
        await host.finds(THERE, "lamp")
        second.stop() if how == "gone" else second.freeze()
        try:
            began = time.monotonic()
            await host.memory.before_reply(host.sessions[THERE], "what is broken?")
            assert time.monotonic() - began < seconds(3)
            await host.tell(THERE, "roof")
            await host.tell(HERE, "door")
            await host.finds(HERE, "bell", "door")
            reply = await host.memory.before_reply(host.sessions[HERE], "which door is broken?")
            assert reply.outcome == "full"
            assert any("door" in hit.text for hit in reply.recalled)
            other = await host.memory.start_session("another", user=HERE)
            assert "door" in other.opening
            await host.memory.end_session(other, reason="reset")
            told = await host.memory.command(host.sessions[HERE], "/memory status")
            assert "Servers of the index that do not answer: 1" in (told or "")
        finally:
            second.start() if how == "gone" else second.thaw()
        await host.finds(THERE, "lamp", "roof")
        await host.finds(HERE, "bell", "door")


async def test_a_host_starts_while_a_server_is_missing(
    servers: tuple[Postgres, Postgres], schema: str, tmp_path: Path
) -> None:
    second = servers[1]
    made(servers, schema)
    async with Host.of(config(schema), tmp_path) as host:
        await host.tell(HERE, "bell")
        await host.tell(THERE, "lamp")
        await host.memory.flush()
    second.stop()
    doubts = check(app_of(servers[0].dsn), schema, shards=[app_of(server.dsn) for server in servers])
    assert [doubt.event for doubt in doubts] == ["postgres.shard"]
    async with Host.of(config(schema), tmp_path) as host:
        await host.finds(HERE, "bell")
        second.start()
        await host.finds(THERE, "lamp")


async def test_a_changed_list_moves_what_it_must_and_is_noticed_by_running_hosts(
    servers: tuple[Postgres, Postgres], schema: str, tmp_path: Path
) -> None:
    first, second = servers
    dsns = [app_of(server.dsn) for server in servers]
    assert made(servers, schema, shards=False) == []
    async with Host.of(config(schema, shards=False), tmp_path / "a") as former:
        await former.tell(HERE, "bell")
        await former.tell(THERE, "lamp")
        await former.memory.flush()
        assert rows_on(first, schema) == {scope_of(HERE).key, scope_of(THERE).key}
        with pytest.raises(StoreError, match=r"another list of store\.shards|has no tables"):
            check(dsns[0], schema, shards=dsns)

        assert any("deleted the index of 1 scopes" in line for line in made(servers, schema))
        assert made(servers, schema) == []
        assert rows_on(first, schema) == {scope_of(HERE).key}
        assert (await former.memory.before_reply(former.sessions[HERE], "which bell is broken?")).outcome == "timeout"
        with pytest.raises(StoreError, match=r"another list of store\.shards"):
            check(dsns[0], schema, shards=())
        assert check(dsns[0], schema, shards=dsns) == []
        await former.tell(HERE, "roof")  # which is kept, and indexed by a host that has the list
    async with Host.of(config(schema), tmp_path / "b") as host:
        await host.finds(THERE, "lamp")
        await host.finds(HERE, "bell", "roof")
        assert rows_on(second, schema) == {scope_of(THERE).key}
        said = dict(status(dsns[0], schema, dsns))
        assert said["server 2 of store.shards"].startswith("1 scopes, 0 of them misplaced")

    assert any("noted" in line for line in made(servers, schema, shards=False))
    async with Host.of(config(schema, shards=False), tmp_path / "c") as host:
        await host.finds(HERE, "bell", "roof")
        await host.finds(THERE, "lamp")
    assert rows_on(first, schema) == {scope_of(HERE).key, scope_of(THERE).key}


async def test_a_deletion_reaches_every_server(servers: tuple[Postgres, Postgres], schema: str, tmp_path: Path) -> None:
    made(servers, schema)
    async with Host.of(config(schema), tmp_path) as host:
        await host.tell(HERE, "bell")
        await host.tell(THERE, "lamp")
        await host.memory.flush()
        await host.finds(THERE, "lamp")
        deletion = Deletion(workspace=tmp_path, store=config(schema).defaults.store)
        proof = deletion.delete(scope_of(THERE))
        assert proof.before["row"] > 0
        assert not any(proof.after.values())
        assert rows_on(servers[1], schema) == set()
        await host.finds(THERE)
        await host.finds(HERE, "bell")


async def test_people_on_two_servers_can_be_linked(
    servers: tuple[Postgres, Postgres], schema: str, tmp_path: Path
) -> None:
    made(servers, schema)
    numbers = [next(n for n in range(99) if shard_of(f"user:telegram::{n}", 2) == server) for server in (0, 1)]
    facts = [Facts(key=f"{n}", channel="telegram", chat_type="direct", sender_id=f"{n}") for n in numbers]
    async with GatewayMemory(config(schema), tmp_path) as memory:
        one, two = [await memory.session_of(each) for each in facts]
        for session, what in ((one, "bell"), (two, "lamp")):
            await memory.after_reply(session, user=f"Remember that the {what} is broken.", reply="OK")
        await memory.flush()
        found = re.search(r"/memory link (\S+)", await memory.command(one, "/memory link") or "")
        assert found
        told = await memory.command(two, f"/memory link {found[1]}")
        assert "share one memory now" in (told or "")
        await memory.flush()
        both = await memory.session_of(facts[1])
        hits = await memory.search(both, "what is broken?", limit=50)
        assert {"the bell is broken", "the lamp is broken"} <= {hit.text for hit in hits if hit.kind == "memory"}
    assert len(rows_on(servers[0], schema) | rows_on(servers[1], schema)) == 1, "one scope has everything"


@pytest.mark.parametrize("how", ["restored", "empty"])
async def test_a_server_that_steps_back_gets_what_it_lost(
    servers: tuple[Postgres, Postgres], schema: str, how: str, tmp_path: Path
) -> None:
    """A backup of it is restored under two hosts, or another one without anything takes its place."""
    second, dump = servers[1], tmp_path / "shard.dump"
    made(servers, schema)
    async with Host.of(config(schema), tmp_path / "a") as here, Host.of(config(schema), tmp_path / "b") as there:
        await here.tell(THERE, "bell")
        await here.memory.flush()
        for host in (here, there):
            await host.finds(THERE, "bell")
        call("pg_dump", "--format=custom", f"--schema={schema}", f"--file={dump}", second.dsn)
        await here.tell(THERE, "lamp")
        await here.memory.flush()
        for host in (here, there):
            await host.finds(THERE, "bell", "lamp")
        with psycopg.connect(second.dsn, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))
        if how == "restored":
            call("pg_restore", "--single-transaction", f"--dbname={second.dsn}", str(dump))
        else:
            assert made(servers, schema)
        await here.tell(THERE, "roof")
        for host in (here, there):
            await host.memory.before_reply(host.sessions[THERE], "hello")
            await host.finds(THERE, "bell", "lamp", "roof")
        async with asyncio.timeout(seconds(60)):
            while len(said_on(second, schema)) < 3:  # the exchanges, behind the reply
                await asyncio.sleep(0.2)


@pytest.mark.parametrize(
    "theirs",
    [
        "INSERT INTO scope (key) VALUES ('owner')",
        "INSERT INTO documents (folder, name, content, saved) VALUES ('', 'MEMORY.md', '', 1)",
    ],
)
def test_a_server_of_another_memory_is_refused(servers: tuple[Postgres, Postgres], schema: str, theirs: str) -> None:
    migrate(servers[1].dsn, schema)
    with psycopg.connect(servers[1].dsn, options=f"-csearch_path={schema}") as connection:
        connection.execute(theirs.encode())
    with pytest.raises(StoreError, match="that of another memory"):
        made(servers, schema)


def test_a_server_that_is_named_twice_is_refused(servers: tuple[Postgres, Postgres], schema: str) -> None:
    made(servers, schema)
    dsn = servers[0].dsn
    with pytest.raises(StoreError, match="another one of the list is the same server"):
        spread(dsn, schema, [dsn, f"{dsn} connect_timeout=9"])


def test_a_move_reads_and_fills_the_first_server(servers: tuple[Postgres, Postgres], schema: str) -> None:
    dsns = [server.dsn for server in servers]
    made(servers, schema)
    with PostgresSide.open(dsns[0], schema, reads=True) as side:
        assert "turns" in side.tables()
    with psycopg.connect(dsns[0], options=f"-csearch_path={schema}") as connection:
        connection.execute("UPDATE identity SET journal = 'of the source'")  # as a move into it does
    with pytest.raises(StoreError, match=r"another list of store\.shards"):
        check(dsns[0], schema, shards=dsns)
    assert made(servers, schema)
    check(dsns[0], schema, shards=dsns)


def test_a_server_that_is_not_set_is_named(schema: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(BOTH[1])
    store = StoreSettings(backend="postgres", schema=schema, shards=BOTH)
    with pytest.raises(ConfigError, match=rf"store\.shards: the environment variable {BOTH[1]} is not set"):
        Deletion(workspace=tmp_path, store=store).survey(scope_of(HERE))


def call(program: str, *arguments: str) -> None:
    assert INSTALL
    found = shutil.which(program, path=str(INSTALL / "bin"))
    assert found
    subprocess.run([found, *arguments], check=True, capture_output=True)
