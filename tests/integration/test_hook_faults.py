"""Whatever is broken, a hook exits 0 and lets its editor go on, says why in the log, and leaves the files whole."""

import asyncio
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

import pytest
from editor import WORDS_ALONE, WORTH, command, compiled, environment, hook, patient, records, run, transcript
from patience import holds
from thorough import sample

from gateway_memory import GatewayMemory, load_config
from gateway_memory.edge.transcript import read_exchanges
from gateway_memory.hooks import feed, later
from gateway_memory.hooks.hook import EVENTS
from gateway_memory.hooks.outcome import last_outcomes
from gateway_memory.hooks.start import opening
from gateway_memory.hooks.state import HookInput, register
from gateway_memory.store.journal.in_place import JournalInPlace
from gateway_memory.store.journal.sqlite import open_journal

pytestmark = pytest.mark.slow

PROMPT = "userPromptSubmit"
GO_ON: dict[str, dict[str, Any]] = {event: {"continue": True} if event == PROMPT else {} for event in EVENTS}
"""What an editor's protocol calls "go on"."""
BAD = [b"{", b"[]", b"\xff\xfe", b"nul", b'{"conversation_id": 5, "workspace_roots": "x"}', b""]
BAD += [b'{"a":' * 100_000, b'{"conversation_id": "c", "transcript_path": ["x"], "workspace_roots": [[]]}']


def remembering(folder: Path) -> Path:
    """A workspace in which there is something to tell."""
    workspace = compiled(folder / ".memory")
    (workspace / "MEMORY.md").write_text("- 我的工位在三楼\n", "utf-8")
    return workspace


def hooked(event: str) -> tuple[str, ...]:
    return "hook", event, "--config", WORDS_ALONE


def given(workspace: Path, **more: Any) -> bytes:
    event = {"conversation_id": "conv-1", "workspace_roots": [str(workspace.parent)], "status": "completed", **more}
    return json.dumps({"prompt": "我的工位在几楼？", **event}).encode()


