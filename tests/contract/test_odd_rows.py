"""A stored text that is no JSON, or JSON of another shape, stops nobody: over each of the adapters."""

import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from postgres import ON_POSTGRES, app_of, migrated

from gateway_memory.config.settings import StoreSettings
from gateway_memory.scope import Scope
from gateway_memory.store.journal.episodes import Episode
from gateway_memory.store.journal.in_place import JournalInPlace
from gateway_memory.store.journal.store import Store
from gateway_memory.store.postgres.scopes import ScopeTables
from gateway_memory.store.postgres.storage import open_shared
from gateway_memory.sync.storage import open_store

ZOE, ADA = "user:zoe", "user:ada"
SAID = "The safe in the hall opens with 4711."
ODD = ("", "{", "[99]", '"user:zoe"', "7", "null", '{"scope": ["user:zoe"]}', '{"scope": "\\ud800"}')
"""Bodies that name no scope. The last one is JSON, and no text that PostgreSQL can take out of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A journal: run is a statement beside the product, erase deletes a scope and returns what is left of it."""

    store: Store
    run: Callable[..., list[Any]]
    erase: Callable[[str], dict[str, int]]


@pytest.fixture(params=["files", *ON_POSTGRES])
async def place(
    request: pytest.FixtureRequest, tmp_path: Path, postgres_dsn: Callable[[str], str]
) -> AsyncIterator[Place]:
    async with AsyncExitStack() as stack:
        if request.param == "files":
            yield Place(
                store=await open_store(stack, tmp_path),
                run=lambda query, *values: _in_file(tmp_path, query, values),
                erase=lambda scope: _erased_in_file(tmp_path, scope),
            )
            return
        dsn = postgres_dsn(request.param.removeprefix("postgres "))
        schema = stack.enter_context(migrated(dsn))

        def run(query: str, *values: object) -> list[Any]:
            with psycopg.connect(dsn, autocommit=True, options=f"-csearch_path={schema}") as connection:
                cursor = connection.execute(query.replace("?", "%s").encode(), values)
                return cursor.fetchall() if cursor.description else []

        def erase(scope: str) -> dict[str, int]:
            tables = ScopeTables(app_of(dsn), schema)
            assert tables.count([Scope.parse(scope)])["plans"]
            tables.erase([Scope.parse(scope)])
            return tables.count([Scope.parse(scope)])

        yield Place(
            store=(await open_shared(stack, app_of(dsn), StoreSettings(schema=schema)))[0], run=run, erase=erase
        )


def _in_file(workspace: Path, query: str, values: tuple[object, ...]) -> list[Any]:
    with closing(sqlite3.connect(workspace / "journal.sqlite", isolation_level=None)) as database:
        return database.execute(query, values).fetchall()


def _erased_in_file(workspace: Path, scope: str) -> dict[str, int]:
    with JournalInPlace.open(workspace) as journal:
        assert journal.count(scope)["plans"]
        journal.erase([scope])
        return journal.count(scope)


async def test_a_person_is_deleted_although_a_plan_is_no_json(place: Place) -> None:
    for body in ODD:
        place.run("INSERT INTO plans (scope, slot, body) VALUES (?, ?, ?)", ADA, 1, body)
        place.run("INSERT INTO plans (scope, slot, body) VALUES (?, ?, ?)", ZOE, 1, body)
    for scope, text in ((ZOE, "said"), (ZOE, "with a NUL: \0"), (ADA, "said")):
        body = json.dumps({"scope": scope, "text": text})
        place.run("INSERT INTO plans (scope, slot, body) VALUES (?, ?, ?)", scope, 1, body)
    assert not any(place.erase(ZOE).values())
    left = [body for (body,) in place.run("SELECT body FROM plans ORDER BY id")]
    assert left == [*ODD, json.dumps({"scope": ADA, "text": "said"})]


async def test_a_link_is_taken_back_although_a_record_is_no_json(place: Place) -> None:
    for whole in ODD:
        place.run("INSERT INTO withheld_records (scope, shown, whole) VALUES (?, ?, ?)", ADA, f"of {whole}", whole)
    await place.store.links.link(ZOE, ADA, 1.0)
    await place.store.links.add_items(ZOE, "record", {"s1": "{}"})
    body = json.dumps({"session_id": "s1", "topic": "\0"})
    place.run("INSERT INTO withheld_records (scope, shown, whole) VALUES (?, 's1', ?)", ADA, body)
    await place.store.links.unlink(ZOE, ADA)
    left = [whole for (whole,) in place.run("SELECT whole FROM withheld_records")]
    assert sorted(left) == sorted(ODD), "what belongs to the session is gone, and nothing else"


async def test_receipts_and_replies_are_found_beside_odd_ones(place: Place) -> None:
    (turn,) = await place.store.episodes.add(
        [Episode(turn=0, scope=ZOE, session_key="k", session_id="s", user="said", reply="OK", at=1.0)]
    )
    row = "INSERT INTO receipts (scope, session_key, stage, turns, outcome, at) VALUES (?, 'k', 'rules', ?, '[]', 1)"
    for turns in (*ODD, '["odd"]', '{"a": 99}', f"[{turn}]"):
        place.run(row, ZOE, turns)
    assert len(await place.store.ledger.receipts(limit=50, turn=turn)) == 1
    row = "INSERT INTO replies (turn, scope, session_id, at, recalled, report) VALUES (?, ?, 's', 1, '[]', ?)"
    for number, report in enumerate((*ODD, '{"outcome": "told"}'), start=1000):
        place.run(row, number, ZOE, report)
    assert [outcome for _, outcome in await place.store.turns.outcomes(ZOE, since=0.0, limit=50)] == ["told"]


async def test_exchanges_expire_although_a_record_is_no_json(place: Place) -> None:
    for whole in ODD:
        place.run("INSERT INTO withheld_records (scope, shown, whole) VALUES (?, ?, ?)", ZOE, f"of {whole}", whole)
    (turn,) = await place.store.episodes.add(
        [Episode(turn=0, scope=ZOE, session_key="k", session_id="s", user=SAID, reply="OK", at=1.0)]
    )
    columns = (
        "scope, id, text, file, type, category, importance, confidence, entities, session_key, at, state, changed_at, "
        "turn, quote"
    )
    place.run(
        f"INSERT INTO memories ({columns}) VALUES (?, 'm', '', '', 'M', 'exchange', 'low', 1, '[]', 'k', 1, "
        "'forgotten', 1, ?, '')",
        ZOE,
        turn,
    )
    assert await place.store.episodes.delete_before(10.0) == 1
