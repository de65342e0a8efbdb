"""What every adapter of `Rows` keeps to: in a file, shared with other processes, in memory and in PostgreSQL."""

import asyncio
import random
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from datetime import UTC
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from postgres import ON_POSTGRES, app_of, migrated

from gateway_memory.store.postgres.connection import in_schema
from recall import (
    EmbedderSettings,
    Entry,
    FileEntries,
    Filter,
    Line,
    PostgresRows,
    Recaller,
    RecallError,
    RecallSettings,
    Rows,
    SearchRequest,
    Stamp,
    erase_scope,
    peek,
)
from recall.rows.sqlite import SqliteRows
from recall.rows.tables import LoadedRow, VectorSpace
from recall.types import RowsBusyError, RowsDamagedError, Stored

STAMP = Stamp(mtime_ns=1, size=2, digest="d")
SPACE = VectorSpace("encoder", 4, 0.1, 0.4)
VECTOR = bytes(8)


@pytest.fixture(params=["file", "memory", *ON_POSTGRES])
def rows(request: pytest.FixtureRequest, tmp_path: Path, postgres_dsn: Callable[[str], str]) -> Iterator[Rows]:
    if request.param.startswith("postgres"):
        dsn = postgres_dsn(request.param.removeprefix("postgres "))
        with migrated(dsn) as schema:
            there = PostgresRows(app_of(dsn), in_schema(schema))
            assert there.open() == "made"
            yield there
            there.close()
        return
    rows = SqliteRows(tmp_path / "index.sqlite" if request.param == "file" else None)
    assert rows.open() == "made"
    yield rows
    rows.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.sqlite"


def entry(number: int, text: str = "", **values: Any) -> Entry:
    return Entry(id=f"i{number}", text=text or f"line {number}", at=float(number), **values)


def put(rows: Rows, *entries: Entry, scope: str = "owner", file: str = "MEMORY.md") -> tuple[list[str], list[str]]:
    """Replace a file; return the ids that were added and removed."""
    change = rows.replace(scope, [FileEntries(name=file, stamp=STAMP, entries=entries)], {})
    return [row.entry.id for row in change.added], [row.entry.id for row in change.removed]


def use(rows: Rows, space: VectorSpace = SPACE) -> None:
    assert rows.use_vector_space(space, 0.0, begins=True)


def texts(rows: Rows, scope: str = "owner") -> list[str]:
    return [stored.entry.text for stored in rows.newest(scope, 1000)]


def all_rows(rows: Rows, scope: str = "owner", limit: int = 1000) -> list[LoadedRow]:
    found: list[LoadedRow] = []
    while page := rows.load(scope, found[-1].sequence if found else -1, limit):
        found += page
    return found


# Replacing


def test_a_file_is_replaced_by_its_entries(rows: Rows) -> None:
    assert put(rows, entry(1), entry(2)) == (["i1", "i2"], [])
    assert texts(rows) == ["line 2", "line 1"], "the last line is the newest"
    assert rows.stamps("owner") == {"MEMORY.md": STAMP}
    assert put(rows, entry(2), entry(3)) == (["i3"], ["i1"])
    assert {stored.entry.id for stored in rows.in_files("owner", ["MEMORY.md"])} == {"i2", "i3"}
    assert rows.replace("owner", [FileEntries(name="MEMORY.md", stamp=None)], {}).added == ()
    assert (texts(rows), rows.stamps("owner"), rows.count("owner")) == ([], {}, 0)


def test_an_unchanged_text_keeps_its_row_and_a_changed_one_gets_another(rows: Rows) -> None:
    put(rows, entry(1), entry(2))
    before = {stored.entry.id: stored.sequence for stored in rows.by_ids("owner", ["i1", "i2"])}
    put(rows, entry(1, importance=0.9), entry(2, "another text"))
    after = {stored.entry.id: stored for stored in rows.by_ids("owner", ["i1", "i2", "unknown"])}
    assert after["i1"].sequence == before["i1"]
    assert after["i1"].entry.importance == 0.9
    assert after["i2"].sequence > max(before.values())


