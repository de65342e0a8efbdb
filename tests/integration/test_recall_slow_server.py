"""A server that is slow is not away: it ends the work itself, and recall goes on with the same connection."""

from collections.abc import Callable, Iterator

import psycopg
import pytest
from patience import seconds
from postgres import KINDS, app_of, migrated

from gateway_memory.store.postgres.connection import in_schema
from recall import Entry, FileEntries, PostgresRows, RecallError, Rows, TimeoutConnection

pytestmark = [pytest.mark.of_postgres, pytest.mark.slow, pytest.mark.skipif(not KINDS, reason="there is no PostgreSQL")]

NAME = "recall that waits"


@pytest.fixture
def schema(dsn: str) -> Iterator[str]:
    with migrated(dsn) as schema:
        yield schema


@pytest.fixture
def rows(dsn: str, schema: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rows]:
    # Whatever ends here, the server has ended it.
    monkeypatch.setattr(TimeoutConnection, "timeout_seconds", seconds(60))
    rows = PostgresRows(app_of(dsn), {**in_schema(schema), "application_name": NAME})
    rows.open()
    rows.replace("owner", [FileEntries(name="MEMORY.md", stamp=None, entries=[Entry(id="1", text="tea", at=1.0)])], {})
    yield rows
    rows.close()


@pytest.fixture
def owner(dsn: str, schema: str) -> Iterator[psycopg.Connection[tuple[int]]]:
    with psycopg.connect(dsn, autocommit=True, options=f"-csearch_path={schema}") as connection:
        yield connection


CALLS: dict[str, Callable[[Rows], object]] = {
    "scope": lambda rows: rows.revision("owner"),
    "meta": lambda rows: rows.vector_space(),
    '"row"': lambda rows: rows.newest("owner", 9),
    "removed": lambda rows: rows.changed_since("owner", rows.revision("owner") - 1),
    "file": lambda rows: rows.replace("owner", [FileEntries(name="other.md", stamp=None)], {}),
}


@pytest.mark.parametrize("table", CALLS)
def test_a_statement_that_takes_long_costs_its_call_alone(
    table: str, rows: Rows, owner: psycopg.Connection[tuple[int]]
) -> None:
    rows.revision("owner")
    before = connections(owner)
    with owner.transaction():
        owner.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(RecallError):
            CALLS[table](rows)
        assert rows.is_current(), "what it knows of the rows is as new as they are"
    CALLS[table](rows)
    assert [stored.entry.text for stored in rows.newest("owner", 9)] == ["tea"]
    assert connections(owner) == before


def test_a_host_that_is_cut_off_leaves_no_transaction(
    rows: PostgresRows, owner: psycopg.Connection[tuple[int]]
) -> None:
    query = "SELECT extract(epoch FROM current_setting('idle_in_transaction_session_timeout')::interval)"
    server = rows._server  # no call of the rows leaves a transaction in the middle
    with server.writing() as connection:
        assert connection.execute(query).fetchall() == [(10,)]
    with server.reading():
        assert server.execute(query).fetchall() == [(10,)]


def connections(owner: psycopg.Connection[tuple[int]]) -> list[tuple[int]]:
    query = "SELECT pid FROM pg_stat_activity WHERE application_name = %s ORDER BY pid"
    return owner.execute(query, (NAME,)).fetchall()
