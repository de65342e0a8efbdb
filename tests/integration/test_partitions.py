"""Exchanges in PostgreSQL lie in partitions: old ones go as a whole, and nothing is lost between them."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack

import psycopg
import pytest
from postgres import KINDS, app_of, migrated

from gateway_memory.config.settings import StoreSettings
from gateway_memory.store.journal.episodes import Episode
from gateway_memory.store.journal.store import Store
from gateway_memory.store.postgres.storage import open_shared

pytestmark = [pytest.mark.of_postgres, pytest.mark.slow, pytest.mark.skipif(not KINDS, reason="there is no PostgreSQL")]

SIZE = 4_000_000


@pytest.fixture
def schema(dsn: str) -> Iterator[str]:
    with migrated(dsn) as schema:
        yield schema


@pytest.fixture
async def store(dsn: str, schema: str) -> AsyncIterator[Store]:
    async with AsyncExitStack() as stack:
        yield (await open_shared(stack, app_of(dsn), StoreSettings(schema=schema)))[0]


@pytest.fixture
def owner(dsn: str, schema: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(dsn, autocommit=True, options=f"-csearch_path={schema}") as connection:
        yield connection


def said(number: int, at: float, scope: str = "owner") -> Episode:
    return Episode(
        turn=0, scope=scope, session_key="k", session_id="s", user=f"said {number}", reply=f"told {number}", at=at
    )


def from_turn(owner: psycopg.Connection[tuple[object, ...]], number: int) -> None:
    """Let the next turn have this number."""
    owner.execute(f"ALTER TABLE turns ALTER COLUMN id RESTART WITH {number}".encode())
    owner.execute("INSERT INTO replies VALUES (%s, 'owner', 's', 0, '[]')", (number,))
    owner.execute("SELECT add_episode_partitions(%s)", (number,))


def partitions(owner: psycopg.Connection[tuple[object, ...]]) -> list[str]:
    query = "SELECT relname FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = 'episodes'::regclass"
    return sorted(str(row[0]) for row in owner.execute(query))


async def test_expired_partitions_are_dropped_and_rows_of_others_deleted(
    store: Store, owner: psycopg.Connection[tuple[object, ...]]
) -> None:
    old = await store.episodes.add([said(number, at=10.0, scope=f"user:{number}") for number in range(3)])
    from_turn(owner, SIZE + 1)
    mixed = await store.episodes.add([said(10, at=20.0), said(11, at=40.0)])
    from_turn(owner, 2 * SIZE + 1)
    newest = await store.episodes.add([said(20, at=20.0)])
    pages = {scope: await store.episodes.pages(scope) for scope in ("user:0", "owner")}
    assert partitions(owner) == [f"episodes_{number}" for number in range(4)] + ["episodes_rest"]

    assert await store.episodes.delete_before(30.0) == 5
    assert partitions(owner) == ["episodes_1", "episodes_2", "episodes_3", "episodes_rest"]
    assert [each.turn for each in await store.episodes.all_of("owner", 0, 10)] == [mixed[1]]
    assert await store.episodes.count("user:0") == 0
    # The index follows by the tokens of pages: those of each exchange that is gone are new.
    now = await store.episodes.pages("user:0")
    assert now[old[0] // 64] != pages["user:0"][old[0] // 64]
    assert (await store.episodes.pages("owner"))[newest[0] // 64] != pages["owner"][newest[0] // 64]
    assert await store.episodes.delete_before(30.0) == 0
    assert await store.episodes.add([said(30, at=50.0)])


async def test_a_turn_beyond_all_partitions_is_kept(
    store: Store, owner: psycopg.Connection[tuple[object, ...]]
) -> None:
    owner.execute(f"ALTER TABLE turns ALTER COLUMN id RESTART WITH {50 * SIZE}".encode())
    (turn,) = await store.episodes.add([said(1, at=10.0)])
    assert owner.execute("SELECT turn FROM episodes_rest").fetchall() == [(turn,)]
    await store.turns.tidy(before=0.0, now=0.0)  # which adds partitions, as far as they do not reach into the rest
    assert [each.turn for each in await store.episodes.all_of("owner", 0, 10)] == [turn]
    assert await store.episodes.delete_before(20.0) == 1


def test_a_partition_shows_hosts_nothing(dsn: str, schema: str, owner: psycopg.Connection[tuple[object, ...]]) -> None:
    owner.execute("INSERT INTO episodes VALUES (1, 'owner', 'k', 's', 'said', 'told', 1)")
    with psycopg.connect(app_of(dsn), autocommit=True, options=f"-csearch_path={schema}") as host, host.transaction():
        host.execute("SELECT set_config('gateway_memory.scopes', '{*}', true)")
        assert host.execute("SELECT count(*) FROM episodes").fetchone() == (1,)
        for name in partitions(owner):
            with pytest.raises(psycopg.errors.InsufficientPrivilege), host.transaction():
                host.execute(f"INSERT INTO {name} VALUES (2, 'owner', 'k', 's', 'said', 'told', 1)".encode())
            found = host.execute(f"SELECT count(*) FROM {name}".encode()).fetchone()
            assert found == (0,)
