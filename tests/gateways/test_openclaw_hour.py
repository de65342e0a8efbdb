"""An hour of a real OpenClaw: heartbeats, cron runs, retries, helpers, a group of three. Only people are remembered."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hour import Talk, calling, failing, waited
from live_service import LiveService
from loopback import free_port
from openclaw import OWNER, Installation, Websocket, base_config, openclaw, websocket
from stub_model import Request, stub_model
from stub_telegram import stub_telegram

GROUP = -1001
CRON = "Always answer in JSON. Look whether the user's kiln is above 900 degrees and report it to the guild."
EVENT = "Reminder: the user's kiln must be checked, and I prefer short reports."
WAKE = "Backup finished: remember that the user's archive is 40 GB."
HELP = "Please let a helper count the bobbins."
TASK = "Count the bobbins. The user prefers them in rows of ten."
BUILD = "Please run the long build."
PRINTED = "always deploy on Fridays"
FRESH = "Please look at my notes first."


@dataclass
class Hour(Talk):
    """Everything that runs."""

    service: LiveService = field(kw_only=True)
    socket: Websocket = field(kw_only=True)

    def run(self, job: str) -> None:
        """Let a job of the scheduler run now, and wait for its end."""
        run = self.socket.call("cron.run", id=job, mode="force")["runId"]
        waited(
            lambda: [each for each in self.socket.call("cron.runs", id=job)["entries"] if each.get("runId") == run], job
        )

    def job(self, session: str, payload: dict[str, str], **given: object) -> str:
        """Add a job to OpenClaw's scheduler, and return its id."""
        added = self.socket.call("cron.add", name=session, sessionTarget=session, payload=payload, **given)
        return str(added["id"])

    def heartbeat(self) -> str:
        """Return the id of OpenClaw's own job for its heartbeat, which it makes after its start."""

        def named() -> str | None:
            jobs = self.socket.call("cron.list", includeDisabled=True)["jobs"]
            return next((each["id"] for each in jobs if "eartbeat" in each["name"]), None)

        return waited(named, "no heartbeat")

    def write(self, text: str) -> None:
        """Let the owner write, without waiting for a reply."""
        self.said.append(text)
        self.telegram.write(OWNER, text)

    def turns(self) -> list[str]:
        """Return what was said, as the memory has it."""
        self.service.flush()
        return [each["user"] for each in self.service.turns()]


@pytest.fixture
def hour(installed_openclaw: Installation, tmp_path: Path) -> Iterator[Hour]:
    folder, home = tmp_path / "service", tmp_path / "openclaw"
    folder.mkdir()
    with ExitStack() as stack:
        model, telegram = stack.enter_context(stub_model()), stack.enter_context(stub_telegram())
        port = free_port()
        config = base_config(port=port, model=model.port, telegram=telegram.port, workspace=home / "workspace")
        config["cron"] = {"enabled": True}
        config["agents"]["defaults"]["heartbeat"] = {"every": "30m"}
        path = home / ".openclaw/openclaw.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(config), "utf-8")
        service = LiveService(folder, {"owner": ["openclaw:operator", f"telegram:{OWNER}"]})
        stack.callback(service.kill)
        service.start()
        where = ["--file", str(path), "--workspace", str(service.workspace), "--url", service.url]
        subprocess.run([sys.executable, "-m", "gateway_memory.cli.entry", "connect", "openclaw", *where], check=True)
        socket = stack.enter_context(websocket(stack.enter_context(openclaw(installed_openclaw, home, port))))
        yield Hour(model, telegram, GROUP, (OWNER, 222, 333), service=service, socket=socket)


def silent(request: Request) -> str | None:
    """Answer a heartbeat as OpenClaw asks for it."""
    return "NO_REPLY" if request.now("[OpenClaw heartbeat poll]") else None


def test_an_hour_leaves_only_what_people_have_said(hour: Hour) -> None:
    hour.model.rules.append(silent)
    given = {"schedule": {"kind": "every", "everyMs": 3_600_000}, "wakeMode": "now"}
    sent = {"mode": "announce", "channel": "telegram", "to": str(OWNER)}
    alone = hour.job("isolated", {"kind": "agentTurn", "message": CRON}, delivery=sent, **given)
    within = hour.job("main", {"kind": "systemEvent", "text": EVENT}, **given)
    heartbeat = hour.heartbeat()
    hour.own()
    hour.run(heartbeat)
    hour.own()
    hour.run(alone)
    hour.wait_for(CRON)
    hour.own()
    hour.run(within)
    hour.wait_for(EVENT)
    hour.in_the_group(3)
    for tried_again in ((503, 503, ""), ("",), ("NO_REPLY",)):
        hour.own(failing(*tried_again))
    hour.own(quoting="I would start with madder; indigo wants practice.")
    hour.socket.call("wake", mode="now", text=WAKE)
    hour.wait_for(WAKE)
    hour.in_the_group(3, quoting="Who brings what?")
    hour.own_at_once()
    hour.ask(OWNER, "/new")
    hour.own()
    hour.own(calling(HELP, "tool_call", id="sessions_spawn", args={"task": TASK}), text=HELP)
    hour.wait_for(TASK)
    hour.own(calling(BUILD, "exec", command=f"sleep 1; echo {PRINTED}", background=True), text=BUILD)
    hour.in_the_group(3)
    hour.own()
    hour.run(alone)
    hour.ask(OWNER, f"/new {FRESH}")
    hour.said.append(FRESH)
    hour.own_rest()
    hour.group_at_once()
    hour.run(heartbeat)
    hour.check(hour.turns, hour.service.workspace, CRON, EVENT, WAKE, TASK, PRINTED)
