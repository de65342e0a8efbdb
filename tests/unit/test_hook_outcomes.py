"""A hook counts its time from its start by its editor's limit, and its outcome is told in words."""

import errno
import json
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from patience import seconds

from gateway_memory.config.load import check_config
from gateway_memory.errors import StoreError, UsageError
from gateway_memory.hooks import hook as module
from gateway_memory.hooks import outcome
from gateway_memory.hooks.editors import Editor, limit_of
from gateway_memory.hooks.hook import EVENTS, Hook, InterruptedHook
from gateway_memory.hooks.install import merged
from gateway_memory.hooks.outcome import last_outcomes, note
from gateway_memory.hooks.status import status_lines

PROMPT = "userPromptSubmit"
STRANGE: tuple[object, ...] = (None, "2", True, 0, -1, [])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "project" / ".memory").mkdir(parents=True)
    return tmp_path / "project"


def noted(project: Path, error: BaseException | None, event: str = PROMPT, *, told: bool = False) -> None:
    hook = Hook([event, "--workspace", str(project / ".memory")], note)
    hook.answered, hook.seconds = told, EVENTS[event]
    note(hook, error, 0.25)


def status(project: Path, event: str = PROMPT) -> str:
    """What `hooks status` tells of one hook."""
    text = "\n".join(status_lines(project, None))
    return text[text.index(f"{event}: ") :].partition("\npreCompact: ")[0]


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "words", "advice"),
    [
        (None, "had nothing to tell", ""),
        (InterruptedHook("SIGALRM"), "gave up at the time limit", 'raise "timeout" of this hook in'),
        (InterruptedHook("SIGALRM"), "gave up at the time limit", "serve --workspace"),
        (InterruptedHook("SIGTERM"), "was stopped by a signal", "nothing to do"),
        (json.JSONDecodeError("hunter2", "hunter2", 0), "failed: the editor's input is no JSON", "report it as a bug"),
        (
            caused(StoreError("hunter2"), sqlite3.OperationalError("hunter2")),
            "failed: the journal was locked",
            "the next start of a session in the editor makes it",
        ),
        (caused(StoreError("hunter2"), sqlite3.DatabaseError("hunter2")), "the journal is damaged", "doctor episodes"),
        (OSError(errno.ENOSPC, "hunter2", "hunter2"), "failed: No space left on device", "its disk"),
        (UsageError("hunter2"), "failed: the session is no editor's", ""),
        (KeyError("hunter2"), "failed: an error of gateway-memory (KeyError", "Report it as a bug"),
    ],
)
def test_an_outcome_is_told_in_words_with_what_a_person_can_do(
    project: Path, error: BaseException | None, words: str, advice: str
) -> None:
    path = project / ".cursor" / "hooks.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"hooks": {"p": [{"command": f"gateway-memory hook {PROMPT}"}]}}), "utf-8")
    noted(project, error)
    told = status(project)
    assert words in told
    assert "after 0.25 s of 5 s" in told
    assert advice in told
    assert ("→" in told) == bool(advice)
    written = b"".join(each.read_bytes() for each in project.rglob("*") if each.is_file())
    assert b"hunter2" not in written + told.encode()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (
            '{agents: {defaults: {memorySync: {\n autoExtrakt: "hunter2"}}}}',
            ":2: agents.defaults.memorySync.autoExtrakt",
        ),
        ('{agents: {defaults: {memorySync: {autoExtract:\n {model: ["hunter2"]}}}}}', ":2: "),
        ('{agents: {defaults: {memorySync: {timeZone: "hunter2"}}}}', ":1: agents.defaults.memorySync.timeZone"),
        ("{agents: {\n\nhunter2 hunter2}}", ":3"),
        ('{serve: {port: "hunter2"}}', ":1: serve.port"),
    ],
)
def test_a_config_that_broke_is_named_with_the_place_and_the_mend_and_without_its_values(
    project: Path, text: str, place: str
) -> None:
    with pytest.raises(Exception, match="json5") as mistake:
        check_config(text, "/somewhere/config.json5")
    noted(project, mistake.value)
    told = status(project)
    assert f"the config has mistakes, at /somewhere/config.json5{place}" in told
    assert "config check /somewhere/config.json5`" in told
    written = b"".join(each.read_bytes() for each in project.rglob("*") if each.is_file())
    assert b"hunter2" not in written + told.encode()


def test_the_last_runs_are_counted(project: Path) -> None:
    assert f"{PROMPT}: has not run yet" in status(project)
    for _ in range(3):
        noted(project, None, told=True)
    assert "the last 3 runs: 3 answered" in status(project)
    noted(project, InterruptedHook("SIGALRM"))
    assert "the last 4 runs: 3 answered, 1 gave up" in status(project)
    for _ in range(19):
        noted(project, None)
    assert "the last 20 runs: 19 had nothing to tell, 1 gave up" in status(project)
    assert "stop: has not run yet" in status(project, "stop")


