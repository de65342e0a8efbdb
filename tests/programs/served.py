"""A service in a process of its own, and clients of it."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from patience import seconds

__all__ = ["OWNER", "Served", "facts", "service", "written"]

OWNER = {"key": "agent:main:main", "channel": "web", "chat_type": "direct"}
"""The facts of the owner, by the config that `written` writes."""
_WORDS_ALONE = {"autoExtract": {"model": "rules"}, "autoRecall": {"embedder": {"provider": "none"}}}
_START_SECONDS = 30.0


@dataclass(slots=True)
class Served:
    """A running service. log: what it prints. url: where it listens. tokens: the host tokens by agent."""

    process: subprocess.Popen[bytes]
    log: Path
    url: str
    tokens: Mapping[str, str]
    socket: str = ""

    def client(self, token: str | None = None, **values: Any) -> httpx2.Client:
        """Return a client with a token, the first agent's by default."""
        given = next(iter(self.tokens.values())) if token is None else token
        transport = httpx2.HTTPTransport(uds=self.socket) if self.socket else None
        headers = {"Authorization": f"Bearer {given}"} if given else {}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=seconds(30), transport=transport, **values)

    def post(self, call: str, body: Mapping[str, Any], *, agent: str = "") -> httpx2.Response:
        """Ask once, on a connection of its own."""
        with self.client(self.tokens[agent] if agent else None) as client:
            return client.post(f"/v1/{call}", json=body)

    def answer(self, call: str, body: Mapping[str, Any], *, agent: str = "") -> dict[str, Any]:
        """Return what a call is answered."""
        response = self.post(call, body, agent=agent)
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        return answer

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """End the service in order; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds(20))


def facts(sender: str, **values: Any) -> dict[str, Any]:
    """Return the facts of somebody's direct chat on Telegram."""
    key = f"agent:main:telegram:direct:{sender}"
    return {"key": key, "channel": "telegram", "chat_type": "direct", "sender_id": sender, **values}


def written(folder: Path, *, memory: Mapping[str, Any] | None = None, **serve: Any) -> Path:
    """Write a config of a service that loads no encoder."""
    settings = {**_WORDS_ALONE, "identity": {"channels": {"web": "owner"}}, **(memory or {})}
    path = folder / "config.json5"
    path.write_text(json.dumps({"agents": {"defaults": {"memorySync": settings}}, "serve": serve}), "utf-8")
    return path


@contextlib.contextmanager
def service(
    config: Path, *options: str, workspaces: Mapping[str, Path], program: str = "", verbose: bool = False
) -> Iterator[Served]:
    """Run a service meanwhile. program: another one than ours, which takes the same options."""
    start = [sys.executable, program] if program else [sys.executable, "-m", "gateway_memory.cli.entry"]
    log = config.with_suffix(".output")
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            [*start, *(["-v"] if verbose else []), "serve", "--config", str(config), *options],
            stdout=file,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
    try:
        until = time.monotonic() + seconds(_START_SECONDS)
        while not (found := re.search(r"serves at (\S+)\n", log.read_text("utf-8"))):
            assert process.poll() is None, log.read_text("utf-8")
            assert time.monotonic() < until
            time.sleep(0.02)
        address = found[1]
        tokens = {
            agent: (folder / ".gateway-memory" / "token").read_text().strip() for agent, folder in workspaces.items()
        }
        path = address.removeprefix("unix:") if address.startswith("unix:") else ""
        yield Served(process, log, "http://localhost" if path else address, tokens, path)
    finally:
        process.kill()
        process.wait()
