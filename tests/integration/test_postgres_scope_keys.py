"""The step that names scopes by their keys in every table of PostgreSQL, in a schema that holds a memory already."""

import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from postgres import KINDS, app_of, app_role, fresh_schema
from psycopg import sql
from psycopg.rows import dict_row

from gateway_memory.errors import SchemaFromFutureError
from gateway_memory.store.postgres import schema as schemas
from gateway_memory.store.postgres.connection import in_schema
from gateway_memory.store.postgres.schema import check, migrate
from recall import PostgresRows

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not KINDS, reason="there is no PostgreSQL"),
    pytest.mark.xdist_group("operator"),
]

STEP = "0010_scope_keys"
FILLED = """
INSERT INTO scope (number, key, revision, forgotten) VALUES (7, 'owner', 5, 2), (8, 'user:zoe', 9, 0);
INSERT INTO file VALUES (7, 'MEMORY.md', 1, 1, 'd'), (8, 'MEMORY.md', 2, 2, 'e');
INSERT INTO "row" (sequence, added, revision, scope, file, id, text, at, kind, type, category, importance, confidence,
    session, heading, speaker, reply, until, turn, traits, speaker_term, length, terms, embedded)
    SELECT n, 1, 3, 7 + n % 2, 'MEMORY.md', 'i' || n, 'the bell ' || n, n, 'item', 'W', '', 0.5, 1, '', '', '', '', '',
    0, 0, 0, 1, '\\x01000000', 3 FROM generate_series(1, 40) AS n;
INSERT INTO "row" (sequence, added, revision, scope, file, id, text, at, kind, type, category, importance, confidence,
    session, heading, speaker, reply, until, turn, traits, speaker_term, length, terms, embedded)
    VALUES (99, 1, 1, 12345, 'f', 'lost', 'of a scope that is gone', 1, 'item', 'W', '', 0.5, 1, '', '', '', '', '',
    0, 0, 0, 1, '\\x01000000', 1);
INSERT INTO vector SELECT sequence, scope, 4, '\\x0000000000000000' FROM "row";
INSERT INTO vector_2 SELECT sequence, scope, 4, '\\x00' FROM "row" WHERE scope < 9;
INSERT INTO removed (revision, scope, sequence) VALUES (5, 7, 41), (5, 8, 42);
INSERT INTO large (scope, removals, encoder, dimension, ready) VALUES (8, 0, 'e', 4, TRUE);
INSERT INTO large_block VALUES (8, 40, 20, 20);
INSERT INTO large_word VALUES (8, 1, 40, 20, '\\x00');
INSERT INTO sessions (session_id, key, scope, opened_at)
    VALUES ('s1', 'chat', 'owner', 1), ('s2', 'chat', 'user:zoe', 2);
INSERT INTO told VALUES ('s1', 'j.0', 3), ('s2', 'j.0', 4), ('s2', 'j.1', 5);
INSERT INTO turns (scope, session_key, session_id, "user", reply, at, accepted_at, slot)
    VALUES ('user:zoe', 'chat', 's2', 'said', 'OK', 1, 1, 0), ('owner', 'chat', 's1', 'said', 'OK', 1, 1, 0);
INSERT INTO plans (slot, body) VALUES (0, '{"scope": "user:zoe"}'), (0, 'no JSON');
INSERT INTO replies (turn, scope, session_id, at, recalled)
    SELECT n, 'owner', 's1', 1, '[]' FROM generate_series(1, 9) AS n;
INSERT INTO episodes SELECT n, 'user:zoe', 'chat', 's2', 'said ' || n, 'OK', n FROM generate_series(1, 9) AS n;
INSERT INTO episodes SELECT n, 'owner', 'chat', 's1', 'said ' || n, 'OK', n FROM generate_series(5000000, 5000009) AS n;
INSERT INTO receipts (scope, session_key, stage, turns, outcome, at) VALUES ('owner', 'chat', 'rules', '[1]', '[]', 1);
INSERT INTO history (scope, memory, at, event, other)
    VALUES ('owner', 'i2', 1, 'added', ''), ('owner', 'i2', 2, 'e', '');
INSERT INTO changes VALUES (1, 'owner', '{}', '[]');
INSERT INTO observations (scope, session_id, at, kind, tool, content, private)
    VALUES ('owner', 's1', 1, 'k', '', 'c', FALSE);
INSERT INTO session_memories VALUES ('s1', 'owner', 'i2', 'F', 1);
INSERT INTO unreadable (scope, place, body) VALUES ('owner', 'plans', 'odd');
INSERT INTO events (origin, number, scope, kept_at, body)
    VALUES ('j.0', 1, 'owner', 1, '{}'), ('j.0', 2, 'user:zoe', 1, '{}');
INSERT INTO requests VALUES ('after_reply', 'x', '1', 'owner', 1, 'answer');
"""


