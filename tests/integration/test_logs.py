"""The workspace's log: JSON lines by day, kept for so long, whole whoever writes, and without a word of anybody's."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gateway_memory.cli.main import main
from gateway_memory.config.settings import LogSettings
from gateway_memory.observability.logs import DayLog, retain_days

NOON = datetime(2026, 3, 10, 12, 0).astimezone()


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now.timestamp()


def rows(workspace: Path) -> list[dict[str, Any]]:
    files = sorted((workspace / "logs").glob("gateway-memory-*.jsonl"))
    return [json.loads(line) for path in files for line in path.read_text("utf-8").splitlines()]


def test_a_day_is_a_file_and_old_ones_are_deleted(tmp_path: Path) -> None:
    clock, logs = Clock(), tmp_path / "logs"
    logs.mkdir()
    for name in ("gateway-memory-2026-03-07.jsonl", "hooks-2026-03-07.jsonl", "hooks-2026-03-08.jsonl", "mine.jsonl"):
        (logs / name).write_text("", "utf-8")
    log = DayLog(tmp_path, retain_days=retain_days(LogSettings(retain_days=3)), clock=clock)
    for _ in range(5):
        log(None, "info", {"event": "ingest.done", "added": 1})
        clock.now += timedelta(days=1)
    assert sorted(path.name for path in logs.iterdir()) == [
        "gateway-memory-2026-03-12.jsonl", "gateway-memory-2026-03-13.jsonl", "gateway-memory-2026-03-14.jsonl",
        "mine.jsonl",
    ]  # fmt: skip
    row = rows(tmp_path)[0]
    assert datetime.fromisoformat(row["at"]).astimezone(UTC) == (NOON + timedelta(days=2)).astimezone(UTC)
    assert (row["event"], row["added"], row["level"], row["pid"]) == ("ingest.done", 1, "info", os.getpid())


def test_an_object_and_an_exception_are_named_by_their_kind_alone(tmp_path: Path) -> None:
    secret = ValueError("geheim 4711")
    event = {
        "event": "x",
        "error": secret,
        "path": Path("/geheim"),
        "many": [secret, 1],
        "long": "y" * 9999,
        "at": "no",
    }
    DayLog(tmp_path, retain_days=3)(None, "error", event)
    text = next((tmp_path / "logs").iterdir()).read_text("utf-8")
    assert "geheim" not in text
    row = json.loads(text)
    assert (row["error"], row["many"], len(row["long"])) == ("ValueError", ["ValueError", 1], 300)
    assert row["at"] != "no"


def test_where_nothing_can_be_written_nothing_is_raised(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file stands where the folder should be", "utf-8")
    event = {"event": "x"}
    assert DayLog(tmp_path, retain_days=3)(None, "info", event) is event
    assert DayLog(tmp_path / "gone", retain_days=3)(None, "info", event) is event
    assert not (tmp_path / "gone").exists()


WRITING = """
import sys
from pathlib import Path
from gateway_memory.observability.logs import DayLog
log = DayLog(Path(sys.argv[1]), retain_days=3)
for number in range(1000):
    log(None, "info", {"event": "x", "who": sys.argv[2], "number": number, "filler": "z" * (number % 300)})
"""


def test_several_processes_write_whole_lines(tmp_path: Path) -> None:
    running = [subprocess.Popen([sys.executable, "-c", WRITING, str(tmp_path), who]) for who in "abc"]
    assert [process.wait() for process in running] == [0, 0, 0]
    found = rows(tmp_path)
    for who in "abc":
        assert [row["number"] for row in found if row["who"] == who] == list(range(1000))


@pytest.mark.parametrize(("said", "days"), [("", 14), ("3", 3), ("0", 14), ("-1", 14), ("soon", 14)])
def test_the_environment_may_say_how_long(monkeypatch: pytest.MonkeyPatch, said: str, days: int) -> None:
    monkeypatch.setenv("LOG_RETAIN_DAYS", said)
    assert retain_days(LogSettings()) == days


def test_a_command_logs_what_it_did_and_no_word_of_anybody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LOG_RETAIN_DAYS", raising=False)
    workspace, transcript = tmp_path / "w", tmp_path / "t.jsonl"
    turn = {"session": "s", "user": "记住：我的暗号是 aardvark，我喜欢 quokka", "reply": "wombat 好的"}
    transcript.write_text(json.dumps(turn) + "\n", "utf-8")
    place = ["--workspace", str(workspace)]
    assert main(["replay", *place, str(transcript)]) == 0
    assert main(["search", *place, "numbat quokka"]) == 0
    assert main(["forget", *place, "quokka"]) == 0
    capsys.readouterr()
    events = {row["event"] for row in rows(workspace)}
    assert {"memory.open", "session.open", "ingest.done", "memory.closed"} <= events
    text = "".join(path.read_text("utf-8") for path in (workspace / "logs").iterdir())
    for word in ("aardvark", "quokka", "wombat", "numbat", "暗号", "喜欢"):
        assert word not in text


def test_without_the_log_there_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "config.json5"
    config.write_text("{agents: {defaults: {memorySync: {logs: {enabled: false}}}}}", "utf-8")
    workspace = tmp_path / "w"
    workspace.mkdir()
    (workspace / "MEMORY.md").write_text("- I sing in a choir\n", "utf-8")
    assert main(["status", "--workspace", str(workspace), "--config", str(config)]) == 0
    assert capsys.readouterr().err == ""
    assert not (workspace / "logs").exists()
