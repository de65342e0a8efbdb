"""Other tools append to our files, and save over them, while we write: nothing is lost, nothing stands there twice."""

import asyncio
import os
import subprocess
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import IO

import pytest
from patience import seconds
from thorough import amount

from gateway_memory.scope import OWNER_SCOPE
from gateway_memory.store.disk import replacing
from gateway_memory.store.disk.files import MarkdownFiles
from gateway_memory.store.document_store import Edits, FileEdit
from gateway_memory.store.markdown import Addition, parse

SCRIPT = Path(__file__).parents[1] / "programs" / "appending.py"
LINES = amount(1500, 20_000)


@pytest.fixture
def files(tmp_path: Path) -> MarkdownFiles:
    (tmp_path / "state").mkdir()
    return MarkdownFiles(tmp_path, tmp_path / "state")


async def write_while(tool: subprocess.Popen[bytes], files: MarkdownFiles, file: str) -> int:
    """Add lines, and remove some again, for as long as the other tool runs."""
    number = 0
    while tool.poll() is None:
        edit = FileEdit(
            file=file,
            add=(Addition(id=f"ours{number:06d}", text=f"our line {number}"),),
            remove=(f"ours{number - 2:06d}",) if number % 3 == 2 else (),
        )
        async with files.writing(OWNER_SCOPE):
            await files.edit(OWNER_SCOPE, [edit])
        if number % 50 == 0:
            await files.scan(OWNER_SCOPE)
        number += 1
    return number


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["open", "hold", "slow"])
@pytest.mark.parametrize("seconds", [0.003, 0.0002])
async def test_lines_that_another_tool_appends_all_stand_there_once(
    files: MarkdownFiles, tmp_path: Path, mode: str, seconds: float
) -> None:
    number = LINES if seconds < 0.001 else LINES // 3
    path = tmp_path / "MEMORY.md"
    path.write_text("# Memory\n\n- mine\n")
    command = [sys.executable, str(SCRIPT), str(path), str(number), str(seconds), mode]
    with subprocess.Popen(command) as tool:
        ours = await write_while(tool, files, "MEMORY.md")
    files.close()
    found = Counter(path.read_text("utf-8").splitlines())
    assert ours > 10
    assert found["- mine"] == 1
    if mode != "slow":  # a line of which half stood there when the file was replaced stays in two halves
        wrong = {count for count in range(number) if found[f"- another tool's line {count}."] != 1}
        assert not wrong
    text = path.read_text("utf-8")
    assert sum(len(line) + 1 for line in found.elements() if "gm:" not in line) >= sum(
        len(f"- another tool's line {count}.\n") for count in range(number)
    )
    ids = {block.id for block in parse(text, file="MEMORY.md") if block.marked}
    removed = {f"ours{count - 2:06d}" for count in range(2, ours, 3)}
    assert ids == {f"ours{count:06d}" for count in range(ours)} - removed
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]