@pytest.fixture
def former(dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A schema of the version before, with a memory in it."""
    folder = tmp_path / "steps"
    shutil.copytree(schemas.STEPS.folder, folder)
    for path in folder.glob("*.sql"):
        if path.stem >= STEP:
            path.unlink()
    with fresh_schema(dsn) as schema:
        with monkeypatch.context() as before:
            before.setattr(schemas, "STEPS", replace(schemas.STEPS, folder=folder))
            migrate(dsn, schema, app_role=app_role(dsn))
        with psycopg.connect(dsn, options=f"-csearch_path={schema}") as connection:
            connection.execute(FILLED.encode())
        yield schema


def rows_of(dsn: str, schema: str) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of all tables."""
    with psycopg.connect(dsn, options=f"-csearch_path={schema}", row_factory=dict_row) as connection:
        query = (
            "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace "
            "AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'migrations'"
        )
        names = [row["relname"] for row in connection.execute(query).fetchall()]
        whole = sql.SQL("SELECT * FROM {}")
        return {name: connection.execute(whole.format(sql.Identifier(name))).fetchall() for name in names}


def test_every_row_stays_and_says_whose_it_is(dsn: str, former: str) -> None:
    before = rows_of(dsn, former)
    assert STEP in migrate(dsn, former, app_role=app_role(dsn))
    after = rows_of(dsn, former)
    keys = {row["number"]: row["key"] for row in before["scope"]}
    owners = {row["session_id"]: row["scope"] for row in before["sessions"]}
    made_anew = {"large", "large_block", "large_word"}
    assert [name for name in made_anew if after[name]] == []
    for name in before.keys() - made_anew:
        expected = []
        for row in before[name]:
            scope = row.get("scope")
            if isinstance(scope, int):
                if scope not in keys:
                    continue  # of a scope that is gone
                row["scope"] = keys[scope]
            expected.append({column: value for column, value in row.items() if (name, column) != ("scope", "number")})
        if name == "told":
            expected = [{**row, "scope": owners[row["session_id"]]} for row in expected]
        if name == "plans":
            expected = [{**row, "scope": "user:zoe" if "zoe" in row["body"] else ""} for row in expected]
        assert Counter(map(repr, map(_sorted, after[name]))) == Counter(map(repr, map(_sorted, expected))), name


def _sorted(row: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted(row.items())


def test_a_host_finds_what_was_indexed_and_nothing_of_others(dsn: str, former: str) -> None:
    migrate(dsn, former, app_role=app_role(dsn))
    rows = PostgresRows(app_of(dsn), in_schema(former))
    rows.open()
    try:
        assert rows.revision("user:zoe") == 9
        assert len(rows.load("user:zoe", -1, 100)) == 20
        assert {stored.scope for stored in rows.newest("owner", 100)} == {"owner"}
        rows.erase("user:zoe")
        assert (rows.revision("user:zoe"), len(rows.load("user:zoe", -1, 100))) == (0, 0)
        assert len(rows.load("owner", -1, 100)) == 20
    finally:
        rows.close()
    with psycopg.connect(app_of(dsn), options=f"-csearch_path={former}") as connection:
        connection.execute("SELECT set_config('gateway_memory.scopes', '{user:zoe}', true)")
        for query in ('SELECT DISTINCT scope FROM "row"', "SELECT scope FROM vector", "SELECT scope FROM file"):
            assert connection.execute(query.encode()).fetchall() == []
        assert connection.execute("SELECT scope FROM plans").fetchall() == [("user:zoe",)]


def test_the_version_before_is_refused(dsn: str, former: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    migrate(dsn, former, app_role=app_role(dsn))
    monkeypatch.setattr(schemas, "STEPS", replace(schemas.STEPS, folder=tmp_path / "steps"))
    with pytest.raises(SchemaFromFutureError, match=STEP):
        check(dsn, former)


def test_a_scope_that_comes_again_is_loaded_anew(dsn: str, former: str) -> None:
    migrate(dsn, former, app_role=app_role(dsn))
    with psycopg.connect(dsn, options=f"-csearch_path={former}", autocommit=True) as connection:
        connection.execute("INSERT INTO scope (key) VALUES ('user:ada')")
        ((first, forgotten),) = connection.execute("SELECT revision, forgotten FROM scope WHERE key = 'user:ada'")
        assert first == forgotten
        connection.execute("DELETE FROM scope WHERE key = 'user:ada'")
        connection.execute("INSERT INTO scope (key) VALUES ('user:ada')")
        ((again, forgotten),) = connection.execute("SELECT revision, forgotten FROM scope WHERE key = 'user:ada'")
        assert again == forgotten > first, "a host that knows the first one takes nothing for known"
