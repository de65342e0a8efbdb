"""A memory in PostgreSQL: hosts that share nothing else, a server that is away, and its tables."""

import asyncio
import hashlib
import re
import shlex
import sqlite3
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from inside import parts
from patience import seconds, until
from postgres import KINDS, POSTGRES, Postgres, app_of, migrated

from gateway_memory import OWNER, Config, Facts, GatewayMemory, load_config
from gateway_memory.cli.main import main
from gateway_memory.config.settings import IncrementalSyncSettings, MemorySync, OpeningSettings, StoreSettings
from gateway_memory.errors import ConfigError, LeaseLostError, SchemaFromFutureError, StoreError, UsageError
from gateway_memory.ground.databases import Database
from gateway_memory.scope import Scope
from gateway_memory.store.journal.arrivals import NewTurn
from gateway_memory.store.journal.sqlite import apply_steps
from gateway_memory.store.journal.store import Store
from gateway_memory.store.plan import Plan
from gateway_memory.store.postgres.connection import PostgresConnection
from gateway_memory.store.postgres.hosts import HostSlot
from gateway_memory.store.postgres.schema import check, migrate, state_of
from gateway_memory.store.postgres.storage import open_shared
from gateway_memory.store.postgres.turns import PostgresTurns
from gateway_memory.sync.peers import Peers
from gateway_memory.transfer.deletion import Deletion
from gateway_memory.transfer.proof import lines_of
from notifier import Event, MemoryChange
from recall import EmbedderSettings, Recall, RecallSettings
from recall.rows.sqlite_file import SCHEMA

pytestmark = [
    pytest.mark.of_postgres,
    pytest.mark.slow,
    pytest.mark.skipif(not KINDS, reason="there is no PostgreSQL"),
    pytest.mark.xdist_group("alone"),  # not beside another test of servers or deadlines
]


