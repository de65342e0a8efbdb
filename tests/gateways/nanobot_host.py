"""The real nanobot, unmodified, in an environment of its own: installed by pip, and driven over its message bus."""

import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from patience import seconds

ROOT = Path(__file__).parents[2]
VERSION = "0.3.5"
_START_SECONDS = 60.0


CHANNELS = (
    *("python-telegram-bot[socks,webhooks]>=22.6,<23.0", "discord.py>=2.5.2,<3.0.0"),
    *("slack-sdk>=3.39.0,<4.0.0", "slackify-markdown>=0.2.0,<1.0.0", "aiohttp>=3.9.0,<4.0.0"),
)
"""What nanobot itself installs when its channels are switched on."""


def install() -> Path:
    """Install nanobot and gateway-memory into `.gateways/`, unless they are there. Return the Python."""
    folder = ROOT / ".gateways" / f"nanobot-{VERSION}"
    python, done = folder / "bin/python", folder / "installed"
    project = (ROOT / "pyproject.toml").read_text("utf-8")  # the plugin's entry points are part of the installation
    if not done.exists() or done.read_text("utf-8") != project:
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip: list[str | Path] = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
        subprocess.run([*pip, f"nanobot-ai=={VERSION}", *CHANNELS, "--editable", ROOT], check=True)
        for copied in folder.glob("lib/*/site-packages/gateway_memory_nanobot"):
            shutil.rmtree(copied)  # it would hide the one in the checkout
        done.write_text(project, "utf-8")
    return python


class Nanobot:
    """One nanobot in a home folder."""

    def __init__(self, python: Path, home: Path, model: int) -> None:
        self.python, self.home = python, home
        self.process: subprocess.Popen[str] | None = None
        self._said: queue.Queue[dict[str, Any]] = queue.Queue()
        config = {
            "agents": {
                "defaults": {
                    "workspace": str(home / "bot"),
                    "provider": "custom",
                    "model": "stub",
                    "dream": {"enabled": False},
                }
            },
            "providers": {"custom": {"apiBase": f"http://127.0.0.1:{model}/v1", "apiKey": "none"}},
        }
        (home / ".nanobot").mkdir(parents=True)
        (home / ".nanobot/config.json").write_text(json.dumps(config), "utf-8")

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TZ", "TMPDIR") if name in os.environ}
        return {**kept, "HOME": str(self.home)}

    def start(self) -> None:
        """Start it, and wait until it listens."""
        program = Path(__file__).with_name("nanobot_bus.py")
        with (self.home / "log").open("a") as log:
            self.process = subprocess.Popen(
                [self.python, "-u", program],
                cwd=self.home,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self._reader = threading.Thread(target=self._read, args=(self.process,), daemon=True)
        self._reader.start()
        assert "ready" in self._said.get(timeout=_START_SECONDS), (self.home / "log").read_text()

    def _read(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("{"):
                self._said.put(json.loads(line))

    def kill(self) -> None:
        """End it as a crash does."""
        assert self.process is not None
        self.process.kill()
        self._reader.join()
        self.process.communicate()

    def ask(self, sender: str, text: str, *, group: str = "", within: float = 20, **given: Any) -> str:
        """Write a message as Telegram's channel puts it onto the bus, and return the reply."""
        chat_id = self.tell(sender, text, group=group, **given)
        end = time.monotonic() + seconds(within)
        while True:
            said = self._said.get(timeout=max(0.1, end - time.monotonic()))
            if said["chat_id"] == chat_id:
                return str(said["content"])

    def tell(self, sender: str, text: str, *, group: str = "", **given: Any) -> str:
        """Write a message as Telegram's channel puts it onto the bus, and return the id of its chat."""
        message = {
            "channel": "telegram",
            "sender_id": sender,
            "chat_id": group or sender.partition("|")[0],
            "content": text,
            "metadata": {"is_group": bool(group), "first_name": f"Person {sender}"},
            **given,
        }
        assert self.process is not None
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        return str(message["chat_id"])


@contextmanager
def nanobot(python: Path, home: Path, model: int) -> Iterator[Nanobot]:
    """Yield a nanobot that is not started, and end it afterwards."""
    host = Nanobot(python, home, model)
    try:
        yield host
    finally:
        if host.process is not None and host.process.poll() is None:
            host.kill()
