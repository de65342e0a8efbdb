"""A scope of very many rows is searched in PostgreSQL, where it has pgvector, and answers as one that is in memory."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from zlib import crc32

import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray
from patience import seconds
from postgres import POSTGRES, app_of, migrated

from gateway_memory.scope import resolve_scope
from gateway_memory.store.postgres.connection import in_schema
from gateway_memory.store.postgres.scopes import ScopeTables
from recall import Entry, Filter, PostgresRows, Recall, Recaller, RecallSettings, SearchRequest, Stamp
from recall.encoding.scale import BUNDLED
from recall.rows.postgres_large import LargeRows

STAMP = Stamp(mtime_ns=1, size=2, digest="d")
NOW = 1_700_000_000.0
DAY = 86_400.0
LARGE = 500
LINES = 3_000
NAMES = ["Anna", "Ben", "Chen Wei", "Dora", "Emil", "Fatima", "古丽", "Hugo"]
THINGS = [
    "boat",
    "garden",
    "violin",
    "bakery",
    "visa",
    "server",
    "marathon",
    "kitchen",
    "telescope",
    "猫",
    "合同",
    "机票",
]
DOES = ["sold", "repaired", "painted", "lost", "bought", "moved", "forgot", "planned", "换了", "预订了"]
PLACES = ["Porto", "Oslo", "Lima", "Kyoto", "Quito", "Ghent", "青岛", "大理"]

pytestmark = [
    pytest.mark.of_postgres,
    pytest.mark.slow,
    pytest.mark.skipif("embedded" not in POSTGRES, reason="there is no PostgreSQL with pgvector"),
]


class Words:
    """Vectors of words: texts that share words are near."""

    scale = BUNDLED

    def __init__(self, name: str = "words", dimension: int = 48) -> None:
        self.name = name
        self.dimension = dimension

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        found = np.full((len(texts), self.dimension), 0.1)
        for row, text in enumerate(texts):
            for word in text.split():
                found[row] += np.random.default_rng(crc32(word.encode())).standard_normal(self.dimension)
        vectors: NDArray[np.float32] = (found / np.linalg.norm(found, axis=1)[:, None]).astype(np.float32)
        return vectors

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture(scope="module")
def dsn(postgres_dsn: Callable[[str], str]) -> str:
    with psycopg.connect(found := postgres_dsn("embedded"), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    return found


@pytest.fixture
def schema(dsn: str) -> Iterator[str]:
    with migrated(dsn) as name:
        yield name


@pytest.fixture
def owner(dsn: str, schema: str) -> Iterator[psycopg.Connection[tuple[int]]]:
    """A connection to which no wall applies."""
    with psycopg.connect(dsn, autocommit=True, options=f"-csearch_path={schema}") as connection:
        yield connection


def rows_of(dsn: str, schema: str, large_rows: int = LARGE) -> PostgresRows:
    return PostgresRows(app_of(dsn), in_schema(schema), large_rows=large_rows)


@asynccontextmanager
async def opened(rows: PostgresRows, encoder: Words | None = None) -> AsyncIterator[Recaller]:
    recaller = Recaller(rows, RecallSettings(), zone=None, encoder=lambda: encoder or Words())
    await recaller.open()
    working = asyncio.create_task(recaller.run())
    try:
        await recaller.embedded()
        yield recaller
    finally:
        working.cancel()
        await recaller.close()


def lines(number: int, *, first: int = 0) -> list[Entry]:
    """Return what people said over years: memories, exchanges and preferences."""
    generator = random.Random(first)  # noqa: S311 - no secret
    entries = []
    for each in range(first, first + number):
        who, what, does, where = (generator.choice(among) for among in (NAMES, THINGS, DOES, PLACES))
        text = f"{who} {does} the {what} in {where} for {generator.randint(10, 999)} euros"
        if each % 97 == 0:
            text = f"I prefer short code in Python without comments, since {who} reads it in {where}"
        is_said = each % 3 != 0
        entries.append(
            Entry(
                id=f"i{each}",
                text=text,
                at=NOW - (first + number - each) * DAY / 4,
                kind="episode" if is_said else "item",
                type="W",
                session=f"s{each // 12}",
                turn=each // 2 + 1,
                importance=0.3 if is_said and each % 2 else 0.6,
            )
        )
    return entries


async def filled(recaller: Recaller, scope: str = "owner") -> None:
    for start in range(0, LINES, 500):
        await recaller.replace_file(scope, f"memory/{start:04}.md", STAMP, lines(500, first=start))
    await recaller.embedded()


def large(recaller: Recaller, rows: PostgresRows, scope: str = "owner") -> "asyncio.Future[LargeRows | None]":
    """Ask for a scope, as a search would to which it is too large."""
    thread = recaller._threads[0]
    return asyncio.ensure_future(thread.run(lambda _: rows.large(scope, LINES)))


async def built(recaller: Recaller, rows: PostgresRows) -> LargeRows:
    """Wait until a scope is searched in the database, and all of it is there."""
    async with asyncio.timeout(seconds(60)):
        while True:
            found = await large(recaller, rows)
            if found is not None:
                thread = recaller._threads[0]
                if not await thread.run(lambda _, found=found: [*found.recent()]):  # type: ignore[misc]
                    return found
            await asyncio.sleep(0.05)


async def asked(recaller: Recaller, question: str, **values: object) -> Recall:
    request = SearchRequest(scope="owner", query=question, limit=3, episodes=4, min_score=0.0, by_rank=True, now=NOW)
    return await recaller.search(replace(request, **values), timeout_seconds=None)  # type: ignore[arg-type]


async def made(recaller: Recaller, rows: PostgresRows) -> None:
    """Fill a scope, and wait until it is searched in the database."""
    await filled(recaller)
    await asked(recaller, "the boat")
    await built(recaller, rows)


def graph(owner: psycopg.Connection[tuple[int]], scope: str = "owner") -> str:
    """Return the name of the table that has a scope's vectors."""
    found = owner.execute("SELECT number FROM large WHERE scope = %s", (scope,)).fetchone()
    assert found
    return f"large_vector_{found[0]}"


