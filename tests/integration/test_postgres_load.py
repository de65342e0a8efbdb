"""Hosts over PostgreSQL for years: slow is not dead, what is held stops itself alone, and nothing reads it all."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from inside import parts
from patience import until
from postgres import KINDS, app_of, config_of, migrated

from gateway_memory import OWNER, GatewayMemory
from gateway_memory.errors import StoreBusyError, StoreError
from gateway_memory.store.postgres.connection import PostgresConnection

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


@pytest.fixture
async def connection(dsn: str, schema: str) -> AsyncIterator[PostgresConnection]:
    connection = PostgresConnection(app_of(dsn), schema=schema)
    await connection.open()
    yield connection
    await connection.close()


def beside(dsn: str, schema: str) -> psycopg.Connection[Any]:
    """Another connection, of the owner."""
    return psycopg.connect(dsn, options=f"-csearch_path={schema}")


# Slow is not dead


async def test_the_server_ends_what_takes_too_long_and_is_asked_again_at_once(
    connection: PostgresConnection, dsn: str, schema: str
) -> None:
    with pytest.raises(StoreError, match="57014"):
        await connection.rows("SELECT pg_sleep(60)")
    with pytest.raises(StoreError, match="57014"):
        await connection.transact(lambda database: database.execute("SELECT pg_sleep(60)").fetchall())
    assert await connection.rows("SELECT 1") == [(1,)], "no loss of the server"
    with beside(dsn, schema) as other:
        query = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%%pg_sleep(60)%%' AND pid <> pg_backend_pid()"
        assert other.execute(f"{query} AND state = 'active'").fetchall() == [(0,)], "nothing goes on there"


async def test_work_that_nobody_waits_for_may_take_longer(connection: PostgresConnection) -> None:
    assert len(await connection.unhurried.rows("SELECT pg_sleep(1.5)")) == 1
    found = await connection.unhurried.transact(
        lambda database: database.execute("SELECT 1 FROM pg_sleep(1.5)").fetchall()
    )
    assert found == [(1,)]


async def test_a_memory_opens_while_its_tidying_waits(dsn: str, schema: str, tmp_path: Path) -> None:
    with beside(dsn, schema) as other:
        other.execute("LOCK TABLE observations IN ACCESS EXCLUSIVE MODE")
        async with GatewayMemory(config_of(schema), tmp_path) as memory:
            await memory.start_session("chat", user=OWNER)


# What is held stops itself alone


@pytest.mark.parametrize(
    "held",
    [
        "SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || 'session ' || session_id, 0)) FROM sessions",
        "SELECT 1 FROM sessions WHERE key = 'held' FOR UPDATE",
    ],
    ids=["its name", "its row"],
)
async def test_a_session_that_is_held_stops_no_other_one(held: str, dsn: str, schema: str, tmp_path: Path) -> None:
    async with GatewayMemory(config_of(schema), tmp_path) as memory:
        quiet = await memory.start_session("held", user="zoe")
        others = [await memory.start_session(f"s{number}", user=f"u{number}") for number in range(4)]
        await memory.observe(quiet, kind="tool", content="something happened", tool="bash")
        with beside(dsn, schema) as other:
            other.execute(f"{held} WHERE key = 'held'" if "advisory" in held else held)
            waiting = asyncio.create_task(
                memory.after_reply(quiet, user="Remember that the lamp is red.", reply="OK", turn_id="one")
            )
            for number, session in enumerate(others):
                await memory.after_reply(session, user=f"Remember that the box holds {number} eggs.", reply="OK")
            for session in others:
                await until_kept(memory, session, "eggs")
            await waiting
        await until_kept(memory, quiet, "lamp")
        with beside(dsn, schema) as other:
            assert other.execute("SELECT count(*) FROM replies WHERE turn_id = 'one'").fetchall() == [(1,)]


async def test_a_scope_that_is_held_stops_no_other_one(dsn: str, schema: str, tmp_path: Path) -> None:
    async with GatewayMemory(config_of(schema), tmp_path) as memory:
        held = await memory.start_session("held", user="zoe")
        free = await memory.start_session("free", user="yan")
        with beside(dsn, schema) as other:
            other.execute("SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || 'user:zoe', 0))")
            await memory.after_reply(held, user="Remember that the lamp is red.", reply="OK")
            await memory.after_reply(free, user="Remember that the bell is blue.", reply="OK")
            await until_kept(memory, free, "bell")
            assert not await memory.search(held, "lamp", kinds=["memory"])
        await until_kept(memory, held, "lamp")


async def until_kept(memory: GatewayMemory, session: Any, word: str) -> None:
    """Wait until a session's memory has something of a word."""
    for _ in range(600):
        if await memory.search(session, word, kinds=["memory"]):
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{word} was not kept")


