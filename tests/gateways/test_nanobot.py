"""The real nanobot with our plugin: what is said in one chat is told in another, and no reply or turn is lost."""

import json
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from disks import full, hung, small_disk
from nanobot_host import Nanobot, install, nanobot
from patience import seconds
from stub_model import Request, StubModel, ToolCall, stub_model

CONFIG = {
    "agents": {"defaults": {"memorySync": {"identity": {"people": {"zoe": ["telegram:1", "discord:2"]}}}}},
}
ZOE = "1|zoe"
IN_DISCORD: dict[str, Any] = {"channel": "discord", "chat_id": "77", "metadata": {"guild_id": None}}
IN_TIME = 8.0
AT_ONCE = 1.5
"""Seconds of a reply that waits for no memory; one that waits takes two more."""


@pytest.fixture(scope="session")
def python() -> Path:
    return install()


@pytest.fixture
def model() -> Iterator[StubModel]:
    with stub_model() as serving:
        yield serving


@pytest.fixture
def bot(python: Path, model: StubModel, tmp_path: Path) -> Iterator[Nanobot]:
    with connected(python, model, tmp_path) as host:
        yield host


@pytest.fixture
def small(python: Path, model: StubModel, tmp_path: Path) -> Iterator[Nanobot]:
    """Nanobot, whose memory has a disk of its own."""
    with small_disk(tmp_path / "memory", "64m"), connected(python, model, tmp_path) as host:
        yield host


@contextmanager
def connected(python: Path, model: StubModel, folder: Path) -> Iterator[Nanobot]:
    """Connect a nanobot, start it, and wait for its memory."""
    with nanobot(python, folder / "home", model.port) as host:
        (folder / "memory.json").write_text(json.dumps(CONFIG), "utf-8")
        command: list[str | Path] = [
            python.with_name("gateway-memory"),
            "connect",
            "nanobot",
            "--workspace",
            memory_of(host),
        ]
        subprocess.run([*command, "--config", folder / "memory.json"], env=host.environment, check=True)
        host.start()
        wait_for_memory(host)
        yield host


def memory_of(host: Nanobot) -> Path:
    return host.home.parent / "memory"


def wait_for_memory(host: Nanobot) -> None:
    end = time.monotonic() + seconds(60)
    while "can't be reached" in host.ask(ZOE, "/memory status"):
        assert time.monotonic() < end, (host.home / "log").read_text()
        time.sleep(0.3)


def turns(host: Nanobot) -> list[str]:
    """Return what users said, as the journal holds it."""
    with closing(sqlite3.connect(memory_of(host) / "journal.sqlite")) as journal:
        return [row[0] for row in journal.execute("SELECT user FROM episodes ORDER BY turn")]


def wait_for_turns(host: Nanobot, expected: list[str]) -> None:
    end = time.monotonic() + seconds(40)
    while turns(host) != expected and time.monotonic() < end:
        time.sleep(0.3)
    assert turns(host) == expected


def told(model: StubModel, marker: str) -> str:
    return model.asked(marker)[-1].last_user


def test_what_is_said_in_one_chat_is_told_in_another_and_to_nobody_else(bot: Nanobot, model: StubModel) -> None:
    bot.ask(ZOE, "Remember that my locker is number 4711.")
    time.sleep(1)
    bot.ask("2", "Which locker is mine? ask-1", **IN_DISCORD)
    assert "4711" in told(model, "ask-1")
    bot.ask("2", "And which number has my locker? ask-2", **IN_DISCORD)
    assert "4711" in model.asked("ask-2")[-1].everything
    bot.ask("9|zoe", "Which locker is mine? ask-3")
    assert "4711" not in model.asked("ask-3")[-1].everything
    bot.ask(ZOE, "Which locker is mine? ask-4", group="-100")
    assert "4711" not in model.asked("ask-4")[-1].everything
    bot.ask("1", "Which locker is mine? ask-5", channel="websocket", chat_id="x", metadata={})
    assert "4711" not in model.asked("ask-5")[-1].everything
    with closing(sqlite3.connect(memory_of(bot) / "journal.sqlite")) as journal:
        names = {row[0] for row in journal.execute("SELECT name FROM names WHERE session_key = ''")}
    assert f"Person {ZOE}" in names


def test_a_change_of_mind_is_told(bot: Nanobot, model: StubModel) -> None:
    bot.ask(ZOE, "Remember that my favourite colour is green.")
    time.sleep(1)
    bot.ask("2", "What is my favourite colour? ask-1", **IN_DISCORD)
    bot.ask(ZOE, "I changed my mind: my favourite colour is orange, no longer green.")
    time.sleep(1)
    bot.ask("2", "What is my favourite colour? ask-2", **IN_DISCORD)
    assert "orange" in told(model, "ask-2")


