"""A Mosquitto of a test's own: on a free port of this machine, in a folder that is thrown away."""

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest
from patience import seconds

MOSQUITTO = shutil.which("mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
PASSWD = shutil.which("mosquitto_passwd")

needs_mosquitto = pytest.mark.skipif(MOSQUITTO is None, reason="no mosquitto is installed")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


class Mosquitto:
    """`with Mosquitto(tmp_path) as broker`; `options` are lines of its config."""

    def __init__(self, folder: Path, *options: str, persistent: bool = False, port: int = 0) -> None:
        self.port = port or free_port()
        self._folder = folder / f"broker-{self.port}"
        self._options = options or ("allow_anonymous true",)
        self._persistent = persistent
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        assert MOSQUITTO is not None
        self._folder.mkdir(parents=True, exist_ok=True)
        self._folder.chmod(0o777)
        lines = [f"listener {self.port} 127.0.0.1", "set_tcp_nodelay true", *self._options]
        if self._persistent:
            lines += ["persistence true", f"persistence_location {self._folder}/", "autosave_interval 1"]
        if os.geteuid() == 0:
            lines.append("user root")
        config = self._folder / "mosquitto.conf"
        config.write_text("\n".join(lines) + "\n")
        log = (self._folder / "log").open("ab")
        self._process = subprocess.Popen([MOSQUITTO, "-c", str(config)], stdout=log, stderr=log)
        log.close()
        deadline = time.monotonic() + seconds(10)
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.01)
            else:
                return
        raise AssertionError((self._folder / "log").read_text("utf-8", "replace")[-2000:])

    def kill(self) -> None:
        """As the kernel would, out of memory: nothing is saved."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._process = None

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