def answered(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    assert done.returncode == 0
    answer: dict[str, Any] = json.loads(done.stdout)
    assert isinstance(answer, dict)
    return answer


def lets_go_on(event: str, done: subprocess.CompletedProcess[bytes], *, opens: bool = False) -> None:
    """The editor goes on. opens: a start tells its opening nevertheless."""
    answer = answered(done)
    if event == PROMPT:
        assert answer["continue"] is True
    if event == "sessionStart" and opens:
        assert "三楼" in answer["additional_context"]


def logged(workspace: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for path in sorted((workspace / "logs").glob("hooks-*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]


def well_formed(workspace: Path, path: str, *, saved: int = 1) -> None:
    """The next hooks find everything as it should be, and the session has its one record."""
    config, ending = Path(WORDS_ALONE), {"transcript_path": path, "reason": "completed"}
    later.end_session(HookInput(ending, workspace, "conv-1", config, inf))
    assert len(records(workspace)) == saved
    journal = sqlite3.connect(workspace / "journal.sqlite")
    assert journal.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert journal.execute("SELECT count(*) FROM plans").fetchall() == [(0,)]
    journal.close()
    assert [each.name for each in workspace.rglob("*.tmp")] == []
    assert "三楼" in opening(workspace, "", config, 1e9)[0]


@pytest.mark.parametrize(
    ("event", "text"),
    [
        *((PROMPT, text) for text in BAD),
        *((event, text) for event in sorted(EVENTS.keys() - {PROMPT}) for text in sample(BAD[:-1], 1, event)),
    ],
)
def test_bad_input_lets_the_editor_go_on(event: str, text: bytes, tmp_path: Path) -> None:
    done = run(*hooked(event), given=text, cwd=tmp_path)
    if event == "sessionStart":
        answered(done)
    else:
        assert answered(done) == GO_ON[event]


@pytest.mark.parametrize("event", sample(list(EVENTS), 2, "input"))
def test_an_input_that_cannot_be_read_is_noted(event: str, tmp_path: Path) -> None:
    workspace = remembering(tmp_path)
    answered(run(*hooked(event), given=b"{", cwd=tmp_path))
    answered(run(*hooked(event), "--workspace", str(workspace), given=b"[1]", cwd=tmp_path.parent))
    assert [row["error"].split()[0] for row in logged(workspace)] == ["JSONDecodeError", "TypeError"]
    assert [row["outcome"] for row in last_outcomes(workspace, event)] == ["failed", "failed"]


@pytest.mark.parametrize("event", list(EVENTS))
def test_a_workspace_that_cannot_be_lets_the_editor_go_on(event: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    places = (tmp_path / "file" / "inside", Path("/proc/none"), Path("/dev/null"))  # nothing can be written there
    for place in sample(places, 1, event):
        done = run(*hooked(event), "--workspace", str(place), given=b'{"conversation_id": "c"}')
        assert answered(done) == GO_ON[event]
    gone = json.dumps({"conversation_id": "c", "workspace_roots": [str(tmp_path / "gone")]}).encode()
    assert answered(run(*hooked(event), given=gone)) == GO_ON[event]
    assert not (tmp_path / "gone").exists()


@pytest.mark.parametrize("event", list(EVENTS))
def test_a_file_where_a_folder_should_be_lets_the_editor_go_on(event: str, tmp_path: Path) -> None:
    path = transcript(tmp_path / "t.jsonl", ("user", WORTH))
    for name in sample((".gateway-memory", "logs", "memory"), 1, event):
        (tmp_path / name).mkdir()
        workspace = remembering(tmp_path / name)
        if (workspace / name).exists():
            shutil.rmtree(workspace / name)
        (workspace / name).write_text("", "utf-8")
        done = run(*hooked(event), given=given(workspace, transcript_path=path))
        lets_go_on(event, done, opens=name != "memory")


def on_a_read_only_disk(workspace: Path, event: str, text: bytes) -> subprocess.CompletedProcess[bytes]:
    place = str(workspace)
    mount = f"mount --bind {place} {place} && mount -o remount,ro,bind {place}"  # which stops root too
    unshared = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    if not shutil.which("unshare") or subprocess.run([*unshared, mount], capture_output=True, check=False).returncode:
        pytest.skip("needs a kernel that lets this user mount in a namespace of its own")
    script = f'{mount} && ! touch {place}/x 2>/dev/null && exec "$@"'
    words = [*unshared, script, "sh", *command(*hooked(event))]
    return subprocess.run(words, input=text, capture_output=True, check=False, env=patient())


def on_a_full_disk(_: Path, event: str, text: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command(*hooked(event)),
        input=text,
        capture_output=True,
        check=False,
        env={**patient(), "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
    )


@pytest.mark.parametrize("disk", [on_a_read_only_disk, on_a_full_disk])
@pytest.mark.parametrize("event", list(EVENTS))
def test_a_disk_that_takes_nothing_lets_the_editor_go_on_and_the_opening_is_told(
    event: str, disk: Callable[[Path, str, bytes], subprocess.CompletedProcess[bytes]], tmp_path: Path
) -> None:
    workspace, path = remembering(tmp_path), transcript(tmp_path / "t.jsonl", ("user", WORTH))
    before = sorted(workspace.iterdir())
    lets_go_on(event, disk(workspace, event, given(workspace, transcript_path=path)), opens=True)
    if disk is on_a_read_only_disk:
        assert sorted(workspace.iterdir()) == before
    well_formed(workspace, path)


@pytest.mark.parametrize("event", list(EVENTS))
def test_a_damaged_journal_lets_the_editor_go_on_and_the_opening_is_told(event: str, tmp_path: Path) -> None:
    workspace = remembering(tmp_path)
    (workspace / "journal.sqlite").write_bytes(b"no database at all " * 400)
    lets_go_on(event, run(*hooked(event), given=given(workspace)), opens=True)
    assert logged(workspace)[0]["error"].startswith("DatabaseError")
    assert last_outcomes(workspace, event)[0]["error"].startswith("DatabaseError")


@pytest.mark.parametrize("event", sample(list(EVENTS), 2, "cut"))
def test_a_journal_cut_in_half_lets_the_editor_go_on(event: str, tmp_path: Path) -> None:
    workspace, path = remembering(tmp_path), transcript(tmp_path / "t.jsonl", ("user", WORTH))
    hook("stop", workspace, transcript_path=path, status="completed")
    journal = workspace / "journal.sqlite"
    journal.write_bytes(journal.read_bytes()[: journal.stat().st_size // 2])
    lets_go_on(event, run(*hooked(event), given=given(workspace, transcript_path=path)))


@pytest.mark.parametrize("event", list(EVENTS))
def test_a_journal_that_another_holds_lets_the_editor_go_on(event: str, tmp_path: Path) -> None:
    workspace, path = remembering(tmp_path), transcript(tmp_path / "t.jsonl", ("user", WORTH))
    open_journal(workspace).close()
    other = sqlite3.connect(workspace / "journal.sqlite", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    lets_go_on(event, run(*hooked(event), given=given(workspace, transcript_path=path)), opens=True)
    other.execute("ROLLBACK")
    other.close()
    well_formed(workspace, path)


def test_of_a_transcript_that_is_too_long_for_the_time_the_next_hook_reads_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [(role, f"{number} {WORTH}") for number in range(100) for role in ("user", "assistant")]
    workspace, path = compiled(tmp_path / "m"), Path(transcript(tmp_path / "t.jsonl", *said))
    ticks = iter(range(1000))
    with JournalInPlace.open(workspace) as journal:
        register(journal, "conv-1", 1.0, lives=True)
        for until, kept in ((5.0, 40), (inf, 100)):  # a clock that goes on by one whenever it is looked at
            with monkeypatch.context() as patched:
                patched.setattr(feed, "time", type("Clock", (), {"monotonic": lambda: next(ticks)}))
                feed.feed(
                    journal, HookInput({}, workspace, "conv-1", Path(WORDS_ALONE), until), path, 2.0, reached="stop"
                )
            assert len(journal.unread([each.id for each in read_exchanges(path, "conv-1")])) == 100 - kept


@pytest.mark.parametrize("event", list(EVENTS))
def test_a_transcript_of_one_endless_line_or_none_lets_the_editor_go_on(event: str, tmp_path: Path) -> None:
    workspace = remembering(tmp_path)
    (tmp_path / "endless").write_bytes(b'{"type": "user", "message": "' + b"x" * 10_000_000)
    for path in sample((tmp_path / "endless", tmp_path, tmp_path / "gone", Path("/dev/zero")), 1, event):
        lets_go_on(event, run(*hooked(event), given=given(workspace, transcript_path=str(path))))


# Each stops a hook at a moment of its own: while it imports, while it waits for its input, and in C code that no
# signal interrupts.
AT_IMPORT = "sys.meta_path.insert(0, type('Slow', (), {'find_spec': lambda *_: time.sleep(3600)}))"
IN_C = """
import gateway_memory.hooks.dispatch as dispatch
def endless(*_):
    import sqlite3
    numbers = 'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n'
    sqlite3.connect(':memory:').execute(numbers)
dispatch.answer = endless
"""


@pytest.mark.parametrize("trouble", [AT_IMPORT, IN_C, ""], ids=["imports", "in C", "input"])
@pytest.mark.parametrize("event", [PROMPT, "stop"])
def test_at_the_time_limit_the_editor_is_told_to_go_on(event: str, trouble: str, tmp_path: Path) -> None:
    workspace = compiled(tmp_path / ".memory")
    code = "import sys, time\nfrom gateway_memory.hooks import hook, outcome, run\n"
    code += f"hook.EVENTS[{event!r}] = 0.5\n{trouble}\n"
    if trouble != AT_IMPORT:
        code += "import gateway_memory.hooks.dispatch\n"
    code += f"sys.exit(run.main([{event!r}, '--workspace', {str(workspace)!r}]))"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdout
        said = process.stdout.read()  # its input stays open
        assert process.wait() == 0
    assert json.loads(said) == GO_ON[event]
    assert [row["outcome"] for row in last_outcomes(workspace, event)] == ["late"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("event", list(EVENTS))
def test_a_signal_in_the_middle_leaves_valid_json_and_whole_files(
    event: str, number: signal.Signals, tmp_path: Path
) -> None:
    workspace, path = remembering(tmp_path), transcript(tmp_path / "t.jsonl", ("user", WORTH))
    if event == PROMPT:  # it makes no journal
        open_journal(workspace).close()
    with subprocess.Popen(
        command(*hooked(event)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=patient()
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(given(workspace, transcript_path=path))
        process.stdin.close()
        if event != PROMPT:
            holds(lambda: (workspace / "journal.sqlite").exists() or process.poll() is not None, "its work")
        process.send_signal(number)
        said = process.stdout.read()
    if number != signal.SIGKILL and event != PROMPT:  # Python itself may still have been starting
        assert isinstance(json.loads(said), dict)
        assert process.returncode == 0
    for left in workspace.rglob("*.tmp"):  # what a killed process leaves is no file of ours, and in nobody's way
        assert number == signal.SIGKILL
        left.unlink()
    well_formed(workspace, path)


def test_a_signal_is_an_outcome_of_its_own(tmp_path: Path) -> None:
    workspace = compiled(tmp_path / ".memory")
    code = (
        "import os, signal, sys; from gateway_memory.hooks import dispatch, run\n"
        "dispatch.workspace_of = lambda *_: os.kill(os.getpid(), signal.SIGTERM)\n"
        f"sys.exit(run.main(['{PROMPT}', '--workspace', {str(workspace)!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=b"{}", capture_output=True, check=False, env=environment()
    )
    assert answered(done) == GO_ON[PROMPT]
    assert [row["outcome"] for row in last_outcomes(workspace, PROMPT)] == ["stopped"]


def test_an_editor_that_has_gone_away_breaks_nothing(tmp_path: Path) -> None:
    workspace = remembering(tmp_path)
    read, write = os.pipe()
    os.close(read)  # nobody reads what it says
    done = subprocess.run(
        command(*hooked("sessionStart")), input=given(workspace), stdout=write, check=False, env=patient()
    )
    os.close(write)
    assert done.returncode == 0


@pytest.mark.parametrize("event", ["sessionStart", "preCompact", "stop", "sessionEnd"])
async def test_a_hook_does_nothing_to_a_gateways_session(tmp_path: Path, event: str) -> None:
    compiled(tmp_path)
    async with GatewayMemory(load_config(WORDS_ALONE), tmp_path) as memory:
        ended = await memory.start_session("ended", user="zoe")
        await memory.end_session(ended, reason="completed")
        living = await memory.start_session("living", room="discord-5")
        log = transcript(tmp_path / "t.jsonl", ("user", WORTH))
        journal = open_journal(tmp_path)
        before = _recorded(journal)
        for session in (ended, living):
            answer = await asyncio.to_thread(
                hook, event, tmp_path, conversation_id=session.session_id, transcript_path=log, status="completed"
            )
            assert answer == {}
        assert _recorded(journal) == before
        journal.close()


def _recorded(journal: sqlite3.Connection) -> list[str]:
    """Return what a journal holds, without the signs of life that the gateway's own process writes meanwhile."""
    return [row for row in journal.iterdump() if not row.startswith('INSERT INTO "leases"')]


def test_a_transcript_of_nobodys_home_is_none(tmp_path: Path) -> None:
    hook("stop", compiled(tmp_path / "w"), transcript_path="~nobody-of-this-name/t.jsonl", status="completed")
    assert not list(tmp_path.rglob("hooks-*.jsonl")), "nothing went wrong"


def test_no_alarm_ends_a_hook_that_has_answered(tmp_path: Path) -> None:
    """While Python ends its process, an alarm would no longer be handled, and the editor would see a failure."""
    workspace = remembering(tmp_path)
    program = (
        "import signal, sys; from gateway_memory.hooks.run import main; main(sys.argv[1:]); "
        "print(signal.getitimer(signal.ITIMER_REAL), file=sys.stderr)"
    )
    arguments = (*hooked(PROMPT)[1:], "--workspace", str(workspace))
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], input=given(workspace), capture_output=True, check=True
    )
    assert json.loads(done.stdout)["continue"] is True
    assert done.stderr.split(b"\n")[-2] == b"(0.0, 0.0)"