async def test_who_does_not_wait_is_told_that_it_is_held(connection: PostgresConnection, dsn: str, schema: str) -> None:
    with beside(dsn, schema) as other:
        other.execute("SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || 'one', 0))")
        with pytest.raises(StoreBusyError):
            await connection.transact(lambda _: None, exclusive=["one"], waits=False)
        assert await connection.transact(lambda _: 1, exclusive=["two"], waits=False) == 1


# Nothing reads it all


async def idle(_: Any) -> None:
    """In the place of the hourly tidying, which would come between."""


async def test_of_each_person_the_newest_rows_stay(
    dsn: str, schema: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway_memory.capture.retention.Retention.keep", idle)
    async with GatewayMemory(config_of(schema), tmp_path) as memory:
        with beside(dsn, schema) as other:
            for scope, start, number in (("user:quiet", 1, 10), ("user:loud", 1_000_000, 130_000)):
                other.execute(
                    "INSERT INTO replies (turn, scope, session_id, at, recalled) "
                    "SELECT n, %s, 's', 0, '[]' FROM generate_series(%s::bigint, %s::bigint) AS n",
                    (scope, start, start + number - 1),
                )
            other.commit()
            await parts(memory).storage.turns.tidy(before=0.0, now=1e10)
            found = dict(other.execute("SELECT scope, count(*) FROM replies GROUP BY scope").fetchall())
            assert found == {"user:quiet": 10, "user:loud": 20_000}
        assert memory.metrics.counts["failures.postgres"] == 0


async def test_sessions_are_counted_as_they_change(dsn: str, schema: str, tmp_path: Path) -> None:
    async with GatewayMemory(config_of(schema), tmp_path) as memory:
        sessions = [await memory.start_session(f"s{number}", user="zoe") for number in range(3)]
        await memory.after_reply(sessions[0], user="Remember that the lamp is red.", reply="OK")
        await memory.end_session(sessions[0], reason="completed")
        await memory.end_session(sessions[1], reason="completed")
        counts = await memory.session_counts()
        with beside(dsn, schema) as other:
            ((opened, ended),) = other.execute(
                "SELECT count(*) FILTER (WHERE ended_at IS NULL), count(*) FILTER (WHERE ended_at > 0) FROM sessions"
            ).fetchall()
            query = "SELECT 'state.' || state, count(*) FROM sessions WHERE state <> '' GROUP BY 1"
            states = dict(other.execute(query).fetchall())
            assert (counts["open"], counts["ended"]) == (opened, ended) == (1, 2)
            assert {name: number for name, number in counts.items() if name.startswith("state.")} == states
            other.execute("DELETE FROM sessions WHERE key = 's1'")
            other.execute(
                "INSERT INTO sessions (session_id, key, scope, opened_at) "
                "SELECT 'x' || n, 'x', 'user:' || n, 0 FROM generate_series(1, 1000) AS n"
            )
        counts = await memory.session_counts()
        assert (counts["open"], counts["ended"]) == (1001, 1)


_PEOPLE = 1000
_EACH = 40
_FILL = f"""
CREATE TEMP TABLE turns_of AS SELECT n AS turn, 'user:p' || n % {_PEOPLE} AS scope, 'k' || n % {_PEOPLE} AS key,
    's' || n AS session, 1.0e9 + n AS at FROM generate_series(1, {_PEOPLE * _EACH}) AS n;
INSERT INTO sessions (session_id, key, scope, opened_at, ended_at, state, seen_at)
    SELECT session, key, scope, at, at + 1, 'saved', at FROM turns_of;
INSERT INTO episodes (turn, scope, session_key, session_id, "user", reply, at)
    SELECT turn, scope, key, session, 'the ferry leaves at ' || turn, 'OK', at FROM turns_of;
INSERT INTO episode_pages SELECT DISTINCT scope, turn / 64, 'token', FALSE FROM turns_of;
INSERT INTO replies (turn, scope, session_id, at, recalled, session_key, turn_id, report)
    SELECT turn, scope, session, at, '[]', key, 't' || turn, '' FROM turns_of;
INSERT INTO receipts (scope, session_key, stage, turns, outcome, at)
    SELECT scope, key, 'rules', '[' || turn || ']', '[]', at FROM turns_of;
INSERT INTO memories (scope, id, text, file, type, category, importance, confidence, entities, session_key, at, state,
    changed_at, turn) SELECT scope, substr(md5(turn::text), 1, 8), 'the lamp ' || turn || ' is red',
    'memory/2026-01-' || lpad((1 + turn % 28)::text, 2, '0') || '.md', 'F', 'fact', 'medium', 0.9, '[]', key, at,
    'active', at, turn FROM turns_of;
INSERT INTO history (scope, memory, at, event, other)
    SELECT scope, substr(md5(turn::text), 1, 8), at, 'added', '' FROM turns_of;
INSERT INTO changes SELECT turn, scope, '{{}}', '[]' FROM turns_of WHERE turn % {_PEOPLE} <> 7;
INSERT INTO session_memories SELECT session, scope, substr(md5(turn::text), 1, 8), 'F', at FROM turns_of;
INSERT INTO saved_sessions SELECT scope, session, 'end', at FROM turns_of;
INSERT INTO observations (scope, session_id, at, kind, tool, content, private)
    SELECT scope, session, at, 'tool', 'bash', 'it happened', FALSE FROM turns_of;
INSERT INTO events (origin, number, scope, kept_at, body)
    SELECT 'other.0', turn, scope, at, '{{"v":1,"scope":"x","at":0,"changes":[]}}' FROM turns_of;
INSERT INTO uses SELECT scope, substr(md5(turn::text), 1, 8), '2026-01-01', 1, 0 FROM turns_of;
INSERT INTO feedback SELECT scope, turn, '', 'useful', at FROM turns_of;
INSERT INTO requests (call, caller, id, scope, at, answer) SELECT 'after_reply', 'x', turn::text, scope, at, '1'
    FROM turns_of;
INSERT INTO told SELECT session, 'other.0', turn, scope FROM turns_of;
INSERT INTO documents SELECT 'people/p' || n % {_PEOPLE}, 'memory/2026-01-' || n || '.md', '- a line', n
    FROM generate_series(1, 20000) AS n;
INSERT INTO links SELECT 'user:l' || n, 'user:p' || n % {_PEOPLE}, 0 FROM generate_series(1, 20000) AS n;
INSERT INTO marks SELECT 'user:m' || n, 'welcome', TRUE FROM generate_series(1, 20000) AS n;
INSERT INTO scope (key) SELECT 'user:p' || n % {_PEOPLE} FROM generate_series(0, {_PEOPLE - 1}) AS n;
INSERT INTO "row" (added, revision, scope, file, id, text, at, kind, type, category, importance, confidence, session,
    heading, speaker, reply, until, turn, traits, speaker_term, length, terms, embedded)
    SELECT turn, 0, scope, 'memory/2026-01-01.md', 'r' || turn, 'the lamp is red', at, 'item', 'F', 'fact',
    0.5, 0.9, '', '', '', '', '', turn, 0, 0, 4, '', 1 FROM turns_of WHERE turn % {_PEOPLE} <> 7;
SELECT setval('turns_id_seq', 1000000);
"""


async def test_ordinary_calls_read_no_table_that_grows(
    dsn: str, schema: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the server counts the rows that it reads: those of everybody by no call, those of one person by most."""
    with beside(dsn, schema) as other:
        other.execute(_FILL)
        other.commit()
        other.autocommit = True
        other.execute("VACUUM ANALYZE")
        other.execute("SELECT pg_stat_force_next_flush()")  # an analysis counts as a reader too
        read = (
            "SELECT t.relname, t.seq_tup_read, coalesce(sum(i.idx_tup_read), 0)::bigint FROM pg_stat_user_tables t "
            "LEFT JOIN pg_stat_user_indexes i ON i.relid = t.relid WHERE t.schemaname = %s AND t.n_live_tup > 10000 "
            "GROUP BY t.relname, t.seq_tup_read"
        )

        def counted() -> dict[str, tuple[int, int]]:
            other.execute("SELECT pg_stat_clear_snapshot()")
            return {str(table): (seq, index) for table, seq, index in other.execute(read, (schema,)).fetchall()}

        await until(lambda: len(counted()) > 15, "the server's statistics")

        # Once an hour it reads more, on a connection of its own.
        monkeypatch.setattr("gateway_memory.capture.retention.Retention.keep", idle)
        before = counted()
        async with GatewayMemory(config_of(schema), tmp_path) as memory:
            session = await memory.start_session("k7", user="p7")
            await memory.before_reply(session, "When does the ferry leave?")
            await memory.after_reply(session, user="Remember that the bell is blue.", reply="OK", turn_id="new")
            await memory.observe(session, kind="tool", content="it happened", tool="bash")
            await memory.flush()
            await memory.save_fact(session, content="The door is green.")
            assert await memory.search(session, "bell")
            for command in ("why", "status", "list", "undo", "history", "receipts"):
                assert await memory.command(session, f"/memory {command}"), command
            await memory.end_session(session, reason="completed")
            await memory.session_counts()
        # A connection that has ended has told what it has read.
        hosts = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'gateway-memory'"
        await until(lambda: other.execute(hosts).fetchone() == (0,), "the end of all connections")
        after = counted()
    grown = {table: [b - a for a, b in zip(before[table], after[table], strict=True)] for table in before}
    whole = {table: numbers for table, numbers in grown.items() if numbers[0] or numbers[1] >= _PEOPLE * _EACH / 2}
    assert not whole, "rows that were read: in order, by an index"
