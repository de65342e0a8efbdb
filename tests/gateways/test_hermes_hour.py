"""An hour of a real Hermes: scheduled runs, background work, retries, helpers, a group of three, /new.

Hermes 0.19 has no heartbeat that asks its model: what it calls one only says that a process lives. By itself it starts
scheduled runs, and turns about helpers and work in the background that have ended. The first scheduled run is in a
process of the command line, the second one is the gateway's own. The group shares one conversation
(`group_sessions_per_user: false`), where Hermes puts the speaker's name before each message.
"""

import json
import re
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest
from hermes_host import environment, install
from hour import Talk, calling, failing, waited
from patience import seconds
from stub_model import Request, stub_model
from stub_telegram import stub_telegram

T = TypeVar("T")
OWNER = 1
GROUP = -100300
ROOM = f"room:telegram::{GROUP}"
CRON = "Look whether the user's kiln is above 900 degrees. Always answer in JSON."
TASK = "Count the bobbins. The user prefers them in rows of ten."
HELP = "Please let a helper count the bobbins."
BUILD = "Please run the long build."
PRINTED = "always deploy on Fridays"
CONFIG = """\
model:
  default: stub
  provider: custom
  base_url: http://127.0.0.1:{model}/v1
  api_key: none
group_sessions_per_user: false
memory:
  nudge_interval: 0
approvals:
  destructive_slash_confirm: false
telegram:
  require_mention: false
  extra:
    base_url: http://127.0.0.1:{telegram}/bot
"""


@dataclass
class Hour(Talk):
    """Everything that runs. run: runs a program of Hermes' environment, and returns what it prints."""

    home: Path = field(kw_only=True)
    python: Path = field(kw_only=True)

    @property
    def memory(self) -> Path:
        return self.home / "memory"

    def run(self, program: str, *arguments: str | Path) -> str:
        """Run a program of Hermes' environment, and return what it prints."""
        command = [self.python.with_name(program), *arguments]
        return subprocess.run(command, env=environment(self.home), check=True, stdout=subprocess.PIPE, text=True).stdout

    def turns(self) -> list[str]:
        """Return what the memories of the owner and of the group hold, and whatever another has with its name."""
        with closing(sqlite3.connect(self.memory / "journal.sqlite")) as journal:
            rows = journal.execute("SELECT scope, user FROM episodes ORDER BY turn").fetchall()
        return [user if scope in ("owner", ROOM) else f"{scope}: {user}" for scope, user in rows]

    def ask(self, person: int, text: str, *, group: int | None = None, quoting: str = "") -> str:
        """Let somebody write, wait until the model is shown it, and return what the bot sends."""
        chat = person if group is None else group
        before = sum(each.chat == chat for each in self.telegram.sent)
        self.telegram.write(person, text, group=group, quoting=quoting)
        if not text.startswith("/"):
            self.wait_for(text)
        return self._asking_again(lambda: self.telegram.reply(chat, after=before, within=seconds(20)))

    def wait_for(self, text: str) -> Request:
        """Wait until the model is shown something as a person's."""
        return self._asking_again(lambda: waited(lambda: self._shown(text), text, within=20))

    def _shown(self, text: str) -> Request | None:
        return next((each for each in self.model.requests if each.now(text)), None)

    def _asking_again(self, wait: Callable[[], T]) -> T:
        """Wait, and let the owner ask for Hermes' state where nothing comes.

        A message that comes while Hermes ends the turn before can be left lying there until somebody writes again.
        """
        for _ in range(4):
            with suppress(AssertionError):
                return wait()
            for group in (None, GROUP):
                self.telegram.write(OWNER, "/status", group=group)
        return wait()

    def speakers(self) -> list[tuple[str, str]]:
        """Return who speaks in the group: names and keys."""
        with closing(sqlite3.connect(self.memory / "journal.sqlite")) as journal:
            rows = journal.execute("SELECT user, speaker FROM episodes WHERE scope = ?", [ROOM]).fetchall()
        return [(re.split("[:：]", user)[0], speaker) for user, speaker in rows]

    def new(self, person: int, *, group: int | None = None) -> None:
        """Let somebody write /new, and wait until Hermes says that it has begun anew."""
        chat = person if group is None else group

        def resets() -> int:
            return sum("Session reset" in each.text for each in self.telegram.sent if each.chat == chat)

        before = resets()
        self.telegram.write(person, "/new", group=group)
        waited(lambda: resets() > before, "/new")

    def scheduled_runs(self) -> int:
        """Return how many runs of the job have asked the model."""
        return sum(bool(each.now(CRON)) for each in self.model.requests)


