"""The service of this checkout, as a process that a test can stop, kill and let hang, and start again on its port."""

import json
import signal
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loopback import free_port
from patience import seconds

_COMMAND = (sys.executable, "-m", "gateway_memory.cli.entry")
_SECONDS = 60.0


@dataclass
class LiveService:
    """folder: for the workspace, the config and what the service prints."""

    folder: Path
    identity: dict[str, Any]
    port: int = field(default_factory=free_port)
    _process: "subprocess.Popen[bytes] | None" = None

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def config(self) -> Path:
        return self.folder / "config.json5"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the service, which keeps what groups say too, and wait until its memory is open."""
        settings = {"autoExtract": {"model": "rules", "excludeSessionTypes": []}, "identity": self.identity}
        self.config.write_text(json.dumps({"agents": {"defaults": {"memorySync": settings}}}), "utf-8")
        where = ("--workspace", str(self.workspace), "--config", str(self.config), "--port", str(self.port))
        with (self.folder / "service.log").open("ab") as log:
            self._process = subprocess.Popen([*_COMMAND, "serve", *where], stdout=log, stderr=log)
        end = time.monotonic() + seconds(_SECONDS)
        while not self.is_ready():
            assert self._process.poll() is None, (self.folder / "service.log").read_text("utf-8")
            assert time.monotonic() < end, "the service does not answer"
            time.sleep(0.05)

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=seconds(2)) as answer:  # noqa: S310 - loopback
                return bool(answer.status == 200)
        except OSError:
            return False

    def signal(self, kind: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(kind)

    def kill(self) -> None:
        """End the service without a chance to tidy up."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """End the service in order."""
        assert self._process is not None
        self._process.terminate()
        assert self._process.wait(30) == 0

    def post(self, call: str, body: dict[str, Any]) -> dict[str, Any]:
        """Ask as a gateway does."""
        token = (self.workspace / ".gateway-memory/token").read_text("utf-8").strip()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/v1/{call}", json.dumps(body).encode(), headers)  # noqa: S310 - loopback
        with urllib.request.urlopen(request, timeout=seconds(30)) as answer:  # noqa: S310 - loopback
            found: dict[str, Any] = json.load(answer)
        return found

    def flush(self) -> None:
        """Process every turn that the service has."""
        self.post("flush", {})

    def turns(self) -> list[dict[str, Any]]:
        """Return what was said, in the order in which the memory has it."""
        command = [*_COMMAND, "export", "--workspace", str(self.workspace), "--config", str(self.config)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return [each for each in map(json.loads, done.stdout.splitlines()) if each["kind"] == "episode"]