@pytest.fixture
def schema(dsn: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("GATEWAY_MEMORY_DSN", app_of(dsn))
    with migrated(dsn) as schema:
        yield schema


def config(schema: str, *, embedder: str = "none") -> Config:
    recall = RecallSettings(embedder=EmbedderSettings(provider="none" if embedder == "none" else "bundled"))
    return Config(defaults=MemorySync(auto_recall=recall, store=StoreSettings(backend="postgres", schema=schema)))


def turn(number: int, session: str = "s") -> NewTurn:
    return NewTurn(
        turn_id=f"t{number}",
        scope="owner",
        session_key="chat",
        session_id=session,
        user=f"said {number}",
        reply="OK",
        at=float(number),
        accepted_at=float(number),
        episode=True,
    )


# Two hosts


async def test_what_is_told_to_one_host_the_other_tells(schema: str, tmp_path: Path) -> None:
    async with (
        GatewayMemory(config(schema), tmp_path / "one") as here,
        GatewayMemory(config(schema), tmp_path / "two") as there,
    ):
        speaker = await here.start_session("speaker", user=OWNER)
        listener = await there.start_session("listener", user=OWNER)
        stranger = await there.start_session("stranger", user="zoe")
        await here.after_reply(speaker, user="Remember that the staging port is 8443.", reply="OK")
        await here.flush()
        await until(lambda: len(listener.pending.inbox))
        assert "8443" in (await there.before_reply(listener, "hello")).text
        newcomer = await there.start_session("newcomer", user=OWNER)
        assert "8443" in newcomer.opening
        assert "8443" not in stranger.opening + (await there.before_reply(stranger, "which port is staging?")).text
        await there.command(listener, "/memory undo")
        await until(lambda: len(speaker.pending.inbox))
        assert "no longer holds" in (await here.before_reply(speaker, "hello")).text
        assert [hit.text for hit in await here.search(speaker, "staging port") if hit.kind == "memory"] == []
    assert not list(tmp_path.rglob("*.md")), "documents are rows"


async def test_a_session_goes_on_at_another_host(schema: str, tmp_path: Path) -> None:
    async with GatewayMemory(config(schema), tmp_path / "one") as here:
        session = await here.start_session("chat", user=OWNER)
        await here.after_reply(session, user="我住在上海浦东。", reply="好的")
    async with GatewayMemory(config(schema), tmp_path / "two") as there:
        again = await there.start_session("chat", user=OWNER)
        assert again.session_id == session.session_id
        assert "浦东" in again.opening + (await there.before_reply(again, "我住在哪里？")).text


async def test_a_session_that_went_on_at_another_host_is_not_told_its_own_words(schema: str, tmp_path: Path) -> None:
    async with (
        GatewayMemory(config(schema), tmp_path / "one") as here,
        GatewayMemory(config(schema), tmp_path / "two") as there,
    ):
        session = await here.start_session("chat", user=OWNER)
        async with parts(here).processor._plan_lock:  # it is not filed yet
            await here.after_reply(session, user="Remember that the staging port is 8443.", reply="OK")
            again = await there.start_session("chat", user=OWNER)
        await here.flush()
        assert (await there.before_reply(again, "hello")).text == ""


async def test_what_a_session_was_told_a_host_that_is_behind_does_not_tell_again(
    schema: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    behind, look = True, Peers.look

    async def late_look(self: Peers) -> None:
        if not behind:
            await look(self)

    monkeypatch.setattr(Peers, "look", late_look)
    settings = Config(defaults=replace(config(schema).defaults, opening=OpeningSettings(enabled=False)))
    async with (
        GatewayMemory(settings, tmp_path / "one") as here,
        GatewayMemory(settings, tmp_path / "two") as there,
    ):
        speaker, listener = [await here.start_session(key, user=OWNER) for key in ("speaker", "listener")]
        await here.after_reply(speaker, user="Remember that the staging port is 8443.", reply="OK")
        await here.flush()
        assert len((await here.before_reply(listener, "hello")).updates) == 1
        again = await there.start_session("listener", user=OWNER)
        behind, heard = False, parts(there).bus
        await here.after_reply(speaker, user="Remember that the red door is locked.", reply="OK")
        await here.flush()
        await until(lambda: heard.published == 2)
        updates = (await there.before_reply(again, "hello")).updates
        assert [("8443" in change.text, "red door" in change.text) for change in updates] == [(False, True)]


async def test_a_session_of_a_host_whose_clock_is_ahead_hears_elsewhere_what_was_said_since(
    schema: str, tmp_path: Path
) -> None:
    def ahead() -> datetime:
        return datetime.now().astimezone() + timedelta(minutes=2)

    async with (
        GatewayMemory(config(schema), tmp_path / "one", clock=ahead) as there,
        GatewayMemory(config(schema), tmp_path / "two") as here,
    ):
        speaker = await here.start_session("speaker", user=OWNER)
        await here.after_reply(speaker, user="Remember that the bell is broken.", reply="OK")
        await here.flush()
        assert "bell" in (await there.start_session("chat", user=OWNER)).opening
        await here.after_reply(speaker, user="Remember that the staging port is 8443.", reply="OK")
        await here.flush()
        moved = await here.start_session("chat", user=OWNER)
        told = (await here.before_reply(moved, "hello")).text
        assert "8443" in told
        assert "bell" not in told, "its opening told it"


async def test_what_arrives_while_a_reply_is_prepared_is_told(
    schema: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_files = IncrementalSyncSettings(check_on_message=False)
    settings = Config(defaults=replace(config(schema).defaults, incremental_sync=without_files))
    async with (
        GatewayMemory(settings, tmp_path / "one") as here,
        GatewayMemory(settings, tmp_path / "two") as there,
        GatewayMemory(settings, tmp_path / "three") as elsewhere,
    ):
        speaker = await here.start_session("speaker", user=OWNER)
        listener = await there.start_session("listener", user=OWNER)
        recaller = parts(there).storage.recaller
        search = recaller.search

        async def slow_search(*args: Any, **values: Any) -> Recall:
            await here.after_reply(speaker, user="Remember that the red door is locked.", reply="OK")
            await here.flush()
            await until(lambda: parts(there).bus.published == 2)
            return await search(*args, **values)

        await here.after_reply(speaker, user="Remember that the staging port is 8443.", reply="OK")
        await here.flush()
        await until(lambda: len(listener.pending.inbox))
        monkeypatch.setattr(recaller, "search", slow_search)
        told = list((await there.before_reply(listener, "which port do we use?")).updates)
        again = await elsewhere.start_session("listener", user=OWNER)
        told += (await elsewhere.before_reply(again, "which port do we use?")).updates
        assert ["8443" in change.text for change in told] == [True, False]


async def test_a_new_host_hears_of_what_a_dead_one_left_unfinished(
    hosts: tuple[Store, Store], schema: str, tmp_path: Path
) -> None:
    turns, now = hosts[0].turns, time.time()
    plan = Plan(scope="owner", folder="", stage="save", at=now)
    change = MemoryChange(id="a1b2c3d4", text="The staging port is 8443.", at=now, source="speaker")
    number, _ = await turns.save_plan(plan, [Event(scope="owner", at=now, changes=(change,))])
    async with GatewayMemory(config(schema), tmp_path) as memory:
        listener = await memory.start_session("listener", user=OWNER)
        await turns.finish(plan, number)
        await until(lambda: len(listener.pending.inbox))


async def test_a_host_hears_of_what_another_one_completed_for_it(
    hosts: tuple[Store, Store], schema: str, tmp_path: Path
) -> None:
    """It was frozen, say, between two steps of a plan."""
    async with GatewayMemory(config(schema), tmp_path) as memory:
        listener = await memory.start_session("listener", user=OWNER)
        now = time.time()
        plan = Plan(scope="owner", folder="", stage="save", at=now)
        change = MemoryChange(id="a1b2c3d4", text="The staging port is 8443.", at=now, source="speaker")
        event = Event(scope="owner", at=now, changes=(change,))
        number, _ = await parts(memory).storage.turns.save_plan(plan, [event])
        await hosts[0].turns.finish(plan, number)
        await until(lambda: len(listener.pending.inbox))
        assert "8443" in (await memory.before_reply(listener, "hello")).text
        speaker = await memory.start_session("speaker", user=OWNER)
        await memory.after_reply(speaker, user="Remember that the door is red.", reply="OK")
        await memory.flush()
        assert "red" in (await memory.before_reply(listener, "hello")).text
        await memory.save_fact(speaker, content="The lamp is blue.")
        await until(lambda: len(listener.pending.inbox))
        assert [change.text for change in listener.pending.inbox.take()] == ["The lamp is blue."]


@pytest.fixture
async def hosts(dsn: str, schema: str) -> AsyncIterator[tuple[Store, Store]]:
    async with AsyncExitStack() as stack:
        one, two = [(await open_shared(stack, app_of(dsn), StoreSettings(schema=schema)))[0] for _ in range(2)]
        yield one, two


async def test_the_turns_of_a_session_stay_with_the_host_that_works_on_it(hosts: tuple[Store, Store]) -> None:
    one, two = (store.turns for store in hosts)
    first = await one.accept(turn(1))
    second = await two.accept(turn(2))
    other = await two.accept(turn(3, "another"))
    assert [each.id for each in await one.waiting("accepted")] == [first, second]
    assert [each.id for each in await two.waiting("accepted")] == [other]
    assert await two.accept(turn(1)) == first, "the same turn"


async def test_a_host_whose_lease_ended_changes_nothing_more(hosts: tuple[Store, Store], dsn: str, schema: str) -> None:
    one, two = (store.turns for store in hosts)
    numbers = [await one.accept(turn(number)) for number in range(3)]
    assert await two.adopt() == 0, "it lives"
    with psycopg.connect(dsn, autocommit=True, options=f"-csearch_path={schema}") as connection:
        connection.execute("UPDATE hosts SET until = now() - interval '1 second' WHERE slot = 0")
    # As of the other host's next renewal.
    assert isinstance(two, PostgresTurns)
    assert isinstance(two._slot, HostSlot)
    await two._slot.renew()
    assert await two.adopt() == 1
    assert [each.id for each in await two.waiting("accepted")] == numbers, "in their order"
    late = Plan(scope="owner", folder="", stage="rules", at=9.0, turns=(numbers[0],))
    with pytest.raises(LeaseLostError):
        await one.finish(late, None)
    await two.finish(replace(late, stage="batch"), None)
    for number in numbers[:2]:  # one is done, the other waits
        with pytest.raises(LeaseLostError):
            await one.save_plan(replace(late, turns=(number,)))
    await two.finish(replace(late, turns=(numbers[1],)), None)
    assert await hosts[1].episodes.count("owner") == 1


async def test_who_waits_for_a_lock_lets_others_work(dsn: str, schema: str) -> None:
    """A scope that is locked for long is no sign that the server is away."""
    connection = PostgresConnection(app_of(dsn), schema=schema)
    await connection.open()
    with psycopg.connect(dsn, options=f"-csearch_path={schema}") as other:
        other.execute("SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || 'owner', 0))")
        query = "INSERT INTO usage (day) VALUES ('2026-11-24')"
        waiting = asyncio.create_task(connection.transact(lambda it: it.execute(query).rowcount, exclusive=["owner"]))
        for _ in range(10):  # well within the time after which it would stop waiting, on a busy machine too
            assert await connection.rows("SELECT 1") == [(1,)]
            await asyncio.sleep(0.02)
        assert not waiting.done()
    assert await waiting == 1
    await connection.close()


async def test_a_connection_that_was_lost_before_the_commit_costs_nothing(dsn: str, schema: str) -> None:
    connection = PostgresConnection(app_of(dsn), schema=schema)
    await connection.open()
    tries = 0

    def work(database: Database) -> int:
        nonlocal tries
        tries += 1
        database.execute("INSERT INTO usage (day) VALUES ('2026-11-24')")
        if tries < 3:
            with psycopg.connect(dsn, autocommit=True) as other:
                (process,) = database.execute("SELECT pg_backend_pid()").fetchone()
                other.execute("SELECT pg_terminate_backend(%s, 5000)", (process,))
        return int(database.execute("SELECT count(*) FROM usage").fetchone()[0])

    assert await connection.transact(work) == 1
    assert tries == 3
    await connection.close()


async def test_transactions_that_collide_run_again(dsn: str, schema: str) -> None:
    connections = [PostgresConnection(app_of(dsn), schema=schema) for _ in range(3)]
    for each in connections:
        await each.open()
    insert = "INSERT INTO usage (day, extractions) VALUES ('d', 1) ON CONFLICT (day) DO UPDATE SET extractions = ?"

    def count(database: Database) -> None:
        found = database.execute("SELECT extractions FROM usage WHERE day = 'd'").fetchone()
        database.execute(insert, ((found[0] if found else 0) + 1,))

    await asyncio.gather(*(connections[number % 3].transact(count) for number in range(30)))
    assert await connections[0].rows("SELECT extractions FROM usage") == [(30,)]
    for each in connections:
        await each.close()


async def test_a_turn_that_waits_for_a_deleted_project_goes_to_its_person(
    dsn: str, schema: str, tmp_path: Path
) -> None:
    settings = config(schema)
    async with GatewayMemory(settings, tmp_path) as memory:
        zoe = await memory.start_session("zoe", user="zoe", project="Apollo")
        await memory.after_reply(zoe, user="We decided to use Redis in Apollo.", reply="OK")
        await memory.flush()
        deletion = Deletion(workspace=tmp_path, store=settings.defaults.store)
        with psycopg.connect(dsn, options=f"-csearch_path={schema}", autocommit=True) as connection:
            counts = "SELECT (SELECT count(*) FROM memories), (SELECT count(*) FROM turns)"
            # On a busy machine the turn waits in the spool first, which no flush waits for.
            await until(lambda: connection.execute(counts).fetchone() == (1, 0), "the decision in the project")
            query = (
                'INSERT INTO turns (scope, session_key, session_id, "user", reply, at, accepted_at, slot, joined) '
                "VALUES ('user:zoe', 'zoe', 's', 'We use Kafka in Apollo.', 'OK', 0, 0, -1, %s)"
            )
            connection.execute(query, ("project:Apollo\nproject:Zeus",))
            proof = await asyncio.to_thread(deletion.delete, Scope.parse("project:Apollo"))
            assert proof.holds
            assert proof.before["memories"] == 1
            assert connection.execute("SELECT scope, joined FROM turns").fetchall() == [("user:zoe", "project:Zeus")]


async def test_a_person_is_deleted_with_proof_while_hosts_run(dsn: str, schema: str, tmp_path: Path) -> None:
    deletion = Deletion(workspace=tmp_path, store=config(schema).defaults.store)
    async with GatewayMemory(config(schema), tmp_path) as memory:
        zoe, session = [await memory.start_session(user, user=user) for user in ("zoe", "yan")]
        for user, of in (("zoe", zoe), ("yan", session)):
            await memory.after_reply(of, user=f"Remember that the locker of {user} opens with 4711.", reply="OK")
            await memory.flush()
            assert await memory.search(of, "locker")
        proof = await asyncio.to_thread(deletion.delete, Scope.parse("user:zoe"))
        assert proof.holds
        assert proof.before["memories"] == proof.before["episodes"] == proof.before["documents"] == 1
        assert "write-ahead log" in lines_of(proof)[-1]
        assert [hit.text for hit in await memory.search(session, "locker") if hit.kind == "memory"] != []
        again = await memory.start_session("zoe again", user="zoe")
        assert again.opening == ""
        assert list(await memory.search(again, "locker")) == []
    with psycopg.connect(dsn, options=f"-csearch_path={schema}") as connection:
        query = (
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = %s "
            "AND data_type = 'text'"
        )
        for table, column in connection.execute(query, (schema,)).fetchall():
            found = connection.execute(
                f"SELECT count(*) FROM \"{table}\" WHERE strpos({column}, 'of zoe') > 0"
            ).fetchone()
            assert found == (0,), (table, column)


async def test_what_waits_for_a_session_of_a_deleted_person_is_not_told(schema: str, tmp_path: Path) -> None:
    deletion = Deletion(workspace=tmp_path, store=config(schema).defaults.store)
    async with GatewayMemory(config(schema), tmp_path / "a") as a, GatewayMemory(config(schema), tmp_path / "b") as b:
        speaker = await a.start_session("speaker", user="zoe")
        beside = await a.start_session("beside", user="zoe")
        listener = await b.start_session("listener", user="zoe")
        for memory, session in ((a, beside), (b, listener)):
            await memory.before_reply(session, "hello")
        await a.after_reply(speaker, user="Remember that the duck is lame.", reply="OK")
        await a.flush()
        await until(lambda: len(listener.pending.inbox) > 0)
        assert (await asyncio.to_thread(deletion.delete, Scope.parse("user:zoe"))).holds
        for memory, session in ((a, beside), (b, listener)):
            before = session.session_id
            context = await memory.before_reply(session, "how is the duck?")
            assert (context.text, context.updates) == ("", ())
            assert session.session_id != before, "it is another session now"
            assert await memory.opening(session) == ""
        await a.after_reply(speaker, user="Remember that the goose is loud.", reply="OK")
        await a.flush()
        await until(lambda: len(listener.pending.inbox) > 0)
        assert "goose" in (await b.before_reply(listener, "and the goose?")).text, "it hears again"


async def test_what_waits_for_a_linked_session_of_a_deleted_person_is_not_told(schema: str, tmp_path: Path) -> None:
    deletion = Deletion(workspace=tmp_path, store=config(schema).defaults.store)
    async with GatewayMemory(config(schema), tmp_path / "a") as a, GatewayMemory(config(schema), tmp_path / "b") as b:
        here, there = (
            Facts(key=channel, channel=channel, chat_type="direct", sender_id="7")
            for channel in ("telegram", "discord")
        )
        speaker = await a.session_of(here)
        code = re.search(r"/memory link (\S+)", str(await a.command(speaker, "/memory link")))
        assert code
        await b.command(await b.session_of(there), f"/memory link {code[1]}")
        listener = await b.session_of(there)
        assert listener.scope == speaker.scope
        await b.before_reply(listener, "hello")
        await a.after_reply(speaker, user="Remember that the duck is lame.", reply="OK")
        await a.flush()
        await until(lambda: len(listener.pending.inbox))
        assert (await asyncio.to_thread(deletion.delete, Scope.parse(speaker.scope.key))).holds
        assert "duck" not in (await b.before_reply(listener, "how is the duck?")).text


# A server that is away


@pytest.fixture(params=list(POSTGRES))
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Postgres]:
    server = Postgres(POSTGRES[request.param])
    monkeypatch.setenv("GATEWAY_MEMORY_DSN", app_of(server.dsn))
    yield server
    server.remove()


async def test_while_the_server_is_frozen_replies_come_in_time_and_no_turn_is_lost(
    server: Postgres, tmp_path: Path
) -> None:
    assert server.process
    with migrated(server.dsn) as schema:
        async with GatewayMemory(config(schema), tmp_path) as memory:
            session = await memory.start_session("chat", user=OWNER)
            await memory.after_reply(session, user="Remember that the staging port is 8443.", reply="OK")
            await memory.flush()
            other = await memory.start_session("other", user=OWNER)
            stranger = await memory.start_session("other", user="zoe")
            assert "8443" in other.opening
            await memory.search(other, "port")  # the scope is in memory now
            context = await memory.before_reply(other, "hello")
            server.freeze()
            try:
                for number in range(5):
                    async with asyncio.timeout(seconds(30)):  # who waits for the server hangs
                        context = await memory.before_reply(other, "which port does staging use?")
                        assert context.outcome in ("partial", "timeout")
                        await memory.after_reply(other, user=f"Remember that box {number} is green.", reply="OK")
                assert context.outcome == "partial"
                # A host that names its speaker at each message, as the service does.
                assert await memory.start_session("other", user=OWNER) is other
                assert await memory.start_session("other", user="zoe") is stranger
                with pytest.raises(StoreError):
                    await memory.start_session("other", user="ada")
            finally:
                server.thaw()
            async with asyncio.timeout(seconds(60)):
                while len(found := await said(memory)) < 6:
                    await asyncio.sleep(0.2)
            boxes = [words for words in found if "box" in words]
            assert boxes == [f"Remember that box {number} is green." for number in range(5)], "once, in order"
            async with asyncio.timeout(seconds(30)):
                while (await memory.before_reply(other, "which port does staging use?")).outcome != "full":
                    await asyncio.sleep(0.2)


async def said(memory: GatewayMemory) -> list[str]:
    try:
        await memory.flush()
        return [each.user for each in await parts(memory).storage.episodes.all_of("owner", 0, 100)]
    except StoreError:
        return []


async def test_a_restarted_server_needs_no_restart_of_the_host(server: Postgres, tmp_path: Path) -> None:
    with migrated(server.dsn) as schema:
        async with GatewayMemory(config(schema), tmp_path) as memory:
            session = await memory.start_session("chat", user=OWNER)
            await memory.after_reply(session, user="Remember that the red door is locked.", reply="OK")
            await memory.flush()
            await memory.search(session, "door")  # the scope is in memory now
            server.stop()
            assert (await memory.before_reply(session, "which door is locked?")).outcome == "partial", "at once"
            assert await memory.after_reply(session, user="Remember that the lamp is broken.", reply="OK") is not None
            server.start()
            async with asyncio.timeout(seconds(60)):
                while len(await said(memory)) < 2:
                    await asyncio.sleep(0.2)
            async with asyncio.timeout(seconds(30)):
                while not [hit for hit in await memory.search(session, "lamp") if "lamp" in hit.text]:
                    await asyncio.sleep(0.2)


async def test_turns_that_wait_are_sent_by_the_next_process(server: Postgres, tmp_path: Path) -> None:
    with migrated(server.dsn) as schema:
        async with GatewayMemory(config(schema), tmp_path) as memory:
            session = await memory.start_session("chat", user=OWNER)
            server.stop()
            for number in range(3):
                await memory.after_reply(session, user=f"Remember that box {number} is green.", reply="OK")
        with pytest.raises(StoreError, match="can't be reached"):
            async with GatewayMemory(config(schema), tmp_path):
                pass
        server.start()
        async with GatewayMemory(config(schema), tmp_path) as memory, asyncio.timeout(seconds(60)):
            while len(found := await said(memory)) < 3:
                await asyncio.sleep(0.2)
        assert found == [f"Remember that box {number} is green." for number in range(3)]


async def test_an_agent_saves_by_the_command_of_its_rule(schema: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json5"
    store = f'store: {{backend: "postgres", schema: "{schema}"}}, autoRecall: {{embedder: {{provider: "none"}}}}'
    path.write_text(f"{{agents: {{defaults: {{memorySync: {{{store}}}}}}}}}", "utf-8")
    async with GatewayMemory(load_config(path), tmp_path / "host") as memory:
        session = await memory.start_session("chat", user=OWNER)
        rule = memory.rule_text(session)
        (command,) = [line for line in rule.splitlines() if "save-fact" in line]
        words = shlex.split(command.replace("…", "the shed"))
        done = await asyncio.to_thread(subprocess.run, words, check=False, capture_output=True, text=True)
        assert '"ok"' in done.stdout, done.stdout + done.stderr
        assert [hit.text for hit in await memory.search(session, "shed")] == ["the shed"]


# The tables


def test_both_engines_have_the_same_columns(dsn: str, schema: str) -> None:
    here: dict[str, set[str]] = {}
    with sqlite3.connect(":memory:", isolation_level=None) as database:
        apply_steps(database, Path(":memory:"))
        for statement in SCHEMA.read_text("utf-8").split(";"):
            database.execute(statement)
        query = "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'"
        for table, column in database.execute(query):
            here.setdefault(table, set()).add(column)
    there: dict[str, set[str]] = {}
    with psycopg.connect(dsn) as connection:
        query = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = %s"
        for table, column in connection.execute(query, (schema,)).fetchall():
            if not table.startswith("episodes_"):  # partitions
                there.setdefault(table, set()).add(column)
    alone = {"migrations", "sqlite_sequence", "transcript_messages", "shown_memories"}  # the hooks of editors use files
    assert here.keys() - there.keys() == alone - {"migrations"}
    searched_there = {"large", "large_block", "large_word"}  # where the tables of the index are too large for a host
    assert there.keys() - here.keys() == {"hosts", "locks", "documents", "record_files"} | searched_there
    for table in here.keys() - alone:
        assert there[table] - {"rowid"} == here[table], table


def test_the_tables_are_made_once_and_checked(dsn: str, schema: str) -> None:
    assert state_of(dsn, schema).missing == ()
    assert migrate(dsn, schema) == []
    with pytest.raises(StoreError, match="CREATE ROLE"):
        migrate(dsn, schema, app_role="nobody_has_made_it")
    check(dsn, schema)
    with psycopg.connect(dsn, autocommit=True, options=f"-csearch_path={schema}") as connection:
        connection.execute("INSERT INTO migrations VALUES ('9998_column', FALSE)")
        check(dsn, schema)  # a newer version has added something that this one need not know
        connection.execute("INSERT INTO migrations VALUES ('9999_other', TRUE)")
        with pytest.raises(SchemaFromFutureError, match="9999_other"):
            check(dsn, schema)
        connection.execute("DELETE FROM migrations WHERE name < '9'")
        with pytest.raises(StoreError, match="db migrate"):
            check(dsn, schema)


def test_the_shell_makes_and_tells_them(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.json5"
    name = f"shell_{tmp_path.name.lower().replace('-', '_')}"[:40]
    path.write_text(
        f'{{agents: {{defaults: {{memorySync: {{store: {{backend: "postgres", schema: "{name}"}}}}}}}}}}', "utf-8"
    )
    monkeypatch.delenv("GATEWAY_MEMORY_DSN", raising=False)
    assert main(["db", "status", "--config", str(path)]) == 1
    assert "GATEWAY_MEMORY_DSN is not set" in capsys.readouterr().err
    monkeypatch.setenv("GATEWAY_MEMORY_DSN", dsn)
    try:
        assert main(["db", "check", "--config", str(path)]) == 1
        assert "db migrate" in capsys.readouterr().err
        assert main(["db", "migrate", "--config", str(path)]) == 0
        assert "applied 0001_schema" in capsys.readouterr().out
        assert main(["db", "migrate", "--config", str(path)]) == 0
        assert main(["db", "check", "--config", str(path)]) == 0
        assert main(["db", "status", "--config", str(path)]) == 0
        told = capsys.readouterr().out
        assert "memories: 0" in told
        assert "missing: nothing" in told
    finally:
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")


async def test_a_memory_that_finds_no_tables_says_what_to_do(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_MEMORY_DSN", dsn)
    with pytest.raises(StoreError, match="gateway-memory db migrate"):
        async with GatewayMemory(config("nobody_made_it")):
            pass
    monkeypatch.delenv("GATEWAY_MEMORY_DSN")
    with pytest.raises(ConfigError, match="GATEWAY_MEMORY_DSN is not set"):
        async with GatewayMemory(config("nobody_made_it")):
            pass


async def test_an_error_quotes_nothing_that_was_stored(dsn: str, schema: str) -> None:
    connection = PostgresConnection(app_of(dsn), schema=schema)
    await connection.open()
    with pytest.raises(StoreError) as raised:
        await connection.rows("SELECT CAST(? AS INTEGER)", ("my secret",))
    assert "secret" not in str(raised.value)
    assert "22P02" in str(raised.value)
    await connection.close()


@pytest.mark.parametrize(
    ("dsn", "told"),
    [
        ("foo my-password", "connection string of PostgreSQL is not valid.*%20"),
        ("postgresql://memory:my password@127.0.0.1/memory", "not valid|can't be reached"),
        ("postgresql://memory:my-password@127.0.0.1:1/memory", "can't be reached.*127.0.0.1"),
    ],
)
def test_an_operator_is_told_why_the_server_is_not_reached(dsn: str, told: str) -> None:
    with pytest.raises(StoreError, match=told) as error:
        check(dsn, "gateway_memory")
    assert "my-password" not in str(error.value)


def test_who_may_not_migrate_is_told_who_may(dsn: str, schema: str) -> None:
    with pytest.raises(StoreError, match="for the owner of the tables"):
        migrate(app_of(dsn), f"{schema}_other")


async def test_nothing_that_was_sent_stays_in_the_spool(schema: str, tmp_path: Path) -> None:
    async with GatewayMemory(config(schema), tmp_path) as memory:
        session = await memory.start_session("chat", user="zoe")
        await memory.after_reply(session, user="Remember that the orange lamp is broken.", reply="OK")
        await memory.flush()
        async with asyncio.timeout(seconds(10)):
            while any(b"orange lamp" in path.read_bytes() for path in (tmp_path / ".gateway-memory").glob("spool*")):
                await asyncio.sleep(0.05)


async def test_a_turn_that_the_database_refuses_stops_nothing_else(schema: str, tmp_path: Path) -> None:
    entry = "".join(hashlib.sha256(str(number).encode()).hexdigest() for number in range(150))  # longer than an index's
    async with GatewayMemory(config(schema), tmp_path) as memory:
        turns = parts(memory).storage.turns
        before, refused, after = turn(1), replace(turn(2), session_key=entry), turn(3)
        numbers = await asyncio.gather(*map(turns.accept, (before, refused, after)))
        assert numbers[1] == 0
        session = await memory.start_session("chat", user=OWNER)
        await memory.after_reply(session, user="Remember that the ferry leaves at nine.", reply="OK")
        await memory.flush()
        assert [hit.text for hit in await memory.search(session, "ferry", kinds=["memory"])]
        assert memory.metrics.gauges(datetime.now(UTC))["spool.refused"] == 1
        assert memory.metrics.counts["failures.spool"] == 1
        assert memory.metrics.counts["failures.postgres"] == 0, "a server that refuses one statement is not away"
    async with GatewayMemory(config(schema), tmp_path) as memory:
        session = await memory.start_session("again", user=OWNER)
        await memory.after_reply(session, user="Remember that the bakery closes at noon.", reply="OK")
        await memory.flush()
        assert [hit.text for hit in await memory.search(session, "bakery", kinds=["memory"])]
        assert memory.metrics.gauges(datetime.now(UTC))["spool.refused"] == 1, "it is kept, and not sent again"


async def test_names_that_no_index_holds_are_refused_before_anything_is_stored(schema: str, tmp_path: Path) -> None:
    async with GatewayMemory(config(schema), tmp_path) as memory:
        with pytest.raises(UsageError, match="at most 800 bytes"):
            await memory.start_session("钥" * 700, user=OWNER)
        with pytest.raises(UsageError, match="800 bytes"):
            await memory.start_session("chat", user="严" * 4000)
        session = await memory.start_session("钥" * 266, user="严" * 266)
        with pytest.raises(UsageError, match="800 bytes"):
            await memory.after_reply(session, user="hello", reply="hi", turn_id="号" * 300)
        assert await memory.after_reply(session, user="hello", reply="hi", turn_id="号" * 266)
        await memory.flush()


async def test_a_host_that_is_cut_off_in_a_transaction_lets_its_locks_go(schema: str, dsn: str, tmp_path: Path) -> None:
    connection = PostgresConnection(app_of(dsn), schema=schema)
    await connection.open()
    try:
        rows = await connection.read(
            lambda database: database.execute(
                "SELECT current_setting('idle_in_transaction_session_timeout')"
            ).fetchall()
        )
        assert rows == [("10s",)]
    finally:
        await connection.close()


async def test_a_row_of_the_spool_that_is_no_turn_stops_no_other_one(schema: str, tmp_path: Path) -> None:
    async with GatewayMemory(config(schema), tmp_path) as memory:
        session = await memory.start_session("chat", user=OWNER)
        await memory.after_reply(session, user="hello", reply="hi")
    with sqlite3.connect(tmp_path / ".gateway-memory" / "spool.sqlite") as database:
        database.executemany("INSERT INTO waiting (body) VALUES (?)", [("{",), ('{"turn_id": 1}',), ("[]",)])
    async with GatewayMemory(config(schema), tmp_path) as memory:
        session = await memory.start_session("chat", user=OWNER)
        await memory.after_reply(session, user="Remember that the ferry leaves at nine.", reply="OK")
        await memory.flush()
        assert await memory.search(session, "ferry", kinds=["memory"])
        assert memory.metrics.gauges(datetime.now(UTC))["spool.refused"] == 3