def test_a_row_moves_between_files_with_its_vector(rows: Rows) -> None:
    put(rows, entry(1))
    (stored,) = rows.pending(9)
    use(rows)
    assert rows.put_vectors(SPACE, [(("owner", stored.sequence), VECTOR)]) == frozenset({"owner"})
    assert put(rows, entry(1), file="memory/2026-11-22.md") == ([], [])
    assert put(rows) == ([], []), "it has left before"
    (moved,) = rows.by_ids("owner", ["i1"])
    assert (moved.sequence, moved.file) == (stored.sequence, "memory/2026-11-22.md")
    assert all_rows(rows)[0].vector == VECTOR


def test_several_files_are_replaced_as_if_one_after_the_other(rows: Rows) -> None:
    generator = random.Random(7)  # noqa: S311 - no secret
    for _ in range(40):
        texts_now = {number: generator.choice("abc") for number in range(12)}
        files: dict[str, list[Entry]] = {name: [] for name in generator.sample(["a.md", "b.md", "c.md", "d.md"], 3)}
        for number in generator.sample(range(12), 8):
            name = generator.choice(list(files))
            # What is in another file comes here; what is in none is new in this one alone.
            files[name].append(entry(number, f"{texts_now[number]} {number}"))
        wanted = [
            FileEntries(name=name, stamp=STAMP if entries else None, entries=entries) for name, entries in files.items()
        ]
        together = rows.replace("together", wanted, {})
        alone = [rows.replace("alone", [file], {}) for file in wanted]
        assert ids_of(together.removed) == sorted(chain.from_iterable(ids_of(each.removed) for each in alone))
        assert rows.stamps("together") == rows.stamps("alone")
        here, there = (rows.newest(scope, 99) for scope in ("together", "alone"))
        assert {(row.entry, row.file) for row in here} == {(row.entry, row.file) for row in there}


def ids_of(rows: Sequence[Stored]) -> list[str]:
    return sorted(row.entry.id for row in rows)


def test_a_call_that_raises_changes_nothing(rows: Rows) -> None:
    wrong: Any = object()
    with pytest.raises(RecallError):
        put(rows, entry(1), entry(2, importance=wrong))
    assert (rows.revision("owner"), texts(rows), rows.stamps("owner")) == (0, [], {})
    put(rows, entry(1))
    revision = rows.revision("owner")
    with pytest.raises(RecallError):
        put(rows, entry(3, importance=wrong), entry(1, "changed"))
    assert (rows.revision("owner"), texts(rows)) == (revision, ["line 1"])


@pytest.mark.parametrize("text", ["'; drop table row; --", "\0", "猫🙂", "\ud800 half", "x" * 100_000, " "])
def test_any_text_and_scope_is_kept(rows: Rows, text: str) -> None:
    clean = text.encode("utf-8", "replace").decode()
    if isinstance(rows, PostgresRows):
        clean = clean.replace("\0", "\N{REPLACEMENT CHARACTER}")
    put(rows, entry(1, text), scope=f"user:{clean}")
    assert texts(rows, f"user:{clean}") == [clean]
    assert texts(rows, "user:other") == []


def test_scopes_are_apart(rows: Rows) -> None:
    put(rows, entry(1), scope="a")
    put(rows, entry(1, "of b"), scope="b")
    assert put(rows, entry(2), scope="a") == (["i2"], ["i1"])
    assert (texts(rows, "a"), texts(rows, "b")) == (["line 2"], ["of b"])
    (of_b,) = rows.by_ids("b", ["i1"])
    assert rows.by_sequences("a", [of_b.sequence]) == []


# Revisions


def test_each_commit_raises_the_revision_of_its_scope_alone(rows: Rows) -> None:
    assert rows.revision("owner") == 0
    revisions = []
    for number in range(3):
        put(rows, entry(number))
        revisions.append(rows.revision("owner"))
    assert revisions == sorted(set(revisions))
    use(rows)
    put(rows, entry(9), scope="other")
    before = rows.revision("other")
    rows.put_vectors(SPACE, [(("owner", rows.by_ids("owner", ["i2"])[0].sequence), VECTOR)])
    assert rows.revision("owner") > revisions[-1]
    assert rows.revision("other") == before


