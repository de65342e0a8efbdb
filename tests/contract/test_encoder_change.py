"""A change of the encoder, in every adapter of `Rows` that processes share: by pages, while the old vectors serve."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from postgres import ON_POSTGRES, app_of, migrated

from gateway_memory.store.postgres.connection import in_schema
from recall import Entry, FileEntries, PostgresRows, Rows
from recall.rows.sqlite import SqliteRows
from recall.rows.tables import VectorSpace

OLD = VectorSpace("old", 4, 0.1, 0.4)
NEW = VectorSpace("new", 8, 0.2, 0.5)
THIRD = VectorSpace("third", 2, 0.2, 0.5)
NOW = 1_000_000.0
LATER = NOW + 3600.0


@pytest.fixture(params=["file", *ON_POSTGRES])
def opened(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    postgres_dsn: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[[], Rows]]:
    """Open the same rows again, as another process would. Each goes on at once where another one has stopped."""
    monkeypatch.setattr("recall.rows.postgres._LEFT_SECONDS", 0.0)
    with ExitStack() as stack:
        make: Callable[[], Rows] = lambda: SqliteRows(tmp_path / "index.sqlite")  # noqa: E731
        if request.param.startswith("postgres"):
            dsn = postgres_dsn(request.param.removeprefix("postgres "))
            schema = stack.enter_context(migrated(dsn))
            make = lambda: PostgresRows(app_of(dsn), in_schema(schema))  # noqa: E731

        def another() -> Rows:
            rows = make()
            rows.open()
            stack.callback(rows.close)
            return rows

        yield another


def put(rows: Rows, first: int, number: int) -> None:
    entries = [Entry(id=f"i{each}", text=f"line {each}", at=float(each)) for each in range(first, first + number)]
    rows.replace("owner", [FileEntries(name=f"{first}.md", stamp=None, entries=entries)], {})


def embed(rows: Rows, space: VectorSpace, most: int = 1_000_000, page: int = 40) -> int:
    """Make vectors page by page; return how many were made."""
    made = 0
    while made < most and (waiting := rows.pending(page)):
        vectors = [((stored.scope, stored.sequence), bytes(space.dimension + 4)) for stored in waiting]
        assert rows.put_vectors(space, vectors) is not None
        made += len(waiting)
    return made


def sizes(rows: Rows) -> list[int]:
    """Return the lengths of the vectors that a process reads, 0 for a row without."""
    return [len(row.vector or b"") for row in rows.load("owner", -1, 1000)]


def test_old_vectors_serve_until_the_new_ones_are_there(opened: Callable[[], Rows]) -> None:
    old = opened()
    assert old.use_vector_space(OLD, NOW, begins=True)
    put(old, 0, 100)
    embed(old, OLD)
    new = opened()
    revision = old.revision("owner")
    assert new.use_vector_space(NEW, NOW, begins=True)
    assert new.revision("owner") == revision, "no row was touched"
    assert (old.totals(), new.totals()) == ((100, 0), (100, 100))
    assert embed(new, NEW, 60) == 80
    assert old.vector_space() == OLD
    assert sizes(old) == [8] * 100
    assert sizes(new) == [0] * 20 + [12] * 80, "the newest first"
    assert not new.remove_unused_vectors(LATER), "rows need them"
    again = opened()  # after the process was killed
    assert again.use_vector_space(NEW, NOW, begins=True)
    assert again.totals() == (100, 20)
    assert embed(again, NEW) == 20
    assert not again.remove_unused_vectors(NOW + 60.0), "a process may use them"
    assert sizes(old) == [8] * 100
    while again.remove_unused_vectors(LATER):
        pass
    assert sizes(again) == [12] * 100
    old.vector_space()
    assert old.put_vectors(OLD, [(("owner", 1), bytes(8))]) is None
    assert opened().vector_space() == NEW


def test_two_encoders_take_nothing_from_each_other(opened: Callable[[], Rows]) -> None:
    old, new = opened(), opened()
    assert old.use_vector_space(OLD, NOW, begins=True)
    put(old, 0, 10)
    embed(old, OLD)
    assert new.use_vector_space(NEW, NOW, begins=True)
    embed(new, NEW)
    for step in range(1, 30):
        now = NOW + 100 * step
        assert old.use_vector_space(OLD, now, begins=step % 2 == 0)
        assert new.use_vector_space(NEW, now, begins=step % 3 == 0)
        assert not old.remove_unused_vectors(now)
        assert not new.remove_unused_vectors(now)
        both = [(old, OLD), (new, NEW)]
        writer, other = both if step % 2 else both[::-1]
        put(writer[0], 100 * step, 3)
        assert (embed(*writer), embed(*other)) == (3, 3), "each makes those of what is new, and no others"
    rows = 10 + 29 * 3
    assert (sizes(old), sizes(new)) == ([8] * rows, [12] * rows)


def test_a_third_encoder_takes_the_place_of_the_one_that_serves_less(opened: Callable[[], Rows]) -> None:
    old, new, third = opened(), opened(), opened()
    assert old.use_vector_space(OLD, NOW, begins=True)
    put(old, 0, 50)
    embed(old, OLD)
    assert new.use_vector_space(NEW, NOW, begins=True)
    embed(new, NEW, 20)
    assert not third.use_vector_space(THIRD, NOW, begins=True), "there are two already"
    while not third.use_vector_space(THIRD, NOW, begins=True):
        assert third.remove_unused_vectors(NOW)
    assert not new.use_vector_space(NEW, NOW, begins=False), "its vectors did not serve yet"
    assert new.put_vectors(NEW, [(("owner", 1), bytes(12))]) is None
    assert sizes(old) == [8] * 50
    assert embed(third, THIRD) == 50
    assert sizes(third) == [6] * 50
    while third.remove_unused_vectors(LATER):
        pass
    assert sizes(third) == [6] * 50


def test_what_is_removed_meanwhile_leaves_nothing(opened: Callable[[], Rows]) -> None:
    old, new = opened(), opened()
    assert old.use_vector_space(OLD, NOW, begins=True)
    put(old, 0, 10)
    embed(old, OLD)
    assert new.use_vector_space(NEW, NOW, begins=True)
    embed(new, NEW)
    revision = new.revision("owner")
    old.replace("owner", [FileEntries(name="0.md", stamp=None, entries=())], {})
    assert (old.totals(), new.totals()) == ((0, 0), (0, 0))
    assert (sizes(old), sizes(new)) == ([], [])
    changes = new.changed_since("owner", revision)
    assert changes is not None
    assert (len(changes.removed), changes.vectors) == (10, [])


def test_a_change_that_is_taken_back_leaves_nothing(opened: Callable[[], Rows]) -> None:
    old, new = opened(), opened()
    assert old.use_vector_space(OLD, NOW, begins=True)
    put(old, 0, 30)
    embed(old, OLD)
    assert new.use_vector_space(NEW, NOW, begins=True)
    embed(new, NEW, 10, 10)
    put(new, 100, 5)
    embed(new, NEW, 5, 5)
    new.close()
    assert not old.remove_unused_vectors(LATER), "rows need them"
    assert embed(old, OLD) == 5
    while old.remove_unused_vectors(LATER):
        pass
    assert sizes(old) == [8] * 35
    again = opened()
    assert again.use_vector_space(NEW, LATER, begins=True)
    assert again.totals() == (35, 35)
    assert sizes(again) == [0] * 35


@pytest.mark.slow
@pytest.mark.parametrize("kind", [str(each.values[0]).removeprefix("postgres ") for each in ON_POSTGRES])
def test_no_transaction_of_a_change_touches_many_rows(kind: str, postgres_dsn: Callable[[str], str]) -> None:
    most, page = 60_000, 256
    dsn = postgres_dsn(kind)
    with migrated(dsn) as schema, psycopg.connect(dsn, autocommit=True, options=f"-csearch_path={schema}") as owner:
        _fill(owner, most)
        old, new, again = (PostgresRows(app_of(dsn), in_schema(schema)) for _ in range(3))
        old.open()
        assert old.use_vector_space(OLD, NOW, begins=True)
        new.open()
        assert new.use_vector_space(NEW, NOW, begins=True)
        assert _largest(owner) <= 1, "the change itself"
        assert embed(new, NEW, 2_000, page) == 8 * page
        new.close()
        again.open()
        owner.execute("UPDATE meta SET value = 'killed 0' WHERE key = 'maker 2'")  # half a minute later
        assert again.use_vector_space(NEW, NOW, begins=True)
        assert embed(again, NEW, 2_000, page) == 8 * page, "another host goes on"
        assert old.totals() == (most, 0)
        assert len(old.load("owner", -1, 10)) == 10
        assert again.totals() == (most, most - 16 * page)
        # The rest as a host would, but faster.
        owner.execute("INSERT INTO vector_2 SELECT sequence, scope, 0, '\\x00' FROM \"row\" WHERE embedded = 1")
        owner.execute('UPDATE "row" SET embedded = 3 WHERE embedded = 1')
        owner.execute("TRUNCATE touched")
        while again.remove_unused_vectors(LATER):
            pass
        assert owner.execute("SELECT count(*) FROM vector").fetchone() == (0,)
        assert owner.execute('SELECT count(*) FROM "row" WHERE embedded = 2').fetchone() == (most,)
        assert _largest(owner) <= 1_000
        old.close()
        again.close()


def _fill(owner: psycopg.Connection[tuple[int]], rows: int) -> None:
    """Fill a scope, and count from then on how many rows each transaction touches."""
    owner.execute(
        "INSERT INTO meta VALUES ('encoder', 'old'), ('dimension', '4'), ('scale', '0.1 0.4');"
        "INSERT INTO scope (key, revision) VALUES ('owner', 1);"
        'INSERT INTO "row" (added, revision, scope, file, id, text, at, kind, type, category, importance, confidence, '
        "session, heading, speaker, reply, until, turn, traits, speaker_term, length, terms, embedded) "
        "SELECT 1, 1, key, 'f', 'i' || n, 'line ' || n, n, 'item', 'W', '', 0.5, 1, '', '', '', '', '', 0, 0, 0, "
        f"1, '\\x01000000', 1 FROM scope, generate_series(1, {rows}) AS n;"
        "INSERT INTO vector SELECT sequence, scope, 1, '\\x0000000000000000' FROM \"row\";"
        "CREATE TABLE touched (work XID8, rows BIGINT);"
        "GRANT ALL ON touched TO PUBLIC;"
        "CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "INSERT INTO touched SELECT pg_current_xact_id(), count(*) FROM changed; RETURN NULL; END $$;"
    )
    for table in ('"row"', "vector", "vector_2", "scope"):
        for event, which in (("UPDATE", "NEW"), ("DELETE", "OLD"), ("INSERT", "NEW")):
            owner.execute(
                f"CREATE TRIGGER touched_{event} AFTER {event} ON {table} REFERENCING {which} TABLE AS changed "
                "FOR EACH STATEMENT EXECUTE FUNCTION touch()"
            )
    owner.execute("ANALYZE")


def _largest(owner: psycopg.Connection[tuple[int]]) -> int:
    """Return the most rows that one statement of a host has touched."""
    found = owner.execute("SELECT coalesce(max(rows), 0) FROM touched").fetchone()
    assert found
    return found[0]
