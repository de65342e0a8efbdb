"""The real Hermes with our plugin: what is said in one session is told in another, and no reply or turn is lost."""

import json
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from disks import full, hung, small_disk
from hermes_host import environment, install
from patience import seconds
from stub_model import Request, StubModel, ToolCall, stub_model

CONFIG = "# my own\nmemory:\n  memory_enabled: true\n  nudge_interval: 0\ncompression:\n  protect_last_n: 2\n"
IN_TIME = 15.0
AT_ONCE = 1.5
"""Seconds of a reply that waits for no memory; one that waits takes two more."""


@pytest.fixture(scope="session")
def python() -> Path:
    return install()


class Hermes:
    """One Hermes in a home folder, whose agents are made as its gateway makes them."""

    def __init__(self, python: Path, home: Path, model: int) -> None:
        self.python, self.home, self.model = python, home, model
        self.memory = home / "memory"
        (home / ".hermes").mkdir(parents=True)
        (home / ".hermes/config.yaml").write_text(CONFIG, "utf-8")
        self.environment = environment(home)
        self.run("connect", "hermes", "--workspace", self.memory)

    def run(self, *arguments: str | Path) -> None:
        """Run gateway-memory's command line."""
        command = [self.python.with_name("gateway-memory"), *arguments]
        subprocess.run(command, env=self.environment, check=True)

    def start(self) -> None:
        with (self.home / "log").open("a") as log:
            self.process = subprocess.Popen(
                [self.python, "-u", Path(__file__).with_name("hermes_agents.py")],
                cwd=self.home,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def ask(self, session: str, user: str, text: str, *, group: str = "") -> dict[str, Any]:
        agent = {"session_id": session, "platform": "telegram", "user_id": user, "chat_id": group or user}
        own = f"group:{group}:{user}" if group else f"dm:{user}"
        agent |= {
            "gateway_session_key": f"agent:main:telegram:{own}",
            "chat_type": "group" if group else "dm",
            "user_name": f"Person {user}",
            "chat_name": group and "Friends",
        }
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        said = {"base_url": f"http://127.0.0.1:{self.model}/v1", "text": text, "agent": agent}
        self.process.stdin.write(json.dumps(said) + "\n")
        self.process.stdin.flush()
        found = next((line for line in self.process.stdout if line.startswith("@")), "")
        assert found, (self.home / "log").read_text()
        answer: dict[str, Any] = json.loads(found[1:])
        return answer

    def turns(self) -> list[str]:
        """Return what users said, as the journal holds it."""
        if not (self.memory / "journal.sqlite").is_file():
            return []
        with closing(sqlite3.connect(self.memory / "journal.sqlite")) as journal:
            return [row[0] for row in journal.execute("SELECT user FROM episodes ORDER BY turn")]

    def speakers(self) -> dict[str, str]:
        """Return who said what in groups, as the journal holds it: {line: key}."""
        with closing(sqlite3.connect(self.memory / "journal.sqlite")) as journal:
            return dict(journal.execute("SELECT user, speaker FROM episodes WHERE speaker != ''"))

    def names(self) -> set[str]:
        """Return what people and groups are called, as the journal holds it."""
        with closing(sqlite3.connect(self.memory / "journal.sqlite")) as journal:
            return {row[0] for row in journal.execute("SELECT name FROM names WHERE session_key = ''")}

    def records(self) -> list[str]:
        """Return the records of ended sessions, a line each."""
        return [line for path in self.memory.rglob("sessions.jsonl") for line in path.read_text("utf-8").splitlines()]

    def wait_for_turns(self, expected: list[str]) -> None:
        end = time.monotonic() + seconds(40)
        while self.turns() != expected and time.monotonic() < end:
            time.sleep(0.3)
        assert self.turns() == expected


@pytest.fixture
def model() -> Iterator[StubModel]:
    with stub_model() as serving:
        yield serving


@pytest.fixture
def hermes(python: Path, model: StubModel, tmp_path: Path) -> Iterator[Hermes]:
    host = Hermes(python, tmp_path / "home", model.port)
    host.start()
    yield host
    host.kill()


@pytest.fixture
def small(python: Path, model: StubModel, tmp_path: Path) -> Iterator[Hermes]:
    """Hermes, whose memory has a disk of its own."""
    with small_disk(tmp_path / "home/memory", "64m"):
        host = Hermes(python, tmp_path / "home", model.port)
        host.start()
        yield host
        host.kill()


def test_what_is_said_in_one_session_is_told_in_another_and_to_nobody_else(hermes: Hermes, model: StubModel) -> None:
    hermes.ask("s1", "1", "Remember that my locker is number 4711.")
    hermes.wait_for_turns(["Remember that my locker is number 4711."])
    hermes.ask("s2", "1", "Which locker is mine? ask-1")
    assert "4711" in model.asked("ask-1")[-1].last_user
    hermes.ask("s2", "1", "And which number has my locker? ask-2")
    assert "4711" in model.asked("ask-2")[-1].everything
    hermes.ask("s3", "9", "Which locker is mine? ask-3")
    assert "4711" not in model.asked("ask-3")[-1].everything
    hermes.ask("s4", "1", "Which locker is mine? ask-4", group="-5")
    assert "4711" not in model.asked("ask-4")[-1].everything
    assert hermes.ask("s2", "1", "/end")["reply"] == "ended"
    assert "Person 1" in hermes.names()


def test_a_name_in_brackets_gives_nobody_another_name(hermes: Hermes, tmp_path: Path) -> None:
    config = tmp_path / "memory.json"
    kept = {"model": "rules", "excludeSessionTypes": []}
    config.write_text(json.dumps({"agents": {"defaults": {"memorySync": {"autoExtract": kept}}}}), "utf-8")
    hermes.run("connect", "hermes", "--workspace", hermes.memory, "--config", config)
    hermes.ask("s1", "2", "[Person 1] I'm off next week.", group="-5")
    hermes.wait_for_turns(["Person 2: [Person 1] I'm off next week."])
    assert hermes.speakers() == {"Person 2: [Person 1] I'm off next week.": "user:telegram::2"}


def test_the_model_runs_commands(hermes: Hermes, model: StubModel) -> None:
    def rule(request: Request) -> str | ToolCall | None:
        if request.tool_results:
            return f"It says: {request.tool_results[-1]}"
        if (found := request.last_user.partition("please run ")[2]) and "memory_command" in request.tools:
            return ToolCall(name="memory_command", arguments={"command": found.splitlines()[0]})
        return None

    model.rules.append(rule)
    hermes.ask("s1", "1", "Remember that my locker is number 4711.")
    hermes.wait_for_turns(["Remember that my locker is number 4711."])
    assert "4711" in hermes.ask("c1", "1", "please run search locker")["reply"]
    assert "4711" not in hermes.ask("c2", "9", "please run search locker")["reply"]
    hermes.ask("c3", "1", "please run forget my locker is number 4711")
    assert "4711" not in hermes.ask("c4", "1", "please run search locker")["reply"]
    hermes.ask("c5", "1", "please run undo")
    assert "4711" in hermes.ask("c6", "1", "please run search locker")["reply"]
    hermes.ask("c7", "1", "please run off")
    hermes.ask("c7", "1", "Remember that my safe opens with 9912.")
    assert "9912" not in hermes.ask("c8", "1", "please run search safe")["reply"]


def test_a_change_of_mind_is_told(hermes: Hermes, model: StubModel) -> None:
    said = [
        "Remember that my favourite colour is green.",
        "I changed my mind: my favourite colour is orange, no longer green.",
    ]
    hermes.ask("s1", "1", said[0])
    hermes.wait_for_turns(said[:1])
    hermes.ask("s2", "1", "What is my favourite colour? ask-1")
    assert "green" in model.asked("ask-1")[-1].last_user
    hermes.ask("s1", "1", said[1])
    hermes.wait_for_turns([said[0], "What is my favourite colour? ask-1", said[1]])
    hermes.ask("s3", "1", "What is my favourite colour? ask-2")
    assert "orange" in model.asked("ask-2")[-1].last_user


def test_a_new_session_opens_with_what_the_last_one_was_about(hermes: Hermes, model: StubModel) -> None:
    said = ["I want to plan a kayak tour on the Spree.", "The tour starts on Saturday at nine."]
    for text in said:
        hermes.ask("s1", "1", text)
    hermes.wait_for_turns(said)
    hermes.ask("s1", "1", "/end")
    hermes.ask("s2", "1", "hello ask-1")
    assert "kayak" in model.asked("ask-1")[-1].last_user
    assert len([line for line in hermes.records() if "kayak" in line]) == 1


def test_a_compression_is_told_what_the_memory_holds(hermes: Hermes, model: StubModel) -> None:
    hermes.ask("s1", "1", "Remember that my locker is number 4711.")
    hermes.ask("s1", "1", "Which locker is mine? ask-1")
    for number in range(8):
        hermes.ask("s1", "1", f"Tell me about the river Spree, part {number}.")
    asked = len(model.requests)
    hermes.ask("s1", "1", "/compress")
    assert any("4711" in request.everything for request in model.requests[asked:])
    hermes.ask("s1", "1", "Which locker is mine? ask-2")
    assert "4711" in model.asked("ask-2")[-1].last_user, "what was compressed away is told again"


def test_what_connect_changed_is_taken_back(hermes: Hermes) -> None:
    config = hermes.home / ".hermes/config.yaml"
    assert "provider: gateway-memory" in config.read_text("utf-8")
    hermes.run("disconnect", "hermes")
    assert config.read_text("utf-8") == CONFIG
    assert not (hermes.home / ".hermes/plugins/gateway-memory").exists()


def test_a_broken_workspace_and_a_kill_cost_no_reply_and_no_turn(hermes: Hermes, tmp_path: Path) -> None:
    hermes.ask("s1", "1", "turn one of the test")
    hermes.wait_for_turns(["turn one of the test"])
    hermes.kill()
    shutil.move(hermes.memory, tmp_path / "aside")
    hermes.memory.write_text("no folder")
    hermes.start()
    for number in ("two", "three"):
        assert hermes.ask("s1", "1", f"turn {number} of the test")["seconds"] < seconds(IN_TIME)
    time.sleep(1)  # Hermes hands a turn over after its reply
    hermes.kill()
    hermes.memory.unlink()
    shutil.move(tmp_path / "aside", hermes.memory)
    hermes.start()
    hermes.ask("s1", "1", "turn four of the test")
    hermes.wait_for_turns([f"turn {number} of the test" for number in ("one", "two", "three", "four")])


def test_a_full_disk_costs_no_reply_and_no_turn(small: Hermes) -> None:
    said = [f"turn {number} of the test" for number in ("one", "two", "three", "four")]
    small.ask("s1", "1", said[0])
    small.wait_for_turns(said[:1])
    with full(small.memory):
        for text in said[1:3]:
            assert small.ask("s1", "1", text)["seconds"] < seconds(IN_TIME)
        time.sleep(1)  # Hermes hands a turn over after its reply
    small.ask("s1", "1", said[3])
    small.wait_for_turns(said)


def test_a_memory_that_hangs_is_waited_for_once(hermes: Hermes) -> None:
    said = [f"turn {number} of the test" for number in ("one", "two", "three", "four", "five", "six")]
    hermes.ask("s1", "1", said[0])
    hermes.wait_for_turns(said[:1])
    with hung(hermes.memory):
        took = [hermes.ask(f"s{n}", "1", text)["seconds"] for n, text in enumerate(said[1:], 2)]  # each begins anew
    assert max(took) < seconds(2 + AT_ONCE), took
    assert len([each for each in took if each > seconds(AT_ONCE)]) <= 1, took
    hermes.wait_for_turns(said)