def test_the_commands_answer(bot: Nanobot, model: StubModel) -> None:
    bot.ask(ZOE, "Remember that my locker is number 4711.")
    time.sleep(1)
    asked = len(model.requests)
    assert "4711" in bot.ask(ZOE, "/memory search locker")
    assert "4711" not in bot.ask("9", "/memory search locker")
    bot.ask(ZOE, "/memory forget locker")
    assert "4711" not in bot.ask("2", "/memory search locker", **IN_DISCORD)
    bot.ask(ZOE, "/memory undo")
    assert "4711" in bot.ask(ZOE, "/memory search locker")
    bot.ask(ZOE, "/memory off")
    bot.ask(ZOE, "Remember that my safe opens with 9912.")
    time.sleep(1)
    assert "9912" not in bot.ask("2", "/memory search safe", **IN_DISCORD)
    bot.ask(ZOE, "/memory on")
    bot.ask(ZOE, "Remember that my safe opens with 9913.")
    time.sleep(1)
    assert "9913" in bot.ask("2", "/memory search safe", **IN_DISCORD)
    assert len(model.requests) == asked + 2, "a command is not the model's"


def test_a_new_session_opens_with_what_the_last_one_was_about(bot: Nanobot, model: StubModel) -> None:
    bot.ask(ZOE, "I want to plan a kayak tour on the Spree.")
    bot.ask(ZOE, "The tour starts on Saturday at nine.")
    time.sleep(1)
    bot.ask(ZOE, "/new")
    bot.ask(ZOE, "hello ask-1")
    assert "kayak" in told(model, "ask-1")
    records = [path.read_text("utf-8") for path in memory_of(bot).rglob("sessions.jsonl")]
    assert "".join(records).count('"session_id"') == 1


def test_what_is_compacted_away_is_told_again(bot: Nanobot, model: StubModel) -> None:
    bot.ask(ZOE, "Remember that my locker is number 4711.")
    time.sleep(1)
    bot.ask("2", "Which locker is mine? ask-1", **IN_DISCORD)
    for number in range(12):
        bot.ask("2", f"Tell me about the river Spree, part {number}.", **IN_DISCORD)
    bot.ask("2", "Which locker is mine? ask-2", **IN_DISCORD)
    assert "4711" not in told(model, "ask-2"), "it stands in the conversation"
    bot.tell("2", "/compact", **IN_DISCORD)
    bot.ask("2", "Which locker is mine? ask-3", **IN_DISCORD)
    assert "4711" in told(model, "ask-3")


def test_the_model_searches_and_saves(bot: Nanobot, model: StubModel) -> None:
    def rule(request: Request) -> str | ToolCall | None:
        if request.tool_results:
            return f"It says: {request.tool_results[-1]}"
        if "please save" in request.last_user:
            return ToolCall(name="save_memory", arguments={"content": "Zoe's bicycle is red."})
        if "please search" in request.last_user:
            return ToolCall(name="search_memory", arguments={"query": "bicycle"})
        return None

    model.rules.append(rule)
    assert "Saved." in bot.ask(ZOE, "please save it")
    assert "red" in bot.ask("2", "please search", **IN_DISCORD)
    assert "red" not in bot.ask("9", "please search")


@pytest.mark.parametrize("breaks", ["a file in place of the journal's folder", "killed"])
def test_a_broken_workspace_costs_no_reply_and_no_turn(breaks: str, bot: Nanobot, tmp_path: Path) -> None:
    bot.ask(ZOE, "turn one of the test")
    bot.kill()
    folder, aside = memory_of(bot), tmp_path / "aside"
    if breaks != "killed":
        shutil.move(folder, aside)
        folder.write_text("no folder")
    bot.start()
    for number in ("two", "three"):
        start = time.monotonic()
        bot.ask(ZOE, f"turn {number} of the test")
        assert time.monotonic() - start < seconds(IN_TIME)
    if breaks != "killed":
        bot.kill()
        folder.unlink()
        shutil.move(aside, folder)
        bot.start()
        wait_for_memory(bot)
    bot.ask(ZOE, "turn four of the test")
    wait_for_turns(bot, [f"turn {number} of the test" for number in ("one", "two", "three", "four")])


def test_a_full_disk_costs_no_reply_and_no_turn(small: Nanobot) -> None:
    said = [f"turn {number} of the test" for number in ("one", "two", "three", "four")]
    small.ask(ZOE, said[0])
    with full(memory_of(small)):
        for text in said[1:3]:
            start = time.monotonic()
            small.ask(ZOE, text)
            assert time.monotonic() - start < seconds(IN_TIME)
    small.ask(ZOE, said[3])
    wait_for_turns(small, said)


def test_a_memory_that_hangs_is_waited_for_once(bot: Nanobot) -> None:
    said = [f"turn {number} of the test" for number in ("one", "two", "three", "four", "five", "six")]
    bot.ask(ZOE, said[0])
    took = []
    with hung(memory_of(bot)):
        for text in said[1:]:
            start = time.monotonic()
            bot.ask(ZOE, text)
            took.append(time.monotonic() - start)
    assert max(took) < seconds(2 + AT_ONCE), took
    assert len([each for each in took if each > seconds(AT_ONCE)]) <= 1, took
    wait_for_turns(bot, said)
