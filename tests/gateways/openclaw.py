"""The real OpenClaw: installed from npm, started unmodified in folders of its own, driven over HTTP and websocket."""

import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loopback import free_port
from npm import installed, node
from patience import seconds

VERSION = "2026.9.6"
OWNER = 111
"""The Telegram account of the owner."""
TOKEN = "gateway-token"
_START_SECONDS = 120.0
_ENVIRONMENT = ("PATH", "LANG", "TZ", "TMPDIR")


@dataclass(frozen=True, kw_only=True)
class Installation:
    """A folder with OpenClaw and its Node."""

    folder: Path

    @property
    def node(self) -> Path:
        return node(self.folder)

    @property
    def program(self) -> Path:
        return self.folder / "node_modules/openclaw/openclaw.mjs"


def install() -> Installation:
    """Install OpenClaw by npm into `.gateways/`, unless it is there."""
    return Installation(folder=installed(f"openclaw-{VERSION}", f"openclaw@{VERSION}"))


def base_config(*, port: int, model: int, telegram: int, workspace: Path) -> dict[str, Any]:
    """Return a config with a stub model and the Telegram channel, that keeps the gateway from calling out."""
    return {
        "gateway": {
            "mode": "local",
            "port": port,
            "bind": "loopback",
            "auth": {"mode": "token", "token": TOKEN},
            "controlUi": {"enabled": False},
            "http": {"endpoints": {"chatCompletions": {"enabled": True}}},
        },
        "update": {"checkOnStart": False},
        "telemetry": {"enabled": False},
        "discovery": {"mdns": {"mode": "off"}},
        "cron": {"enabled": False},
        "models": {
            "mode": "replace",
            "catalogRefresh": {"enabled": False},
            "providers": {
                "stub": {
                    "baseUrl": f"http://127.0.0.1:{model}/v1",
                    "apiKey": "none",
                    "api": "openai-completions",
                    "models": [
                        {
                            "id": "stub",
                            "name": "Stub",
                            "reasoning": False,
                            "input": ["text"],
                            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
                            "contextWindow": 100000,
                            "maxTokens": 4096,
                        }
                    ],
                }
            },
        },
        "agents": {"defaults": {"model": {"primary": "stub/stub"}, "workspace": str(workspace)}},
        "hooks": {"internal": {"enabled": True, "entries": {"session-memory": {"enabled": True}}}},
        "commands": {"ownerAllowFrom": [f"telegram:{OWNER}"]},
        "channels": {
            "telegram": {
                "enabled": True,
                "botToken": "999:stub",
                "apiRoot": f"http://127.0.0.1:{telegram}",
                "dmPolicy": "open",
                "allowFrom": ["*"],
                "groupPolicy": "open",
                "groups": {"*": {"requireMention": False}},
                "streaming": {"mode": "off"},
            }
        },
    }