def test_the_outcomes_are_those_of_the_workspace_that_the_hooks_name(project: Path) -> None:
    elsewhere = project.parent / "it's elsewhere"
    (elsewhere / ".memory").mkdir(parents=True)
    noted(elsewhere, None, told=True)
    path = project / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(json.dumps(merged("claude-code", {}, str(elsewhere / ".memory"))), "utf-8")
    assert f"{PROMPT}: answered" in status(project)


@pytest.mark.parametrize(
    "damage", [b"", b"\xff\n{\n[]\n5\n" + b"[" * 100_000, b'{"outcome": "answered", "at": "x"}\n{"outcome": 5}', None]
)
def test_damaged_outcomes_are_none(project: Path, damage: bytes | None) -> None:
    path = project / ".memory" / ".gateway-memory" / "hooks" / PROMPT
    path.parent.mkdir(parents=True)
    path.mkdir() if damage is None else path.write_bytes(damage)
    assert f"{PROMPT}: has not run yet" in status(project)
    if damage is not None:
        path.write_bytes(damage + b"\n")  # a process that was killed leaves half a line
        noted(project, None, told=True)
        assert "answered" in status(project)


def test_hooks_that_end_at_once_lose_no_outcome_and_the_file_stays_small(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: noted(project, None, told=True), range(200)))
    path = project / ".memory" / ".gateway-memory" / "hooks" / PROMPT
    assert [json.loads(line)["outcome"] for line in path.read_text("utf-8").splitlines()] == ["answered"] * 200
    monkeypatch.setattr(outcome, "_FULL_BYTES", 4000)
    for _ in range(200):
        noted(project, None)
    assert max(each.stat().st_size for each in path.parent.iterdir()) < 20_000
    assert {row["outcome"] for row in last_outcomes(project / ".memory", PROMPT)} == {"quiet"}


@pytest.mark.parametrize(
    ("folder", "timeout", "limit"),
    [
        ("project", 2, 2),
        ("home", 12, 12),
        ("project", 1e9, 600),
        *(("project", strange, EVENTS[PROMPT]) for strange in STRANGE),
    ],
)
@pytest.mark.parametrize("editor", ["cursor", "claude-code"])
def test_the_limit_is_the_number_in_the_editors_file(
    project: Path, editor: Editor, folder: str, timeout: object, limit: float
) -> None:
    assert limit_of(editor, PROMPT, project) == EVENTS[PROMPT]
    path = project.parent / folder / {"cursor": ".cursor/hooks.json", "claude-code": ".claude/settings.json"}[editor]
    path.parent.mkdir(parents=True)
    ours = {"command": f"/bin/gateway-memory hook {PROMPT} --config x", "timeout": timeout}
    others = [{"command": "./mine.sh", "timeout": 1}, {"command": "gateway-memory hook stop", "timeout": 1}]
    entries = [*others, ours] if editor == "cursor" else [{"hooks": [*others, ours]}]
    path.write_text(json.dumps({"hooks": {"any": entries, "odd": [5, None], "other": {}}}), "utf-8")
    assert limit_of(editor, PROMPT, project) == limit
    for damage in (b"{", b"[]", b"\xff", b'{"hooks": 5}'):
        path.write_bytes(damage)
        assert limit_of(editor, PROMPT, project) == EVENTS[PROMPT]


@pytest.mark.parametrize(
    ("started", "left"),
    [((98.5, True), 2.5), ((0.0, True), 0.001), ((100.0, False), 2.75)],
    ids=["slow", "too slow", "unknown"],
)
def test_a_slow_start_leaves_less_time(
    monkeypatch: pytest.MonkeyPatch, started: tuple[float, bool], left: float
) -> None:
    timers: list[float] = []
    monkeypatch.setattr(module, "_started", lambda: started)
    monkeypatch.setattr(module, "time", type("Clock", (), {"monotonic": lambda: 100.0}))
    monkeypatch.setattr(signal, "setitimer", lambda _, seconds: timers.append(seconds))
    Hook([PROMPT], note).allow(5)
    assert timers == [left]


def test_a_process_knows_when_it_started() -> None:
    code = (
        "import time; here = time.monotonic(); from gateway_memory.hooks.hook import _started; "
        "started, known = _started(); print(started, here, known)"
    )
    before = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    started, here, known = done.stdout.split()
    if known == "True":
        # The system counts in hundredths, and may stop us between two clocks.
        assert before - seconds(0.25) <= float(started) <= float(here) + seconds(0.25)
    else:
        assert float(here) <= float(started)
