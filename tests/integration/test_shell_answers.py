"""What a shell command tells a script: its exit code, its JSON, where it works, and errors in a shell's words."""

import json
import os
import pty
import re
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from editor import WORDS_ALONE
from patience import seconds
from thorough import sample

from gateway_memory.cli.main import main


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "w"
    place.mkdir()
    (place / "MEMORY.md").write_text("- I like green tea\n- 我喜欢喝茶\n", "utf-8")
    monkeypatch.setenv("GATEWAY_MEMORY_WORKSPACE", str(place))
    monkeypatch.chdir(tmp_path)
    return place


def tell(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    try:
        code = main(arguments)
    except SystemExit as done:
        code = int(done.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


OPENING = ("list", "status --json")
ENDING_AT_ONCE = ("search tea --max-results 2", "completion bash", "--help")
CLOSED = (">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "closed"),
    [*sample([*product(OPENING, CLOSED)], 3), *sample([*product(ENDING_AT_ONCE, CLOSED)], 6)],
)
def test_a_closed_output_is_no_traceback(workspace: Path, command: str, closed: str) -> None:
    if command in OPENING:
        command += f" --config {WORDS_ALONE}"
    shell = f"{sys.executable} -m gateway_memory.cli.entry {command} 2>{workspace / 'said'} {closed}"
    assert subprocess.run(["sh", "-c", shell], check=False, timeout=seconds(60)).returncode == 0  # noqa: S607
    assert "Traceback" not in (workspace / "said").read_text("utf-8")


@pytest.mark.parametrize(("target", "code"), [("> /dev/full", 1), ("| true", 0)])
def test_a_version_that_cannot_be_written_is_no_traceback(tmp_path: Path, target: str, code: int) -> None:
    shell = f"{sys.executable} -u -m gateway_memory.cli.entry --version 2>{tmp_path / 'said'} {target}"
    assert subprocess.run(["sh", "-c", shell], check=False, timeout=seconds(60)).returncode == code  # noqa: S607
    assert "Traceback" not in (tmp_path / "said").read_text("utf-8")


@pytest.mark.parametrize("words", [[""], [" "], ["", "\t"]])
def test_an_agents_search_without_words_is_an_error(workspace: Path, words: list[str]) -> None:
    call = [sys.executable, "-m", "gateway_memory.cli.entry", "search", *words, "--max-results", "3"]
    done = subprocess.run(call, check=False, capture_output=True, timeout=seconds(60), cwd=workspace)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"expected a word" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["forget", "zzz"],
        ["forget", ""],
        ["history", "zzz"],
        ["history", "zzz", "--json"],
        ["history", " "],
        ["undo"],
        ["undo", "zzz"],
        ["search"],
        ["search", ""],
        ["search", "--json"],
        ["search", "--limit", "0", "tea"],
        ["search", "--limit", "9" * 5000, "tea"],
        ["search", "--limit", "51", "tea"],
        ["search", "--limit", "0", "tea", "--json"],
        ["search", "--since", "", "tea"],
        ["search", "--since", "yesterday", "tea"],
        ["search", "--type", "X", "tea"],
        ["search", "--limit", "0", "茶"],
        ["receipts", "--limit", "0"],
        ["receipts", "--limit", "x", "--json"],
        ["receipts", "--limit", "9" * 5000],
    ],
)
def test_what_was_not_done_has_no_exit_code_zero(
    workspace: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    code, out, err = tell(capsys, *arguments)
    assert code == 1
    assert out == ""
    assert err.strip()
    assert "/memory" not in err
    assert "Traceback" not in err
    assert (workspace / "MEMORY.md").read_text("utf-8") == "- I like green tea\n- 我喜欢喝茶\n"


def test_errors_of_the_shell_speak_of_shell_commands_in_both_languages(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "gateway-memory search <words>" in tell(capsys, "search")[2]
    assert "gateway-memory search <关键词>" in tell(capsys, "search", "茶", "--limit", "0")[2]
    assert "gateway-memory list" in tell(capsys, "forget", "zzz")[2]
    assert "? gateway-memory forget " in tell(capsys, "forget", "like tea or coffee")[2]
    assert "gateway-memory list" in tell(capsys, "forget", "没有这一条")[2]


@pytest.mark.parametrize(
    "arguments", [["status"], ["list"], ["search", "tea"], ["search", "--since", "0001-01-01"], ["receipts"], ["retry"]]
)
def test_what_was_done_has_exit_code_zero(
    workspace: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    code, out, _ = tell(capsys, *arguments)
    assert code == 0
    assert out


def record(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    code, out, _ = tell(capsys, *arguments, "--json")
    assert code == 0
    assert out.count("\n") == 1
    found: dict[str, Any] = json.loads(out)
    return found


def test_programs_are_told_in_json(workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    turns = [{"session": "a", "user": "记住：我的工位在三楼", "reply": "好"}]
    turns += [{"session": "b", "user": "Remember that the gate is blue.", "reply": "OK", "person": "zoe"}]
    (tmp_path / "talk.jsonl").write_text("".join(json.dumps(turn) + "\n" for turn in turns), "utf-8")
    assert tell(capsys, "replay", "talk.jsonl")[0] == 0
    listed = record(capsys, "list")
    assert listed["total"] == 3
    newest = listed["memories"][0]
    assert newest["text"] == "我的工位在三楼"
    assert newest["file"] == "MEMORY.md"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d", newest["at"])
    (found,) = record(capsys, "search", "工位", "--limit", "1")["results"]
    assert found["id"] == newest["id"]
    assert 0 < found["score"] <= 1
    assert "rank" in record(capsys, "search", "工位", "--explain")["results"][0]["parts"]
    past = record(capsys, "history", newest["id"])
    assert past["text"] == "我的工位在三楼"
    assert [event["event"] for event in past["events"]] == ["added"]
    status = record(capsys, "status")
    assert status["memories"] == 3
    assert status["waiting"] == {"rules": 0, "batch": 0, "oldest_seconds": 0, "outbox": 0}
    assert status["sessions"]["ended"] == 0, "a look is no session"
    assert status["mqtt"] is None
    receipts = record(capsys, "receipts")["receipts"]
    assert [receipt["stage"] for receipt in receipts] == ["batch", "rules"]
    assert receipts[1]["outcomes"][0]["text"] == "我的工位在三楼"
    assert len(record(capsys, "receipts", "--limit", "1")["receipts"]) == 1
    theirs = record(capsys, "receipts", "--user", "zoe")["receipts"]
    assert theirs[-1]["outcomes"][0]["text"] == "the gate is blue"
    assert "blue" not in json.dumps(receipts), "of another person nothing is told"
    assert "我的工位在三楼" in tell(capsys, "receipts")[1]


def test_a_named_workspace_wins_over_the_environments(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "MEMORY.md").write_text("- The cat is called Tigger\n", "utf-8")
    assert "Tigger" in tell(capsys, "list", "--workspace", str(other))[1]
    assert "green tea" in tell(capsys, "list")[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["status"], ["list"], ["search", "tea"], ["forget", "green tea"], ["receipts"], ["retry"], ["distill"],
        ["export"], ["export", "--format", "markdown", "--output", "copy"], ["delete", "--scope", "owner", "--yes"],
        ["import", "jsonl", "lines.jsonl"], ["replay", "talk.jsonl"],
    ],
)  # fmt: skip
def test_every_command_works_where_the_environment_says(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    (tmp_path / "lines.jsonl").write_text("", "utf-8")
    (tmp_path / "talk.jsonl").write_text('{"session": "a", "user": "hello", "reply": "hi"}\n', "utf-8")
    assert tell(capsys, *arguments)[0] == 0
    assert not (tmp_path / "workspace").exists()
    assert (workspace / "journal.sqlite").exists() != (arguments[0] == "delete")


@pytest.mark.parametrize("path", ["nowhere/out.jsonl", "", "w", "w/MEMORY.md/out", "a\0b", "x" * 300])
@pytest.mark.parametrize("command", ["export", "replay"])
def test_a_path_that_cannot_be_written_is_told_before_the_work_begins(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, path: str
) -> None:
    (tmp_path / "talk.jsonl").write_text('{"session": "a", "user": "Remember my locker is red", "reply": "hi"}\n')
    given = ["export", "--output", path] if command == "export" else ["replay", "talk.jsonl", "--turns", path]
    code, out, err = tell(capsys, *given)
    assert (code, out) == (1, "")
    assert "can't be written" in err
    assert "Traceback" not in err
    assert not (workspace / "journal.sqlite").exists(), "nothing was begun"


def test_a_file_that_is_there_stays_as_it_is_when_the_work_fails(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out.jsonl").write_text("mine\n", "utf-8")
    assert tell(capsys, "export", "--output", "out.jsonl", "--config", "nowhere.json5")[0] == 1
    assert (tmp_path / "out.jsonl").read_text("utf-8") == "mine\n"
    assert tell(capsys, "export", "--output", "new.jsonl", "--config", "nowhere.json5")[0] == 1
    assert not (tmp_path / "new.jsonl").exists()


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe\x00",
        b'{"session": "a", "user": 5}',
        b'{"session":"a","user":"x","reply":"y","at":5}',
        b'{"session":"a","user":"x","reply":"y","at":"0001-01-01T00:00:00"}',
        b"[" * 100_000,
        b"9" * 5000,
    ],
)
def test_a_transcript_that_is_none_is_told_without_a_traceback(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    (tmp_path / "talk.jsonl").write_bytes(content)
    code, out, err = tell(capsys, "replay", "talk.jsonl")
    assert (code, out) == (1, "")
    assert err.startswith("talk.jsonl")


def test_help_when_run_bare_and_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = tell(capsys)
    assert (code, err) == (0, "")
    assert out.startswith("usage: gateway-memory")
    assert "receipts" in out
    code, out, _ = tell(capsys, "--version")
    assert code == 0
    assert re.fullmatch(r"gateway-memory \d+\.\d+\.\d+\S*\n", out)
    assert tell(capsys, "nonsense")[0] == 2


def test_shells_can_complete_our_commands(capsys: pytest.CaptureFixture[str]) -> None:
    for shell in ("bash", "zsh", "fish"):
        code, out, _ = tell(capsys, "completion", shell)
        assert code == 0
        assert "receipts" in out
        assert "save-fact" in out
    script = tell(capsys, "completion", "bash")[1]
    ask = "COMP_WORDS=(gateway-memory receip); COMP_CWORD=1; _shtab_gateway_memory gateway-memory receip"
    tried = f'{script}\n{ask}; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["/bin/bash", "-c", tried], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["receipts"]
    assert tell(capsys, "completion", "ksh")[0] == 2


def test_a_full_device_is_no_success(workspace: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gateway_memory.cli.entry", "list"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr


def test_a_terminal_that_knows_only_ascii_is_told_all_the_same(workspace: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gateway_memory.cli.entry", "list"],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )
    assert rb"\u6211" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["list", "--user", b"\xff"],
        ["save-fact", "--content", b"tea \xff", "--session", b"\xff"],
        ["save-summary", "--topic", b"\xff", "--summary", b"\xff", "--session", b"\xff"],
        ["export", "--output", b"nowhere/\xff"],
        ["list", "--workspace", b"\xff"],
        ["delete", "--scope", b"user:\xff"],
        ["config", "check", b"\xff"],
    ],
)
def test_arguments_that_are_no_text_end_without_a_traceback(workspace: Path, arguments: list[str | bytes]) -> None:
    command = [os.fsencode(each) for each in (sys.executable, "-m", "gateway_memory.cli.entry", *arguments)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert b"Traceback" not in done.stderr
    assert done.returncode in (0, 1, 2)


def test_words_that_are_no_valid_unicode_are_searched_for_all_the_same(workspace: Path) -> None:
    command = [os.fsencode(sys.executable), b"-m", b"gateway_memory.cli.entry", b"search", b"tea \xff"]
    done = subprocess.run(command, capture_output=True, check=True)
    assert b"green tea" in done.stdout


class Terminal:
    """A chat in a terminal of its own."""

    def __init__(self, workspace: Path) -> None:
        self._main, side = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gateway_memory.cli.entry", "chat", "--workspace", str(workspace)],
            stdin=side,
            stdout=side,
            stderr=side,
            env=os.environ | {"TERM": "xterm"},
        )
        os.close(side)
        self._said = b""

    def until(self, text: bytes) -> bytes:
        """Read until a text has come."""
        while text not in self._said:
            self._said += os.read(self._main, 4096)
        said, _, self._said = self._said.partition(text)
        return said

    def type(self, keys: bytes) -> None:
        os.write(self._main, keys)


def test_lines_of_the_chat_can_be_edited_and_come_back_but_stay_off_the_disk(workspace: Path) -> None:
    pytest.importorskip("readline")
    terminal = Terminal(workspace)
    terminal.until(b"main> ")
    terminal.type(b"/memory off\n")
    terminal.until(b"ncognito")
    terminal.until(b"main> ")
    terminal.type(b"/sessionx\x7fs\n")  # the last letter taken back: /sessions
    terminal.until(b"* main")
    terminal.until(b"main> ")
    terminal.type(b"my locker code is 47114711\n")
    terminal.until(b"main> ")
    terminal.type(b"\x1b[A\x1b[A\n")  # two lines up
    terminal.until(b"* main")
    terminal.until(b"main> ")
    terminal.type(b"/quit\n")
    assert terminal.process.wait(60) == 0
    for file in workspace.rglob("*"):
        assert not file.is_file() or b"47114711" not in file.read_bytes(), file