async def test_what_was_replaced_does_not_stay_where_nobody_looks(files: MarkdownFiles, tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_text("- mine\n")
    async with files.writing(OWNER_SCOPE):
        await files.edit(OWNER_SCOPE, [OURS])
    async with asyncio.timeout(seconds(30)):
        while list(tmp_path.glob(".*.kept")):
            await asyncio.sleep(0.05)
    files.close()


def test_a_file_of_lines_and_its_folder_outlive_a_power_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their names are synced once, when they are made."""
    synced: list[Path] = []
    monkeypatch.setattr("gateway_memory.store.disk.workspace.persist", synced.append)
    monkeypatch.setattr(replacing, "persist", synced.append)
    path = tmp_path / "people" / "zoe" / "sessions.jsonl"
    replacing.append(path, b"{}\n")
    assert synced == [tmp_path, tmp_path / "people", path.parent]
    replacing.append(path, b"{}\n")
    assert len(synced) == 3


async def test_records_that_another_tool_appends_survive_a_tidying(tmp_path: Path) -> None:
    path = tmp_path / "sessions.jsonl"
    command = [sys.executable, str(SCRIPT), str(path), str(LINES), "0.0005", "open"]
    with subprocess.Popen(command) as tool:
        while tool.poll() is None:
            replacing.rewrite(path, lambda content: (content or b"") + b'{"session_id": "ours"}\n')
            replacing.append(path, b'{"session_id": "ours"}\n')
            await asyncio.sleep(0)
    replacing.settle(closing=True)
    found = Counter(path.read_text("utf-8").splitlines())
    assert not {count for count in range(LINES) if found[f'{{"session_id": "other-{count}"}}'] != 1}


def edited(path: Path, edit: FileEdit) -> str:
    replacing.rewrite(path, partial(Edits([edit]).apply, edit.file))
    replacing.settle(closing=True)
    return path.read_text("utf-8")


OURS = FileEdit(file="MEMORY.md", add=(Addition(id="ours000001", text="ours"),))


SAVED = "# Memory\n\n- yours\n- late\n"


def do_at_once(way: str, path: Path, held: IO[str]) -> None:
    """Do what another tool may do in the moment before the exchange. `held`: the file, as it was open before."""
    if way == "appended":
        with path.open("a") as stream:
            stream.write("- late\n")
    elif way == "deleted":
        path.unlink(missing_ok=True)
    elif way == "saved":
        other = path.with_name("other")
        other.write_text(SAVED)
        other.replace(path)
    else:
        held.seek(0)
        held.truncate()
        held.write(SAVED if way == "saved in place" else "")
        held.flush()


@pytest.mark.parametrize("way", ["appended", "saved", "saved in place", "deleted", "truncated first"])
@pytest.mark.parametrize("made", [True, False])
def test_what_is_written_in_the_very_moment_of_the_exchange_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, *, made: bool
) -> None:
    path = tmp_path / "MEMORY.md"
    if made:
        path.write_text("# Memory\n\n- mine\n- yours\n")
    rename, keep = replacing.rename, replacing._keep
    done: list[str] = []
    held = path.open("r+") if made else (tmp_path / "unused").open("w")

    def just_before(source: Path, target: Path, *, exchange: bool) -> None:
        if not done:
            done.append(way)
            do_at_once(way, path, held)
        rename(source, target, exchange=exchange)

    def just_after(target: Path, kept: Path) -> replacing._Replaced | None:
        found = keep(target, kept)
        if way == "truncated first" and not held.closed:
            held.write(SAVED)
            held.close()
        return found

    monkeypatch.setattr(replacing, "rename", just_before)
    monkeypatch.setattr(replacing, "_keep", just_after)
    with held:
        lines = edited(path, OURS).splitlines()
    assert done
    assert sum("gm:ours000001" in line for line in lines) == 1
    assert lines.count("- late") == (way != "deleted" and (made or way in ("appended", "saved")))
    assert lines.count("- yours") == ((made and way != "deleted") or way == "saved")
    assert lines.count("- mine") == (made and way == "appended"), "where they saved it without, it is gone"
    replacing.settle(closing=True)
    assert not list(tmp_path.glob(".*"))


def test_a_line_completed_in_the_very_moment_of_the_exchange_stays_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sessions.jsonl"
    path.write_bytes(b"one\nof which ha")
    rename = replacing.rename
    done: list[int] = []
    with path.open("ab", buffering=0) as held:

        def just_before(source: Path, target: Path, *, exchange: bool) -> None:
            if not done:
                done.append(held.write(b"lf was missing\n"))
            rename(source, target, exchange=exchange)

        monkeypatch.setattr(replacing, "rename", just_before)
        replacing.rewrite(path, lambda content: b"ours\n" + (content or b""))
    replacing.settle(closing=True)
    assert path.read_text().splitlines() == ["ours", "one", "of which half was missing"]


def test_lines_completed_at_each_of_several_exchanges_are_all_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sessions.jsonl"
    path.write_bytes(b"one\nhalf of tw")
    rename = replacing.rename
    parts = [b"o\n", b"half of thr", b"ee\n"]
    held = path.open("ab", buffering=0)

    def just_before(source: Path, target: Path, *, exchange: bool) -> None:
        nonlocal held
        if parts:
            held.write(parts.pop(0))
        rename(source, target, exchange=exchange)
        if len(parts) == 2:
            held.close()
            held = path.open("ab", buffering=0)  # the next line goes to the new file

    monkeypatch.setattr(replacing, "rename", just_before)
    replacing.rewrite(path, lambda content: b"ours\n" + (content or b""))
    held.write(b"".join(parts))
    held.close()
    replacing.settle(closing=True)
    lines = path.read_text().splitlines()
    assert lines[:3] == ["ours", "one", "half of two"]
    assert "".join(lines[3:]) == "half of three"


def test_a_line_that_is_being_written_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "sessions.jsonl"
    path.write_bytes(b"one\nof which ha")
    with path.open("ab", buffering=0) as held:
        rest = [b"lf was missing\n"]
        monkeypatch.setattr(time, "sleep", lambda _: rest and held.write(rest.pop()))
        replacing.rewrite(path, lambda content: (content or b"") + b"ours\n")
    replacing.settle(closing=True)
    assert path.read_text().splitlines() == ["one", "of which half was missing", "ours"]


def test_what_a_tool_writes_much_later_into_the_old_file_is_found_at_the_next_look(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_text("- mine\n")
    with path.open("a", buffering=1) as held:
        edited(path, OURS)
        for number in range(3):
            held.write(f"- late {number}\n")
            replacing.settle()
            assert f"- late {number}" in path.read_text().splitlines()
        held.write("- a line of which ha")
        held.flush()
        replacing.settle()
        assert "of which" not in path.read_text()
        held.write("lf was missing\n")
    replacing.settle(closing=True)
    lines = path.read_text().splitlines()
    assert [line for line in lines if "gm:" not in line] == [
        "- mine", "- late 0", "- late 1", "- late 2", "- a line of which half was missing",
    ]  # fmt: skip
    assert not list(tmp_path.glob(".*"))


def test_a_process_that_dies_leaves_what_is_late_to_the_next(tmp_path: Path) -> None:
    program = """
import os, sys
from pathlib import Path
from typing import IO
from gateway_memory.store.disk import replacing
path = Path(sys.argv[1])
held = path.open("a", buffering=1)
replacing.rewrite(path, lambda content: b"- new\\n" + content)
held.write("- late 1\\n")
replacing.settle()
held.write("- late 2\\n")
path.with_name(".fffffff-2.tmp").write_text("a draft that was never finished")
path.with_name(".MEMORY.md.abcd1234.tmp").write_text("one of an earlier version")
path.with_name(".of-somebody-else.tmp").write_text("not ours")
os._exit(9)
"""
    path = tmp_path / "MEMORY.md"
    path.write_text("- mine\n")
    done = subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert done.returncode == 9
    assert list(tmp_path.glob("*.kept"))
    replacing.sweep(tmp_path)
    assert path.read_text().splitlines() == ["- new", "- mine", "- late 1", "- late 2"]
    assert [left.name for left in tmp_path.glob(".*")] == [".of-somebody-else.tmp"]


@pytest.mark.parametrize("exchange", [True, False])
def test_without_the_kernels_help_a_file_is_replaced_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, exchange: bool
) -> None:
    monkeypatch.setattr(replacing, "_RENAME", None)
    monkeypatch.setattr(replacing, "is_unwritten", lambda _: None)
    path = tmp_path / "MEMORY.md"
    if exchange:
        path.write_text("- mine\n")
        path.chmod(0o640)
    with (path if exchange else tmp_path / "nothing").open("a", buffering=1) as held:
        replacing.rewrite(path, lambda content: (content or b"") + b"- new\n")
        held.write("- late\n")
    replacing.settle(closing=True)
    expected = ["- mine", "- new", "- late"] if exchange else ["- new"]
    assert path.read_text().splitlines() == expected
    assert path.stat().st_mode & 0o777 == (0o640 if exchange else 0o600)
    assert not list(tmp_path.glob(".*"))


def test_a_disk_that_fills_while_lines_are_appended_cuts_off_nobody_elses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sessions.jsonl"
    path.write_text("one\n")

    def full(_: int) -> None:
        with path.open("a") as stream:
            stream.write("of another tool\n")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            replacing.append(path, b"ours\n")
    assert "of another tool" in path.read_text().splitlines()