def test_what_changed_since_a_revision_is_all_and_nothing_else(rows: Rows) -> None:
    use(rows)
    put(rows, *map(entry, range(4)))
    revision = rows.revision("owner")
    assert rows.changed_since("owner", revision) == (revision, (), (), ())
    sequences = {stored.entry.id: stored.sequence for stored in rows.in_files("owner", ["MEMORY.md"])}
    put(rows, entry(0), entry(1, importance=0.9), entry(2, "changed"), entry(5))
    rows.put_vectors(SPACE, [(("owner", sequences["i0"]), VECTOR)])
    changes = rows.changed_since("owner", revision)
    assert changes is not None
    added = {stored.entry.id: stored.sequence for stored in rows.by_ids("owner", ["i2", "i5"])}
    assert {row.sequence for row in changes.rows} == {sequences["i1"], *added.values()}
    assert set(changes.removed) == {sequences["i2"], sequences["i3"]}
    assert changes.vectors == [(sequences["i0"], VECTOR)]
    assert changes.revision == rows.revision("owner")
    assert [row.sequence for row in changes.rows] == sorted(row.sequence for row in changes.rows)


def test_changes_that_are_no_longer_known_are_none(rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recall.rows.sql._REMOVALS_KEPT", 3)
    put(rows, *map(entry, range(9)))
    put(rows, scope="other")
    revision, other = rows.revision("owner"), rows.revision("other")
    put(rows, *map(entry, range(7)))
    assert rows.changed_since("owner", revision) is not None
    middle = rows.revision("owner")
    put(rows, *map(entry, range(4)))
    assert rows.changed_since("owner", revision) is None
    assert rows.changed_since("owner", middle) is not None
    assert rows.changed_since("other", other) is not None, "nothing of that was forgotten"
    assert rows.changed_since("owner", rows.revision("owner") + 1) is None, "of rows that were replaced"


def test_only_inserted_items_are_new(rows: Rows) -> None:
    put(rows, entry(1), entry(2, kind="paragraph"))
    revision, found = rows.added_since("owner", 0)
    assert [stored.entry.id for stored in found] == ["i1"]
    put(rows, entry(1, importance=0.9), entry(3), entry(4))
    after, found = rows.added_since("owner", revision)
    assert [stored.entry.id for stored in found] == ["i3", "i4"], "the oldest first"
    assert after == rows.revision("owner")
    assert rows.added_since("owner", after) == (after, [])


def test_a_scope_is_loaded_page_by_page(rows: Rows) -> None:
    put(rows, *map(entry, range(10)))
    whole = all_rows(rows)
    assert len(whole) == 10
    assert all_rows(rows, limit=3) == whole
    assert [row.at for row in whole] == sorted(row.at for row in whole)


# Filters, vectors, erasing


def test_filters(rows: Rows) -> None:
    put(
        rows,
        entry(1, type="O", category="fact", session="s"),
        entry(2, type="W"),
        entry(3, type="S"),
        entry(4, kind="paragraph"),
    )

    def listed(**values: Any) -> list[str]:
        return [stored.entry.id for stored in rows.listed("owner", Filter(**values), 9)]

    assert listed() == ["i2", "i1"]
    assert listed(type="O") == listed(category="fact") == listed(session="s") == ["i1"]
    assert listed(since=2.0) == ["i2"]
    assert listed(until=2.0) == ["i1"]
    assert listed(text=rows.by_ids("owner", ["i2"])[0].entry.text) == ["i2"]
    assert listed(text="%") == []
    assert listed(file="nowhere.md") == []
    assert listed(file=rows.by_ids("owner", ["i1"])[0].file) == ["i2", "i1"]
    assert len(rows.matching("owner", Filter())) == 3, "paragraphs too, and no stage summary"
    assert rows.matching("nobody", Filter()) == []


def test_vectors_belong_to_one_encoder(rows: Rows) -> None:
    assert rows.vector_space().name == ""
    use(rows)
    assert rows.vector_space() == SPACE
    put(rows, entry(1), entry(2))
    assert rows.totals() == (2, 2)
    waiting = [stored.sequence for stored in rows.pending(9)]
    assert waiting == sorted(waiting, reverse=True), "the newest first"
    for other in (SPACE._replace(name="other"), SPACE._replace(dimension=5)):
        assert rows.put_vectors(other, [(("owner", waiting[0]), VECTOR)]) is None
    given = [(("owner", waiting[0]), VECTOR), (("owner", 12345), VECTOR)]
    assert rows.put_vectors(SPACE, given) == frozenset({"owner"}), "one is gone"
    assert rows.totals() == (2, 1)
    assert sorted(row.vector or b"" for row in all_rows(rows)) == [b"", VECTOR]
    use(rows, SPACE._replace(name="other"))
    assert rows.totals() == (2, 2)
    assert [row.vector for row in all_rows(rows)] == [None, None], "those are the first encoder's"


def test_each_row_waits_for_a_vector_until_it_has_one(rows: Rows) -> None:
    use(rows)
    put(rows, *(entry(number) for number in range(2500)))
    given = 0
    while waiting := rows.pending(300):
        assert len(waiting) <= 300
        rows.put_vectors(SPACE, [((stored.scope, stored.sequence), VECTOR) for stored in waiting])
        given += len(waiting)
    assert given == 2500
    assert rows.totals() == (2500, 0)


def test_an_erased_scope_is_gone_and_others_stay(rows: Rows) -> None:
    put(rows, entry(1), scope="gone")
    put(rows, entry(1), scope="other")
    rows.erase("gone")
    rows.erase("never there")
    assert (rows.revision("gone"), texts(rows, "gone"), rows.stamps("gone")) == (0, [], {})
    assert texts(rows, "other") == ["line 1"]
    put(rows, entry(2), scope="gone")
    assert texts(rows, "gone") == ["line 2"]


def test_recreated_rows_are_empty_and_can_be_used(rows: Rows) -> None:
    put(rows, entry(1))
    if isinstance(rows, PostgresRows):  # which are shared, and too many to be made again for one that makes no sense
        with pytest.raises(RecallError, match="operator"):
            rows.recreate()
        assert texts(rows) == ["line 1"]
        return
    rows.recreate()
    assert (rows.revision("owner"), texts(rows)) == (0, [])
    put(rows, entry(2))
    assert texts(rows) == ["line 2"]


def test_rows_that_could_not_be_recreated_are_when_it_works_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = SqliteRows(path)
    rows.open()
    put(rows, entry(1))

    def fail(*_: object) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as failing:
        failing.setattr("recall.rows.sqlite.Database._make", fail)
        for work in (rows.recreate, rows.poll, lambda: rows.revision("owner")):
            with pytest.raises(RecallError):
                work()
    assert rows.poll() == "replaced"
    put(rows, entry(2))
    assert texts(rows) == ["line 2"]


def test_before_it_is_opened_and_after_it_is_closed_it_raises(tmp_path: Path) -> None:
    for place in (None, tmp_path / "index.sqlite"):
        rows = SqliteRows(place)
        with pytest.raises(RecallError):
            rows.revision("owner")
        rows.open()
        rows.close()
        with pytest.raises(RecallError):
            put(rows, entry(1))
        with pytest.raises(RecallError):
            rows.poll()


def test_in_memory_nothing_is_on_disk_or_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    one, other = SqliteRows(None), SqliteRows(None)
    one.open()
    other.open()
    put(one, entry(1))
    assert texts(other) == []
    assert (one.poll(), other.poll()) == ("unchanged", "unchanged")
    one.close()
    assert one.open() == "made"
    assert texts(one) == []
    one.close()
    other.close()
    assert list(tmp_path.iterdir()) == []


# Two openers of one file


@pytest.fixture
def two(path: Path) -> Iterator[tuple[SqliteRows, SqliteRows]]:
    one, other = SqliteRows(path), SqliteRows(path)
    assert (one.open(), other.open()) == ("made", "found")
    yield one, other
    one.close()
    other.close()


def test_what_one_writes_the_other_notices_and_finds(two: tuple[SqliteRows, SqliteRows]) -> None:
    one, other = two
    assert other.poll() == "unchanged"
    revision = other.revision("owner")
    put(one, entry(1))
    assert (other.poll(), other.poll(), one.poll()) == ("changed", "unchanged", "unchanged")
    changes = other.changed_since("owner", revision)
    assert changes is not None
    assert len(changes.rows) == 1


def test_while_one_writes_the_other_is_told_that_it_is_busy(two: tuple[SqliteRows, SqliteRows]) -> None:
    one, other = two
    put(one, entry(1))
    with one._database.writing():
        with pytest.raises(RowsBusyError):
            put(other, entry(2))
        assert texts(other) == ["line 1"], "it can read all the same"
    put(other, entry(2))
    assert texts(one) == ["line 2"]


def test_who_follows_by_revision_misses_nothing_of_several_writers(path: Path) -> None:
    writers, commits = 3, 40
    failures: list[BaseException] = []

    def write(number: int) -> None:
        try:
            rows = SqliteRows(path)
            _until_free(rows.open)
            for commit in range(commits):
                own = entry(1000 * number + commit)
                _until_free(lambda own=own: put(rows, own, file=f"{own.id}.md"))  # type: ignore[misc]
            rows.close()
        except BaseException as error:  # noqa: BLE001 - told in the main thread
            failures.append(error)

    reader = SqliteRows(path)
    reader.open()
    threads = [threading.Thread(target=write, args=(number,)) for number in range(writers)]
    for thread in threads:
        thread.start()
    revision, seen, news = 0, set[int](), list[str]()
    told = 0
    while any(thread.is_alive() for thread in threads) or (len(seen) < writers * commits and not failures):
        changes = reader.changed_since("owner", revision)
        assert changes is not None
        assert changes.revision >= revision
        revision = changes.revision
        seen |= {row.sequence for row in changes.rows}
        told, added = reader.added_since("owner", told)
        news += [stored.entry.id for stored in added]
    told, added = reader.added_since("owner", told)
    news += [stored.entry.id for stored in added]
    assert failures == []
    assert len(news) == len(set(news)) == writers * commits
    reader.close()


def _until_free(work: Callable[[], object]) -> None:
    for _ in range(10_000):
        with suppress(RowsBusyError):
            work()
            return
    raise TimeoutError


def test_who_has_it_open_notices_that_it_was_replaced(two: tuple[SqliteRows, SqliteRows]) -> None:
    one, other = two
    put(one, entry(1))
    one.recreate()
    assert other.poll() == "replaced"
    assert texts(other) == []
    put(other, entry(2))
    assert texts(one) == ["line 2"]
    other.recreate()
    assert one.poll() == "replaced"


def test_who_finds_it_replaced_already_does_not_replace_it_again(two: tuple[SqliteRows, SqliteRows]) -> None:
    one, other = two
    one.recreate()
    put(one, entry(1))
    other.recreate()
    assert texts(other) == ["line 1"]


# Damage


@pytest.mark.parametrize("damage", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_no_database_is_made_anew(path: Path, damage: bytes) -> None:
    path.write_bytes(damage)
    rows = SqliteRows(path)
    assert rows.open() in ("made", "repaired")
    put(rows, entry(1))
    assert texts(rows) == ["line 1"]
    rows.close()


def test_a_file_that_changed_while_it_was_closed_is_made_anew(path: Path) -> None:
    rows = SqliteRows(path)
    rows.open()
    put(rows, entry(1))
    rows.close()
    content = bytearray(path.read_bytes())
    content[content.index(b"line 1")] ^= 1
    path.write_bytes(content)
    assert rows.open() == "repaired"
    assert texts(rows) == []
    rows.close()


def test_a_file_of_another_format_is_made_anew(path: Path) -> None:
    rows = SqliteRows(path)
    rows.open()
    rows.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("update meta set value = 'another' where key = 'format'")
    Path(f"{path}.seal").unlink()
    assert rows.open() == "made"
    rows.close()


@pytest.mark.parametrize(
    ("statement", "work"),
    [
        ("update row set text = x'ff', at = 'noon'", texts),
        ("update row set text = cast(x'ff' as text)", texts),
        ("alter table row rename column heading to hfading", texts),
        ("drop table vector", all_rows),
        ("update scope set revision = 'x'", lambda rows: rows.revision("owner")),
        ("insert or replace into meta values ('scale', 'x')", lambda rows: rows.vector_space()),
    ],
)
def test_rows_that_make_no_sense_are_damaged(path: Path, statement: str, work: Callable[[Rows], object]) -> None:
    rows = SqliteRows(path)
    rows.open()
    use(rows)
    put(rows, entry(1))
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(statement)
    with pytest.raises(RowsDamagedError):
        work(rows)
    rows.recreate()
    put(rows, entry(1))
    work(rows)
    assert texts(rows) == ["line 1"]
    rows.close()


def test_only_recalls_errors_come_out_of_flipped_bytes(path: Path) -> None:
    generator = random.Random(7)  # noqa: S311 - no secrets
    rows = SqliteRows(path)
    rows.open()
    use(rows)
    put(rows, *map(entry, range(50)))
    rows.close()
    whole = path.read_bytes()
    for _ in range(60):
        content = bytearray(whole)
        for _ in range(20):
            content[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
        path.write_bytes(content)
        Path(f"{path}.seal").unlink(missing_ok=True)
        rows.open()
        with suppress(RecallError):
            all_rows(rows)
            texts(rows)
            rows.changed_since("owner", 0)
            put(rows, entry(1), entry(99))
            rows.totals()
        with suppress(RecallError):
            rows.close()
        for suffix in ("-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)


# Cancellation, and what reads or erases without an index


@pytest.mark.parametrize("place", ["file", "memory"])
async def test_a_cancelled_write_is_whole_or_nothing(place: str, tmp_path: Path) -> None:
    settings = RecallSettings(embedder=EmbedderSettings(provider="none"))
    recaller = Recaller(tmp_path / "index.sqlite" if place == "file" else None, settings, zone=UTC)
    assert await recaller.open()
    kept = 0
    for number in range(30):
        scope, entries = f"user:{number}", [entry(each) for each in range(200)]
        writing = asyncio.create_task(recaller.replace_file(scope, "MEMORY.md", STAMP, entries))
        await asyncio.sleep(0.001 * number)
        writing.cancel()
        with suppress(asyncio.CancelledError):
            await writing
        assert await recaller.count(scope) in (0, 200)
        kept += await recaller.count(scope) == 200
        await recaller.replace_file(scope, "MEMORY.md", STAMP, entries)
        assert await recaller.count(scope) == 200
        found = await recaller.search(
            SearchRequest(scope=scope, query="line 7", limit=1, min_score=0.0, by_rank=True, now=9.0),
            timeout_seconds=None,
        )
        assert [hit.text for hit in found.hits] == ["line 7"]
    await recaller.close()
    assert kept < 30
    assert (place == "file") == any(tmp_path.iterdir())


def test_a_peek_reads_what_stands_there(path: Path) -> None:
    with pytest.raises(RecallError), peek(path):
        """There is none."""
    assert not path.exists()
    rows = SqliteRows(path)
    rows.open()
    put(rows, entry(1), entry(2, until="2026-01-01"), entry(3, type="S"))
    with peek(path) as index:
        assert index.stamps("owner") == {"MEMORY.md": (1, 2)}
        assert index.lines("owner") == [Line(f"i{each}", f"line {each}", "W", "MEMORY.md", each) for each in (1, 2)]
        assert (index.count("owner"), index.count("nobody")) == (3, 0)
    rows.close()
    path.write_bytes(b"no database")
    with pytest.raises(RecallError), peek(path) as index:
        index.count("owner")


def test_of_an_erased_scope_no_byte_is_left(path: Path) -> None:
    erase_scope(path, "user:zoe")
    assert not path.exists()
    rows = SqliteRows(path)
    rows.open()
    for number in range(50):
        put(rows, entry(number, f"zoes secret {number}"), scope="user:zoe", file=f"{number}.md")
    put(rows, entry(1), scope="other")
    rows.close()
    erase_scope(path, "user:zoe")
    assert not any(word in file.read_bytes() for word in (b"zoe", b"secret") for file in path.parent.iterdir())
    assert rows.open() == "found"
    assert texts(rows, "other") == ["line 1"]
    rows.close()
    path.write_bytes(b"zoes secret")
    erase_scope(path, "user:zoe")
    assert not any(b"zoe" in file.read_bytes() for file in path.parent.iterdir())