AFTER: dict[str, object] = {"preceding": ("we spoke of Anna",)}
QUESTIONS: list[tuple[str, dict[str, object]]] = [
    *((f"What has {who} done with the {what}?", {}) for who in NAMES for what in THINGS),
    *((f"who was in {where} and {does} something", AFTER) for where in PLACES for does in DOES),
    ("write a script that renames files", {}),
    ("what happened yesterday", {}),
    ("what did we talk about last week?", {"asked": True}),
    ("the boat in Porto", {"only": Filter(session="s7")}),
    ("the boat in Porto", {"only": Filter(since=NOW - 40 * DAY, until=NOW - 20 * DAY)}),
    ("猫在青岛", {"limit": 10, "episodes": 0}),
    ("nothing that anybody ever said", {"weak": 3}),
    ("hi", {}),
]


async def test_it_answers_as_one_in_memory(dsn: str, schema: str) -> None:
    rows = rows_of(dsn, schema)
    async with opened(rows_of(dsn, schema, 10 * LINES)) as whole, opened(rows) as recaller:
        await filled(whole)
        assert (await asked(recaller, "the boat")).hits, "it is loaded while it is made"
        await built(recaller, rows)
        shared = wanted = 0
        for question, values in QUESTIONS:
            here, there = await asked(recaller, question, **values), await asked(whole, question, **values)
            assert here.outcome == there.outcome
            assert len(here.hits) == len(there.hits)
            shared += len({hit.id for hit in here.hits} & {hit.id for hit in there.hits})
            wanted += len(there.hits)
        assert shared >= 0.98 * wanted > 0, "whose words are many in all rows may miss one of the last places"
        near, others = [await each.nearest("owner", "Anna sold the boat in Lima", 5) for each in (recaller, whole)]
        assert {each.stored.entry.id for each in near} == {each.stored.entry.id for each in others}


