"""Whatever is broken, a hook exits 0 with valid JSON in its time, says why in the log, and leaves the files whole."""

import asyncio
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from editor import WORDS_ALONE, WORTH, command, environment, hook, records, run, transcript
from thorough import sample

from gateway_memory import GatewayMemory, load_config
from gateway_memory.hooks.run import EVENTS
from gateway_memory.store.journal.sqlite import open_journal

BAD = [b"", b"{", b"[]", b"\xff\xfe", b"nul", b'{"conversation_id": 5, "workspace_roots": "x"}']
BAD += [b'{"a":' * 100_000, b'{"conversation_id": "c", "transcript_path": ["x"], "workspace_roots": [[]]}']


def remembering(folder: Path) -> Path:
    """A workspace in which there is something to tell."""
    workspace = folder / ".memory"
    workspace.mkdir()
    (workspace / "MEMORY.md").write_text("- 我的工位在三楼\n", "utf-8")
    return workspace


def hooked(event: str) -> tuple[str, ...]:
    return "hook", event, "--config", WORDS_ALONE


def given(workspace: Path, **more: Any) -> bytes:
    event = {"conversation_id": "conv-1", "workspace_roots": [str(workspace.parent)], "status": "completed", **more}
    return json.dumps(event).encode()


def answered(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    assert done.returncode == 0
    answer: dict[str, Any] = json.loads(done.stdout)
    assert isinstance(answer, dict)
    return answer


def well_formed(workspace: Path, path: str, *, saved: int = 1) -> None:
    """The next hooks find everything as it should be, and the session has its one record."""
    assert hook("sessionEnd", workspace, transcript_path=path, reason="completed") == {}
    assert len(records(workspace)) == saved
    journal = sqlite3.connect(workspace / "journal.sqlite")
    assert journal.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert journal.execute("SELECT count(*) FROM plans").fetchall() == [(0,)]
    journal.close()
    assert [each.name for each in workspace.rglob("*.tmp")] == []
    assert "三楼" in hook("sessionStart", workspace, conversation_id="later")["additional_context"]


@pytest.mark.parametrize("event", list(EVENTS))
def test_bad_input_fails_no_editor(event: str, tmp_path: Path) -> None:
    for text in BAD:
        answered(run(*hooked(event), given=text, cwd=tmp_path))


@pytest.mark.parametrize("event", list(EVENTS))
def test_an_input_that_cannot_be_read_is_noted_in_the_log(event: str, tmp_path: Path) -> None:
    workspace = remembering(tmp_path)
    answered(run(*hooked(event), given=b"{", cwd=tmp_path))
    answered(run(*hooked(event), "--workspace", str(workspace), given=b"[1]", cwd=tmp_path.parent))
    (log,) = (workspace / "logs").glob("hooks-*.jsonl")
    rows = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    assert [row["error"].split()[0] for row in rows] == ["JSONDecodeError", "TypeError"]


@pytest.mark.parametrize("event", list(EVENTS))
def test_a_workspace_that_cannot_be_fails_no_editor(event: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    for place in (tmp_path / "file" / "inside", Path("/proc/none"), Path("/dev/null")):  # nothing can be written there
        assert answered(run(*hooked(event), "--workspace", str(place), given=b'{"conversation_id": "c"}')) == {}
    gone = json.dumps({"conversation_id": "c", "workspace_roots": [str(tmp_path / "gone")]}).encode()
    assert answered(run(*hooked(event), given=gone)) == {}
    assert not (tmp_path / "gone").exists()


@pytest.mark.parametrize("event", list(EVENTS))
def test_a_file_where_a_folder_should_be_fails_no_editor(event: str, tmp_path: Path) -> None:
    path = transcript(tmp_path / "t.jsonl", ("user", WORTH))
    for name in (".gateway-memory", "logs", "memory"):
        workspace = tmp_path / name / ".memory"
        workspace.parent.mkdir()
        workspace = remembering(workspace.parent)
        (workspace / name).write_text("", "utf-8")
        answer = answered(run(*hooked(event), given=given(workspace, transcript_path=path)))
        if event == "sessionStart" and name != "memory":
            assert "三楼" in answer["additional_context"]


@pytest.mark.parametrize("event", list(EVENTS))
def test_a_read_only_disk_fails_no_editor_and_the_opening_is_still_told(event: str, tmp_path: Path) -> None:
    workspace, path = remembering(tmp_path), transcript(tmp_path / "t.jsonl", ("user", WORTH))
    place = str(workspace)
    mount = f"mount --bind {place} {place} && mount -o remount,ro,bind {place}"  # which stops root too
    unshared = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    if not shutil.which("unshare") or subprocess.run([*unshared, mount], capture_output=True, check=False).returncode:
        pytest.skip("needs a kernel that lets this user mount in a namespace of its own")
    script = f'{mount} && ! touch {place}/x 2>/dev/null && exec "$@"'
    started = time.monotonic()
    done = subprocess.run(
        [*unshared, script, "sh", *command(*hooked(event))],
        input=given(workspace, transcript_path=path),
        capture_output=True,
        check=False,
        env=environment(),
    )
    assert time.monotonic() - started < EVENTS[event]
    answer = answered(done)
    if event == "sessionStart":
        assert "三楼" in answer["additional_context"]
    assert [each.name for each in workspace.iterdir()] == ["MEMORY.md"]
    well_formed(workspace, path)


@pytest.mark.parametrize("event", list(EVENTS))
def test_a_full_disk_fails_no_editor_and_the_opening_is_still_told(event: str, tmp_path: Path) -> None:
    workspace, path = remembering(tmp_path), transcript(tmp_path / "t.jsonl", ("user", WORTH))
    done = subprocess.run(
        command(*hooked(event)),
        input=given(workspace, transcript_path=path),
        capture_output=True,
        check=False,
        env={**environment(), "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
    )
    answer = answered(done)
    if event == "sessionStart":
        assert "三楼" in answer["additional_context"]
    well_formed(workspace, path)


# For a prompt no hook has compiled a config.
@pytest.mark.parametrize("event", sorted(EVENTS.keys() - {"userPromptSubmit"}))
def test_a_damaged_journal_fails_no_editor_and_the_opening_is_still_told(event: str, tmp_path: Path) -> None:
    workspace = remembering(tmp_path)
    (workspace / "journal.sqlite").write_bytes(b"no database at all " * 400)
    answer = answered(run(*hooked(event), given=given(workspace)))
    if event == "sessionStart":
        assert "三楼" in answer["additional_context"]
    (log,) = (workspace / "logs").glob("hooks-*.jsonl")
    row = json.loads(log.read_text("utf-8").splitlines()[0])
    assert row["error"].startswith("DatabaseError")


@pytest.mark.parametrize("event", list(EVENTS))
def test_a_journal_cut_in_half_fails_no_editor(event: str, tmp_path: Path) -> None:
    workspace, path = remembering(tmp_path), transcript(tmp_path / "t.jsonl", ("user", WORTH))
    hook("stop", workspace, transcript_path=path, status="completed")
    journal = workspace / "journal.sqlite"
    journal.write_bytes(journal.read_bytes()[: journal.stat().st_size // 2])
    answered(run(*hooked(event), given=given(workspace, transcript_path=path)))


@pytest.mark.parametrize("event", list(EVENTS))
def test_a_journal_that_another_holds_fails_no_editor(event: str, tmp_path: Path) -> None:
    workspace, path = remembering(tmp_path), transcript(tmp_path / "t.jsonl", ("user", WORTH))
    hook("sessionStart", workspace)
    other = sqlite3.connect(workspace / "journal.sqlite", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    started = time.monotonic()
    answer = answered(run(*hooked(event), given=given(workspace, transcript_path=path)))
    assert time.monotonic() - started < EVENTS[event]
    if event == "sessionStart":
        assert "三楼" in answer["additional_context"]
    other.execute("ROLLBACK")
    other.close()
    well_formed(workspace, path)


@pytest.mark.parametrize("event", sample(list(EVENTS), 2, "ten megabytes"))
def test_a_transcript_of_ten_megabytes_is_read_in_time(event: str, tmp_path: Path) -> None:
    workspace = remembering(tmp_path)
    path = transcript(tmp_path / "t.jsonl", *[("user", f"{number} " + WORTH * 10) for number in range(10_000)])
    assert Path(path).stat().st_size > 10_000_000
    started = time.monotonic()
    hook(event, workspace, transcript_path=path, status="completed")
    assert time.monotonic() - started < EVENTS[event]
    well_formed(workspace, path)


@pytest.mark.parametrize("event", list(EVENTS))
def test_a_transcript_of_one_endless_line_or_none_fails_no_editor(event: str, tmp_path: Path) -> None:
    workspace = remembering(tmp_path)
    (tmp_path / "endless").write_bytes(b'{"type": "user", "message": "' + b"x" * 10_000_000)
    for path in (tmp_path / "endless", tmp_path, tmp_path / "gone", Path("/dev/zero")):
        answered(run(*hooked(event), given=given(workspace, transcript_path=str(path))))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("event", list(EVENTS))
def test_a_signal_in_the_middle_leaves_valid_json_and_whole_files(
    event: str, number: signal.Signals, tmp_path: Path
) -> None:
    path = transcript(tmp_path / "t.jsonl", ("user", WORTH))
    moments = (0.0, 0.3, 0.7) if event == "sessionEnd" else (0.0, 0.02)
    for later in sample(moments, 1, f"{event} {number}"):
        folder = tmp_path / str(later)
        folder.mkdir()
        workspace = remembering(folder)
        with subprocess.Popen(
            command(*hooked(event)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
        ) as process:
            assert process.stdin
            assert process.stdout
            process.stdin.write(given(workspace, transcript_path=path))
            process.stdin.close()
            while not (workspace / "journal.sqlite").exists() and process.poll() is None:
                time.sleep(0.002)  # until it is at work
            time.sleep(later)  # a signal has no better moment than any
            process.send_signal(number)
            said = process.stdout.read()
        if number != signal.SIGKILL:
            assert isinstance(json.loads(said), dict)
            assert process.returncode == 0
        for left in workspace.rglob("*.tmp"):  # what a killed process leaves is no file of ours, and in nobody's way
            assert number == signal.SIGKILL
            left.unlink()
        well_formed(workspace, path)


def test_an_editor_that_has_gone_away_breaks_nothing(tmp_path: Path) -> None:
    workspace = remembering(tmp_path)
    read, write = os.pipe()
    os.close(read)  # nobody reads what it says
    done = subprocess.run(
        command(*hooked("sessionStart")), input=given(workspace), stdout=write, check=False, env=environment()
    )
    os.close(write)
    assert done.returncode == 0


@pytest.mark.parametrize("event", ["sessionStart", "preCompact", "stop", "sessionEnd"])
async def test_a_hook_does_nothing_to_a_gateways_session(tmp_path: Path, event: str) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        ended = await memory.start_session("ended", user="zoe")
        await memory.end_session(ended, reason="completed")
        living = await memory.start_session("living", room="discord-5")
        log = transcript(tmp_path / "t.jsonl", ("user", WORTH))
        journal = open_journal(tmp_path)
        before = list(journal.iterdump())
        for session in (ended, living):
            answer = await asyncio.to_thread(
                hook, event, tmp_path, conversation_id=session.session_id, transcript_path=log, status="completed"
            )
            assert answer == {}
        assert list(journal.iterdump()) == before
        journal.close()


@pytest.mark.parametrize("event", ["preCompact", "stop"])
def test_a_transcript_of_nobodys_home_is_none(tmp_path: Path, event: str) -> None:
    hook(event, tmp_path / "w", transcript_path="~nobody-of-this-name/t.jsonl", status="completed")
    assert not list(tmp_path.rglob("hooks-*.jsonl")), "nothing went wrong"
