"""The turns that wait for a gateway's memory: many threads and processes save them into one file, and none is lost."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gateway_memory.connect.in_process import LONGEST_TEXT, Waiting


def turn(identity: str, user: str = "hello", reply: str = "yes") -> dict[str, Any]:
    return {"id": identity, "user": user, "reply": reply}


def stored(file: Path) -> list[str]:
    return [json.loads(line)["id"] for line in file.read_text("utf-8").splitlines()] if file.exists() else []


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "waiting.jsonl"


@pytest.mark.lengthy
def test_many_threads_save_into_one_file(file: Path) -> None:
    waiting = Waiting(file)

    def one(number: int) -> None:
        waiting.add(turn(f"t{number}"))
        waiting.save()
        assert f"t{number}" in stored(file), "it is on disk when save returns"

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(one, range(600)))
    assert sorted(stored(file)) == sorted(f"t{number}" for number in range(600))
    while waiting:
        waiting.done()
    waiting.save()
    assert not file.exists()
    assert [path.name for path in file.parent.iterdir()] == ["waiting.lock"], "no temporary file stays"


def test_two_processes_on_one_file_keep_each_other_s_turns(file: Path) -> None:
    first, second = Waiting(file), Waiting(file)
    first.add(turn("a"))
    first.save()
    second.add(turn("b"))
    second.save()
    assert stored(file) == ["a", "b"]
    first.done()
    first.save()
    assert stored(file) == ["b"]
    third = Waiting(file)
    third.load()
    assert third.first["id"] == "b"


def test_a_turn_that_the_memory_took_does_not_stand_in_the_file_again(file: Path) -> None:
    waiting = Waiting(file)
    waiting.add(turn("a"))
    waiting.save()
    waiting.done()
    waiting.add(turn("b"))
    waiting.save()
    assert stored(file) == ["b"]


def test_a_line_that_was_cut_off_is_left_out(file: Path) -> None:
    file.write_text(json.dumps(turn("a")) + '\n{"id": "b", "us', "utf-8")
    waiting = Waiting(file)
    waiting.load()
    assert (len(waiting), waiting.first["id"]) == (1, "a")


def test_half_an_emoji_waits_as_any_other_text(file: Path) -> None:
    waiting = Waiting(file)
    waiting.add(turn("a", "the bell \ud83d is broken"))
    waiting.save()
    after = Waiting(file)
    after.load()
    assert after.first["user"] == "the bell \ud83d is broken"


def test_a_text_that_would_wait_for_ever_is_cut_and_says_so(file: Path) -> None:
    waiting = Waiting(file)
    assert waiting.add(turn("a", "x" * LONGEST_TEXT)) == 0
    assert waiting.add(turn("b", "x" * (LONGEST_TEXT + 7))) == 7
    waiting.done()
    assert "7 more characters were too long" in waiting.first["user"]


def test_a_file_that_cannot_be_written_keeps_the_turns_in_memory(file: Path) -> None:
    waiting = Waiting(file.parent / "missing" / file.name)
    waiting.add(turn("a"))
    with pytest.raises(OSError, match="No such file"):
        waiting.save()
    assert len(waiting) == 1
    file.parent.joinpath("missing").mkdir()
    waiting.save()
    assert stored(file.parent / "missing" / file.name) == ["a"]