@dataclass
class OpenClaw:
    """A gateway in a folder: its home, its state, its config."""

    installation: Installation
    home: Path
    port: int = field(default_factory=free_port)
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def config(self) -> Path:
        return self.home / ".openclaw/openclaw.json"

    @property
    def log(self) -> Path:
        return self.home / "gateway.log"

    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        path = f"{self.installation.node.parent}{os.pathsep}{kept.get('PATH', '')}"
        ours = {"HOME": str(self.home), "OPENCLAW_STATE_DIR": str(self.home / ".openclaw"), "PATH": path}
        off = {"OPENCLAW_NO_AUTO_UPDATE": "1", "OPENCLAW_DISABLE_BONJOUR": "1", "OPENCLAW_NO_RESPAWN": "1"}
        return {**kept, **ours, **off}

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run OpenClaw's own command."""
        command = [str(self.installation.node), str(self.installation.program), *arguments]
        return subprocess.run(
            command,
            env=self.environment(),
            cwd=self.home,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds(120),
        )

    def start(self) -> None:
        """Start the gateway, and wait until it answers."""
        command = [str(self.installation.node), str(self.installation.program), "gateway", "run"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, env=self.environment(), cwd=self.home, stdout=log, stderr=log, start_new_session=True
            )
        end = time.monotonic() + seconds(_START_SECONDS)
        while time.monotonic() < end:
            assert self.process.poll() is None, f"OpenClaw stopped:\n{self.log.read_text('utf-8')[-4000:]}"
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=seconds(2)) as answer:
                    if answer.status == 200:
                        return
            except (urllib.error.URLError, OSError):
                pass
            time.sleep(0.1)
        raise AssertionError(f"OpenClaw does not answer:\n{self.log.read_text('utf-8')[-4000:]}")

    def stop(self, kind: signal.Signals = signal.SIGTERM) -> None:
        """End the gateway in order, or by a signal that leaves it no time."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, kind)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self.process = None

    def chat(self, message: str, *, user: str = "", key: str = "", channel: str = "", timeout: float = 60) -> str:
        """Send a message over the OpenAI-compatible surface, and return the reply."""
        body: dict[str, Any] = {"model": "openclaw", "messages": [{"role": "user", "content": message}]}
        if user:
            body["user"] = user
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        if key:
            headers["x-openclaw-session-key"] = key
        if channel:
            headers["x-openclaw-message-channel"] = channel
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/v1/chat/completions", json.dumps(body).encode(), headers
        )
        with urllib.request.urlopen(request, timeout=seconds(timeout)) as answer:  # noqa: S310 - loopback
            return str(json.load(answer)["choices"][0]["message"]["content"])


@dataclass
class Websocket:
    """A client of the gateway's websocket with the gateway's token."""

    process: "subprocess.Popen[str]"
    _frames: Iterator[dict[str, Any]] = field(init=False)

    def __post_init__(self) -> None:
        assert self.process.stdout is not None
        self._frames = map(json.loads, self.process.stdout)
        assert self._next(lambda frame: frame.get("id") == "connect")["ok"]

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method, and return what it answers."""
        answer = self._next(self._sent(method, params))
        assert answer["ok"], answer
        payload: dict[str, Any] = answer["payload"]
        return payload

    def chat(self, key: str, message: str) -> str:
        """Send a message into a session, and return the reply."""
        run = uuid.uuid4().hex
        self._sent("chat.send", {"sessionKey": key, "message": message, "idempotencyKey": run})
        final = self._next(
            lambda frame: (
                frame.get("event") == "chat"
                and frame["payload"]["runId"] == run
                and frame["payload"]["state"] in ("final", "error")
            )
        )
        return "".join(part.get("text", "") for part in final["payload"]["message"]["content"])

    def _sent(self, method: str, params: dict[str, Any]) -> Callable[[dict[str, Any]], bool]:
        assert self.process.stdin is not None
        call = uuid.uuid4().hex
        self.process.stdin.write(json.dumps({"id": call, "method": method, "params": params}) + "\n")
        self.process.stdin.flush()
        return lambda frame: frame.get("id") == call

    def _next(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        found = next(filter(wanted, self._frames), None)
        assert found is not None, "the websocket was closed"
        return found


@contextmanager
def websocket(gateway: OpenClaw) -> Iterator[Websocket]:
    """Connect as an operator with every right until the block ends."""
    program = Path(__file__).with_name("websocket.mjs")
    scopes = "operator.admin,operator.read,operator.write"
    command = [str(gateway.installation.node), str(program), f"ws://127.0.0.1:{gateway.port}", TOKEN, scopes]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield Websocket(process)
    finally:
        process.kill()
        process.communicate()


@contextmanager
def openclaw(installation: Installation, home: Path, port: int) -> Iterator[OpenClaw]:
    """Start a gateway with the config in its home, and stop it when the block ends."""
    gateway = OpenClaw(installation=installation, home=home, port=port)
    try:
        gateway.start()
        yield gateway
    finally:
        gateway.stop()
