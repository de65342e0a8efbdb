"""An hour of a real nanobot: its heartbeat, scheduled runs, triggers, retries, helpers, a group of three."""

import json
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hour import Talk, calling, failing, waited
from loopback import free_port
from nanobot_host import Nanobot, install
from stub_model import stub_model
from stub_telegram import stub_telegram

OWNER = 1
GROUP = -100200
ROOM = f"room:telegram::{GROUP}"
HEARTBEAT = "Look whether the user's kiln is above 900 degrees; the user prefers the answer in German."
CRON = "Remind the guild of the fee. Always answer in JSON."
TRIGGERED = "Deployment finished: remember that the user's server is called Kolibri."
TASK = "Count the bobbins. The user prefers them in rows of ten."
PLAN = "Please remind the guild of its fee every hour."
HELP = "Please let a helper count the bobbins."
MEMORY: dict[str, Any] = {"autoExtract": {"model": "rules", "excludeSessionTypes": []}}


@dataclass
class Hour(Talk):
    """Everything that runs."""

    host: Nanobot = field(kw_only=True)

    @property
    def memory(self) -> Path:
        return self.host.home.parent / "memory"

    def turns(self) -> list[str]:
        """Return what the memories of the owner and of the group hold, and whatever another has with its name."""
        with closing(sqlite3.connect(self.memory / "journal.sqlite")) as journal:
            rows = journal.execute("SELECT scope, user FROM episodes ORDER BY turn").fetchall()
        return [user if scope in ("owner", ROOM) else f"{scope}: {user}" for scope, user in rows]


@pytest.fixture
def hour(tmp_path: Path) -> Iterator[Hour]:
    python = install()
    with ExitStack() as stack:
        model, api = stack.enter_context(stub_model()), stack.enter_context(stub_telegram())
        host = Nanobot(python, tmp_path / "home", model.port)
        file = host.home / ".nanobot/config.json"
        config: dict[str, Any] = json.loads(file.read_text("utf-8"))
        telegram = {"enabled": True, "token": "999:stub", "allowFrom": ["*"], "groupPolicy": "open", "streaming": False}
        config["channels"] = {"telegram": telegram, "websocket": {"enabled": False}, "sendToolHints": False}
        config["gateway"] = {"heartbeat": {"enabled": True, "intervalS": 8}}
        file.write_text(json.dumps(config), "utf-8")
        (host.home / "bot").mkdir()
        (host.home / "bot/HEARTBEAT.md").write_text(f"# Heartbeat\n\n## Active Tasks\n\n- {HEARTBEAT}\n", "utf-8")
        settings = {**MEMORY, "identity": {"owner": [f"telegram:{OWNER}"]}}
        (tmp_path / "memory.json").write_text(json.dumps({"agents": {"defaults": {"memorySync": settings}}}), "utf-8")
        command: list[str | Path] = [python.with_name("gateway-memory"), "connect", "nanobot"]
        command += ["--workspace", tmp_path / "memory", "--config", tmp_path / "memory.json"]
        subprocess.run(command, env=host.environment, check=True)
        log = stack.enter_context((host.home / "log").open("a"))
        program = Path(__file__).with_name("nanobot_gateway.py")
        command = [python, "-u", program, str(api.port), str(free_port())]
        process = subprocess.Popen(command, cwd=host.home, env=host.environment, stdout=log, stderr=log)
        stack.callback(process.wait)
        stack.callback(process.kill)

        def ready() -> bool:
            with suppress(AssertionError):
                return "Memory of owner" in api.ask(OWNER, "/memory status", within=5)
            return False

        waited(ready, "no memory", within=120)
        yield Hour(model, api, GROUP, (OWNER, 2, 3), host=host)


def test_an_hour_leaves_only_what_people_have_said(hour: Hour) -> None:
    hour.own()
    hour.wait_for(HEARTBEAT)
    hour.own()
    hour.own(calling(PLAN, "cron", action="add", name="fee", message=CRON, every_seconds=6), text=PLAN)
    hour.wait_for(f"Cron job: {CRON}")
    hour.own()
    hour.in_the_group(3)
    hour.own(failing(503, 503))
    hour.own(failing("", "", ""))
    hour.own(calling(HELP, "spawn", task=TASK, label="bobbins"), text=HELP)
    hour.wait_for(TASK)
    hour.in_the_group(3)
    trigger = re.search(r"trg_\w+", hour.ask(OWNER, "/trigger Deployments"))
    assert trigger, "no trigger"
    command: list[str | Path] = [hour.host.python.with_name("nanobot"), "trigger", trigger[0], TRIGGERED]
    subprocess.run(command, env=hour.host.environment, check=True, stdout=subprocess.DEVNULL)
    hour.wait_for(TRIGGERED)
    hour.own()
    hour.own_at_once()
    hour.in_the_group(3)
    hour.ask(OWNER, "/new")
    hour.own()
    hour.in_the_group(3)
    hour.ask(OWNER, "/new")
    hour.own_rest()
    hour.group_at_once()
    hour.check(hour.turns, hour.memory, HEARTBEAT, CRON, TRIGGERED, TASK)