async def test_what_is_new_is_found_and_what_is_gone_is_not(dsn: str, schema: str) -> None:
    rows, file = rows_of(dsn, schema), "memory/0000.md"
    async with opened(rows) as recaller, opened(rows_of(dsn, schema)) as other:
        await made(recaller, rows)
        told = Entry(id="new", text="The zeppelin lands on Wednesday", at=NOW)
        kept = lines(500)[1:]
        await other.replace_file("owner", file, STAMP, [*kept, told])  # "i0" has gone
        await other.embedded()
        assert (await asked(recaller, "when does the zeppelin land?")).hits[0].id == "new"
        gone = lines(1)[0].text
        assert "i0" not in [hit.id for hit in (await asked(recaller, gone, limit=20)).hits]
        left = sum("comments" in entry.text for start in range(0, LINES, 500) for entry in lines(500, first=start)) - 1
        async with asyncio.timeout(seconds(30)):
            while await _held_by(recaller, rows, "comments") != left:  # "i0" was one of these
                await asyncio.sleep(0.05)


def _terms(word: str) -> list[int]:
    from recall.text.words import terms_of, tokens_of

    return terms_of(tokens_of(word))


async def _held_by(recaller: Recaller, rows: PostgresRows, word: str) -> int:
    """Return how many rows the lists of the database have for a word."""

    def job(_: object) -> int:
        found = rows.large("owner", LINES)
        assert found
        return sum(len(part) for _, part in found.postings(_terms(word))) // 12

    thread = recaller._threads[0]
    return await thread.run(job)


async def test_vectors_that_come_late_are_found_soon(dsn: str, schema: str) -> None:
    rows = rows_of(dsn, schema)
    async with opened(rows) as recaller:
        await filled(recaller)
        await asked(recaller, "the boat")
        assert (await built(recaller, rows)).size.vectors == LINES
        thread = recaller._threads[0]
        again = await thread.run(
            lambda index: [(("owner", row.sequence), row.vector or b"") for row in index.rows.load("owner", -1, LINES)]
        )
        space = await thread.run(lambda index: index.rows.vector_space())
        await thread.run(lambda index: index.rows.put_vectors(space, again))  # as of a slow server of embeddings
        found = await built(recaller, rows)
        assert await thread.run(lambda _: [*found.recent()]) == []