@pytest.fixture
def hour(tmp_path: Path) -> Iterator[Hour]:
    with ExitStack() as stack:
        model, telegram = stack.enter_context(stub_model()), stack.enter_context(stub_telegram())
        found = Hour(model, telegram, GROUP, (OWNER, 2, 3), home=tmp_path, python=install())
        (tmp_path / ".hermes").mkdir()
        text = CONFIG.format(model=model.port, telegram=telegram.port)
        (tmp_path / ".hermes/config.yaml").write_text(text, "utf-8")
        kept = {"model": "rules", "excludeSessionTypes": []}
        settings = {
            "agents": {"defaults": {"memorySync": {"autoExtract": kept, "identity": {"owner": ["telegram:1"]}}}}
        }
        (tmp_path / "memory.json").write_text(json.dumps(settings), "utf-8")
        found.run(
            "gateway-memory", "connect", "hermes", "--workspace", found.memory, "--config", tmp_path / "memory.json"
        )
        log = stack.enter_context((tmp_path / "log").open("a"))
        program = [str(found.python), "-u", "-m", "gateway.run"]
        process = subprocess.Popen(program, cwd=tmp_path, env=environment(tmp_path), stdout=log, stderr=log)
        stack.callback(process.wait)
        stack.callback(process.kill)
        yield found


def test_an_hour_leaves_only_what_people_have_said(hour: Hour) -> None:
    hour.own()
    hour.own()
    added = hour.run("hermes", "cron", "create", "every 1h", CRON, "--name", "kiln", "--deliver", f"telegram:{OWNER}")
    job = re.search(r"\b[0-9a-f]{12}\b", added)
    assert job, added
    hour.run("hermes", "cron", "run", job[0])
    hour.run("hermes", "cron", "tick")
    hour.wait_for(CRON)
    hour.run("hermes", "cron", "run", job[0])  # the gateway's own scheduler looks once a minute
    hour.own()
    hour.in_the_group(3)
    hour.ask(3, "/retry", group=GROUP)
    hour.ask(2, "/retry", group=GROUP)
    hour.own(failing(503, 503))
    hour.own(failing("", ""))
    hour.ask(OWNER, "/retry")
    hour.own(calling(HELP, "delegate_task", goal=TASK), text=HELP)
    hour.wait_for(TASK)
    hour.own(
        calling(BUILD, "terminal", command=f"sleep 1; echo {PRINTED}", background=True, notify_on_complete=True),
        text=BUILD,
    )
    hour.in_the_group(3, quoting="Who brings what?")
    hour.own(quoting="I would start with madder; indigo wants practice.")
    hour.wait_for(PRINTED)
    hour.own_at_once()
    hour.in_the_group(3)
    hour.new(OWNER)
    hour.own()
    hour.in_the_group(3)
    hour.new(2, group=GROUP)
    waited(lambda: hour.scheduled_runs() > 1, "the gateway's scheduler runs the job", within=180)
    hour.new(OWNER)
    hour.own_rest()
    hour.group_at_once(joins=True)
    hour.check(hour.turns, hour.memory, CRON, TASK, PRINTED)
    assert set(hour.speakers()) == {("Person 1", "owner"), ("Person 2", key_of(2)), ("Person 3", key_of(3))}


def key_of(person: int) -> str:
    return f"user:telegram::{person}"
