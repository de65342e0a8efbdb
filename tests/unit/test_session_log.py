"""sessions.jsonl: one record a session, whatever stands in the file and whoever else writes it."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_memory.store.disk.records import DiskRecords
from gateway_memory.store.journal import records as session_log
from gateway_memory.store.journal.sqlite import apply_steps
from gateway_memory.store.summaries import DAMAGED_FILE, SESSIONS_FILE, SessionRecord, last_of, line_of, read_records


def newest(path: Path) -> dict[str, Any] | None:
    with path.open("rb") as stream:
        return last_of(stream)


def record(session: str, topic: str = "t") -> SessionRecord:
    return SessionRecord(id=f"sum-{session}", session_id=session, topic=topic, summary="s", timestamp="2026-01-01")


@pytest.fixture
def database() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    apply_steps(connection, Path(":memory:"))
    return connection


def save(database: sqlite3.Connection, path: Path, session: str, scope: str = "owner") -> bool:
    return session_log.save(database, scope, DiskRecords(path), record(session), 1.0)


def test_a_session_is_saved_once_wherever_its_record_stands(database: sqlite3.Connection, tmp_path: Path) -> None:
    path = tmp_path / SESSIONS_FILE
    assert save(database, path, "a")
    assert save(database, path, "b"), "another session's record is the last one now"
    assert not save(database, path, "a")
    assert [item["session_id"] for item in read_records(path)[0]] == ["a", "b"]
    assert database.execute("SELECT number FROM session_counts").fetchall() == [(1,)]


def test_records_that_others_appended_are_known_and_a_lost_index_is_made_again(
    database: sqlite3.Connection, tmp_path: Path
) -> None:
    path = tmp_path / SESSIONS_FILE
    save(database, path, "a")
    with path.open("ab") as stream:
        stream.write(line_of(record("other").fields()))
    assert not save(database, path, "other")
    database.execute("DELETE FROM saved_sessions")
    database.execute("DELETE FROM session_logs")
    assert not save(database, path, "a")


def test_another_file_in_its_place_is_read_from_the_start(database: sqlite3.Connection, tmp_path: Path) -> None:
    path = tmp_path / SESSIONS_FILE
    for name in "abc":
        save(database, path, name)
    path.write_bytes(b"".join(line_of(record(f"imported-{number}").fields()) for number in range(9)))
    assert not save(database, path, "imported-0")
    assert not save(database, path, "imported-8")


def test_a_session_whose_record_was_let_go_stays_saved(database: sqlite3.Connection, tmp_path: Path) -> None:
    path = tmp_path / SESSIONS_FILE
    for number in range(12):
        save(database, path, str(number))
    assert session_log.tidy(database, "owner", DiskRecords(path), keep=5) == 7
    assert [item["session_id"] for item in read_records(path)[0]] == ["7", "8", "9", "10", "11"]
    assert not save(database, path, "0")
    assert not save(database, path, "11")
    assert save(database, path, "12")
    assert session_log.tidy(database, "owner", DiskRecords(path), keep=5) == 1


def test_damaged_lines_are_kept_aside_and_hide_no_record(database: sqlite3.Connection, tmp_path: Path) -> None:
    path = tmp_path / SESSIONS_FILE
    save(database, path, "a")
    with path.open("ab") as stream:
        stream.write(b'{"session_id": "torn", "top')  # a crash in mid-write
    last = newest(path)
    assert last
    assert last["session_id"] == "a"
    assert save(database, path, "b")
    assert session_log.tidy(database, "owner", DiskRecords(path), keep=500) == 0
    records, damaged = read_records(path)
    assert [item["session_id"] for item in records] == ["a", "b"]
    assert damaged == []
    assert (tmp_path / DAMAGED_FILE).read_bytes() == b'{"session_id": "torn", "top\n'


def test_scopes_are_apart(database: sqlite3.Connection, tmp_path: Path) -> None:
    assert save(database, tmp_path / "one" / SESSIONS_FILE, "a", "owner")
    assert save(database, tmp_path / "two" / SESSIONS_FILE, "a", "user:zoe")


def test_a_write_that_fails_leaves_the_file_as_it_was(
    database: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    path = tmp_path / SESSIONS_FILE
    save(database, path, "a")
    before = path.read_bytes()
    write = os.write

    def full(descriptor: int, data: bytes) -> int:
        if len(data) > 20:
            return write(descriptor, data[:20])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, data: full(descriptor, data[:40]))
        with pytest.raises(OSError, match="No space"):
            save(database, path, "b")
    assert path.read_bytes() == before
    assert save(database, path, "b")


LINES = st.lists(
    st.one_of(
        st.binary(max_size=60),
        st.builds(
            lambda name, size: line_of(record(name, "x" * size).fields())[:-1],
            st.text(max_size=5),
            st.integers(0, 20_000),
        ),
        st.just(json.dumps({"session_id": "gone", "deleted_at": "2026"}).encode()),
    ),
    max_size=8,
)


@given(lines=LINES)
def test_the_last_record_read_from_the_end_is_the_last_of_all(
    lines: list[bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("log") / SESSIONS_FILE
    path.write_bytes(b"\n".join(lines))
    standing = [item for item in read_records(path)[0] if not item.get("deleted_at")]
    assert newest(path) == (standing[-1] if standing else None)


def test_no_file_is_no_record(tmp_path: Path) -> None:
    assert read_records(tmp_path / SESSIONS_FILE) == ([], [])