async def test_the_graph_stays_with_its_vectors_until_they_are_gone(
    dsn: str, schema: str, owner: psycopg.Connection[tuple[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, others = rows_of(dsn, schema), rows_of(dsn, schema)
    async with opened(rows) as recaller:
        await made(recaller, rows)
        before = await recaller.search(
            SearchRequest(scope="owner", query="Anna sold the boat", limit=3, min_score=0, by_rank=True, now=NOW),
            timeout_seconds=None,
        )
        monkeypatch.setattr("recall.rows.postgres._LEFT_SECONDS", 0.0)
        async with opened(others, Words("others", 32)) as other:
            found = await large(other, others)
            assert found is not None, "it is not loaded, but searched by words"
            assert found.size.vectors == 0
            assert (await asked(other, "the boat in Porto")).outcome == "full"
            assert "boat" in (await asked(other, "the boat in Porto")).hits[0].text
            again = await recaller.search(
                SearchRequest(scope="owner", query="Anna sold the boat", limit=3, min_score=0, by_rank=True, now=NOW),
                timeout_seconds=None,
            )
            assert [hit.id for hit in again.hits] == [hit.id for hit in before.hits], "as before the change"
            assert (await large(recaller, rows)).size.vectors == LINES  # type: ignore[union-attr]
    words = owner.execute("SELECT max(block) FROM large_word").fetchone()
    monkeypatch.setattr("recall.rows.sql._UNUSED_SECONDS", -1.0)
    others = rows_of(dsn, schema)
    async with opened(others, Words("others", 32)) as other:
        await asked(other, "the boat")
        async with asyncio.timeout(seconds(60)):
            while (found := await built(other, others)).size.vectors != LINES:
                await asyncio.sleep(0.05)
        assert len(found.size.vector_sum) == 4 * 32
        assert (await asked(other, "the boat in Porto")).outcome == "full"
        thread = other._threads[0]
        assert len(await thread.run(lambda _: _nearest(found))) == 5
    assert owner.execute("SELECT max(block) FROM large_word").fetchone() == words, "the lists of words stay"


def _nearest(found: LargeRows) -> Sequence[int]:
    with found.reading():
        return found.nearest([0.1] * 32, 5, None)


async def test_it_starts_anew_where_removals_are_forgotten(
    dsn: str, schema: str, owner: psycopg.Connection[tuple[int]]
) -> None:
    rows = rows_of(dsn, schema)
    async with opened(rows) as recaller:
        await made(recaller, rows)
        await recaller.replace_file("owner", "memory/0000.md", None, [])
        owner.execute("UPDATE scope SET forgotten = revision")
        async with asyncio.timeout(seconds(60)):
            while owner.execute("SELECT vectors FROM large WHERE ready").fetchone() != (LINES - 500,):
                await large(recaller, rows)
                await asyncio.sleep(0.05)
        await built(recaller, rows)
        assert owner.execute(f"SELECT count(*) FROM {graph(owner)}").fetchone() == (LINES - 500,)
        rows_there = owner.execute("SELECT sum(rows) FROM large_block").fetchone()
        assert rows_there == (LINES - 500,)


async def test_nothing_of_a_deleted_scope_stays(dsn: str, schema: str, owner: psycopg.Connection[tuple[int]]) -> None:
    scope = resolve_scope(user="zoe", room=None)
    tables = ScopeTables(app_of(dsn), schema)
    assert tables.count([scope])["large"] == 0, "also where no graph was ever made"
    rows = rows_of(dsn, schema)
    async with opened(rows) as recaller:
        await filled(recaller)
        await filled(recaller, scope.key)
        for each in ("owner", scope.key):
            await recaller.search(
                SearchRequest(scope=each, query="boat", limit=1, min_score=0, by_rank=True, now=NOW),
                timeout_seconds=None,
            )
            async with asyncio.timeout(seconds(60)):
                while await large(recaller, rows, each) is None:
                    await asyncio.sleep(0.05)
    counts = tables.count([scope])
    assert all(counts[table] > 0 for table in ("large", "large_block", "large_word", graph(owner, scope.key)))
    await asyncio.to_thread(tables.erase, [scope])
    assert not any(tables.count([scope]).values())
    assert owner.execute("SELECT count(*) FROM large").fetchone() == (1,)
    query = "SELECT count(*) FROM pg_tables WHERE starts_with(tablename, 'large_vector') AND schemaname = %s"
    assert owner.execute(query, (schema,)).fetchone() == (1,)
    rows = rows_of(dsn, schema)
    async with opened(rows) as recaller:
        await (thread := recaller._threads[0]).run(lambda _: rows.erase("owner"))
        assert await thread.run(lambda _: rows.large("owner", LINES)) is None
    assert owner.execute("SELECT count(*) FROM large_word").fetchone() == (0,)
    assert owner.execute(query, (schema,)).fetchone() == (0,)


async def test_hosts_see_the_words_and_vectors_of_named_scopes_alone(
    dsn: str, schema: str, owner: psycopg.Connection[tuple[int]]
) -> None:
    rows = rows_of(dsn, schema)
    async with opened(rows) as recaller:
        await made(recaller, rows)
    with psycopg.connect(app_of(dsn), options=f"-csearch_path={schema}") as host:
        for table in ("large", "large_block", "large_word", graph(owner)):
            for name, is_seen in (("{}", False), ("{user:zoe}", False), ("{owner}", True)):
                host.execute("SELECT set_config('gateway_memory.scopes', %s, true)", (name,))
                assert (host.execute(f"SELECT count(*) FROM {table}").fetchone() != (0,)) == is_seen, (table, name)


@pytest.mark.skipif("installed" not in POSTGRES, reason="there is no PostgreSQL without pgvector")
async def test_without_pgvector_it_is_loaded(postgres_dsn: Callable[[str], str]) -> None:
    dsn = postgres_dsn("installed")
    with migrated(dsn) as schema:
        rows = rows_of(dsn, schema)
        async with opened(rows) as recaller:
            await filled(recaller)
            assert (await asked(recaller, "the boat in Porto")).outcome == "full"
            assert await large(recaller, rows) is None
