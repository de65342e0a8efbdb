"""What nanobot's real channels let through: `/memory` is answered where people write it."""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from loopback import free_port
from nanobot_host import Nanobot, install
from patience import seconds
from stub_model import Request, StubModel, ToolCall, stub_model
from stub_telegram import StubTelegram, stub_telegram

ZOE = 1
GROUP = -100200


@pytest.fixture(scope="module")
def python() -> Path:
    return install()


@pytest.fixture(scope="module")
def model() -> Iterator[StubModel]:
    with stub_model() as serving:
        yield serving


@pytest.fixture(scope="module")
def telegram(python: Path, model: StubModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StubTelegram]:
    """Telegram, in which the bot of a whole nanobot gateway answers."""
    folder = tmp_path_factory.mktemp("nanobot")
    host = Nanobot(python, folder / "home", model.port)
    file = host.home / ".nanobot/config.json"
    config: dict[str, Any] = json.loads(file.read_text("utf-8"))
    config["channels"] = {
        "telegram": {
            "enabled": True,
            "token": "999:stub",
            "allowFrom": ["*"],
            "groupPolicy": "open",
            "streaming": False,
        },
        "websocket": {"enabled": False},
        "sendToolHints": False,
    }
    config["gateway"] = {"heartbeat": {"enabled": False}}
    file.write_text(json.dumps(config), "utf-8")
    connect: list[str | Path] = [
        python.with_name("gateway-memory"),
        "connect",
        "nanobot",
        "--workspace",
        folder / "memory",
    ]
    subprocess.run(connect, env=host.environment, check=True)
    with stub_telegram() as api, (host.home / "log").open("a") as log:
        program: list[str | Path] = [
            python,
            "-u",
            Path(__file__).with_name("nanobot_gateway.py"),
            str(api.port),
            str(free_port()),
        ]
        process = subprocess.Popen(program, cwd=host.home, env=host.environment, stdout=log, stderr=log)
        try:
            wait_for_memory(api, host.home / "log")
            yield api
        finally:
            process.kill()
            process.wait()


def wait_for_memory(api: StubTelegram, log: Path) -> None:
    """Wait until the page's proof of success holds."""
    end = time.monotonic() + seconds(120)
    while time.monotonic() < end:
        with suppress(AssertionError):
            if "Memory of user:telegram::7" in api.ask(7, "/memory status", within=5):
                return
    raise AssertionError(log.read_text("utf-8")[-4000:])


def test_what_was_said_on_telegram_is_searched_and_forgotten_there(telegram: StubTelegram) -> None:
    telegram.ask(ZOE, "Remember that my locker is number 4711.")
    assert "4711" in telegram.ask(ZOE, "/memory search locker")
    assert "4711" not in telegram.ask(9, "/memory search locker")
    telegram.ask(ZOE, "/memory forget locker")
    assert "4711" not in telegram.ask(ZOE, "/memory search locker")


@pytest.mark.parametrize("command", ["/memory", "/Memory status", "/memory@stub_bot status", "/memory\nstatus"])
def test_each_way_to_write_it_is_answered(command: str, telegram: StubTelegram, model: StubModel) -> None:
    asked = len(model.requests)
    assert "emory" in telegram.ask(ZOE, command)
    assert len(model.requests) == asked, "a command is not the model's"


def test_a_group_answers_it_too(telegram: StubTelegram) -> None:
    assert f"room:telegram::{GROUP}" in telegram.ask(ZOE, "/memory@stub_bot status", group=GROUP)


def test_nanobot_s_own_commands_answer_as_before(telegram: StubTelegram) -> None:
    assert "nanobot" in telegram.ask(ZOE, "/status").lower()
    assert "setMyCommands" in telegram.calls


def test_the_model_runs_a_command_and_its_turn_is_not_recorded(telegram: StubTelegram, model: StubModel) -> None:
    def rule(request: Request) -> str | ToolCall | None:
        if request.tool_results:
            return f"It says: {request.tool_results[-1]}"
        if found := request.last_user.partition("please run ")[2]:
            return ToolCall(name="memory_command", arguments={"command": found.splitlines()[0]})
        return None

    telegram.ask(2, "Remember that my bicycle is called Rosinante.")
    model.rules.append(rule)
    assert "Rosinante" in telegram.ask(2, "please run search bicycle")
    assert "Rosinante" not in telegram.ask(3, "please run search bicycle")
    telegram.ask(2, "please run forget my bicycle is called Rosinante")
    assert "Rosinante" not in telegram.ask(2, "/memory search bicycle Rosinante")


def test_slack_and_discord_pass_it_on(python: Path, tmp_path: Path) -> None:
    program: list[str | Path] = [
        python,
        Path(__file__).with_name("nanobot_texts.py"),
        "/memory status",
        " /memory forget tea",
    ]
    done = subprocess.run(program, env={"HOME": str(tmp_path)}, check=True, capture_output=True, text=True)
    passed = [json.loads(line[1:]) for line in done.stdout.splitlines() if line.startswith("@")]
    assert [(channel, content.strip()) for channel, content in passed] == [
        ("slack", "/memory status"),
        ("discord", "/memory status"),
        ("slack", "/memory forget tea"),
        ("discord", "/memory forget tea"),
    ]
