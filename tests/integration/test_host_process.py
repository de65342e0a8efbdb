"""A host's process is the host's: a conversation changes no setting of it, prints nothing and leaves no thread."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from patience import seconds

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("host"),
]  # the tests of one report in one process: each report is a conversation
PROGRAM = Path(__file__).parents[1] / "programs" / "host.py"


@pytest.fixture(scope="module", params=[[], ["--uvloop"], ["--stdout"]], ids=["asyncio", "uvloop", "stdout"])
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("host")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-W", "error", PROGRAM, folder / "workspace", folder / "report.json", *request.param],
        capture_output=True,
        check=False,
        env=environment,
        timeout=seconds(120),
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == b""
    found: dict[str, Any] = json.loads((folder / "report.json").read_text("utf-8"))
    assert found["found"] == ["I prefer tea over coffee"], "the memory worked"
    return found


def test_all_that_holds_for_the_process_is_as_it_was(report: dict[str, Any]) -> None:
    for name, value in report["before"].items():
        assert report["after"][name] == value, name


def test_nothing_is_set_meanwhile_either(report: dict[str, Any]) -> None:
    assert report["called"] == []
    assert report["scheduling"] == report["before"]["scheduling"]


def test_nothing_is_printed(report: dict[str, Any]) -> None:
    assert report["written"] == ""


def test_no_sdk_of_a_model_is_imported_without_a_model(report: dict[str, Any]) -> None:
    assert report["models"] == []


def test_events_come_to_the_standard_loggers(report: dict[str, Any]) -> None:
    events = {text.split()[0]: name for name, text in report["events"]}
    assert events["event=memory.open"] == "gateway_memory.memory"
    assert "event=ingest.done" in events
    assert all(name.startswith("gateway_memory.") for name in events.values())


def test_threads_are_our_own_and_none_is_left(report: dict[str, Any]) -> None:
    assert not [name for name in report["threads meanwhile"] if name.startswith("asyncio_")], "the host's executor"
    assert report["threads"] == []
