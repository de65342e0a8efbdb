"""A search in a shell asks the gateway that has the workspace open; where there is none, it works for itself."""

import asyncio
import json
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway_memory import OWNER, Config, GatewayMemory, load_config
from gateway_memory.edge.shell_socket import ask

BIKE = "I own a Canyon Grail gravel bike"
QUESTION = "which bicycle do I have?"
ASKED = {"agent": "main", "query": QUESTION, "limit": 3, "user": None, "room": None}


@pytest.fixture(autouse=True)
def sockets(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for the sockets: the path of one has about a hundred characters at most."""
    folder = Path(tempfile.mkdtemp(prefix="gm-"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    yield folder / f"gateway-memory-{os.getuid()}"
    shutil.rmtree(folder)


async def shell(workspace: Path, *words: str) -> str:
    """Run `gateway-memory search` in a process of its own, and return what it prints."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "gateway_memory.cli.entry", "search", *words, "--workspace", str(workspace)),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode()


async def tell(memory: GatewayMemory) -> None:
    session = await memory.start_session("one", user=OWNER)
    await memory.after_reply(session, user=f"Remember that {BIKE}.", reply="OK")
    await memory.flush()
    await memory.search(session, QUESTION)  # the encoder is loaded


async def test_the_gateway_answers_by_meaning(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        await tell(memory)
        found: dict[str, Any] = json.loads(await shell(tmp_path, QUESTION, "--max-results", "3"))
        assert found["semantic"]
        assert [row["content"] for row in found["results"]] == [BIKE]
        assert BIKE in await shell(tmp_path, QUESTION)
        assert json.loads(await shell(tmp_path, QUESTION, "--json"))["semantic"]
        assert json.loads(await shell(tmp_path, QUESTION, "--max-results", "3", "--user", "zoe"))["results"] == []
        assert await asyncio.to_thread(ask, tmp_path, ASKED | {"agent": "other"}) is None
    assert not json.loads(await shell(tmp_path, QUESTION, "--max-results", "3"))["semantic"]
    assert BIKE in await shell(tmp_path, QUESTION), "a search by a person loads the encoder"


async def test_words_alone_are_said_to_be_so(tmp_path: Path) -> None:
    defaults = load_config().defaults
    recall = replace(defaults.auto_recall, embedder=replace(defaults.auto_recall.embedder, provider="none"))
    async with GatewayMemory(Config(defaults=replace(defaults, auto_recall=recall)), tmp_path) as memory:
        await tell(memory)
        assert "(by words alone: there are no vectors now)" in await shell(tmp_path, "gravel bike")
        assert not json.loads(await shell(tmp_path, "gravel bike", "--max-results", "3"))["semantic"]


async def test_the_switch_closes_the_socket(tmp_path: Path, sockets: Path) -> None:
    defaults = load_config().defaults
    config = Config(defaults=replace(defaults, commands=replace(defaults.commands, socket=False)))
    async with GatewayMemory(config, tmp_path):
        assert not sockets.exists()
    async with GatewayMemory(load_config(), tmp_path):
        assert len(list(sockets.iterdir())) == 1
        assert sockets.stat().st_mode & 0o077 == 0
    assert list(sockets.iterdir()) == []


async def test_a_dead_gateway_and_a_strange_one_are_passed_over(tmp_path: Path, sockets: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        await tell(memory)
        (own,) = sockets.iterdir()
        dead = own.with_name(own.name.rpartition("-")[0] + "-1.sock")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(dead))
        told = await asyncio.to_thread(ask, tmp_path, ASKED)
        assert told is not None
        assert told["rows"]
        assert not dead.exists()
        for line in (
            b"",
            b"no json\n",
            b"[]\n",
            b'{"agent": "main"}\n',
            b'{"agent": "main", "query": 5, "limit": "x"}\n',
        ):
            reader, writer = await asyncio.open_unix_connection(own)
            writer.write(line)
            writer.write_eof()
            assert await reader.read() in (b"", b"{}\n")
            writer.close()
        sockets.chmod(0o755)
        assert await asyncio.to_thread(ask, tmp_path, ASKED) is None, "others could have put a socket there"
        sockets.chmod(0o700)
