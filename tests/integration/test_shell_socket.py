"""A shell's search and a prompt's hook ask the gateway that has the workspace open; without one, they search alone."""

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
from editor import compiled, hook
from patience import seconds

from gateway_memory import OWNER, Config, GatewayMemory, load_config
from gateway_memory.edge.shell_socket import ask, listening

pytestmark = pytest.mark.slow

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


def prompted(workspace: Path, prompt: str, session: str = "editor") -> str:
    """What an editor's session is told beside a prompt. Its hook loads no encoder."""
    answer = hook("userPromptSubmit", workspace, conversation_id=session, prompt=prompt)
    assert answer["continue"] is True
    return str(answer.get("additional_context", ""))


async def test_the_gateway_answers_a_prompts_hook_by_meaning_and_each_session_once(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), compiled(tmp_path)) as memory:
        await tell(memory)

        async def told(prompt: str, session: str) -> bool:
            return BIKE in await asyncio.to_thread(prompted, tmp_path, prompt, session)

        assert await told(QUESTION, "one")
        assert not await told(QUESTION, "one"), "its context holds it"
        assert await told(f"<private>the code is 4711</private> {QUESTION}", "two")
        for quiet in ("thanks!", "hello", "/compact", "<private>which bicycle do I have?</private>"):
            assert not await told(quiet, "three")
        asked = {"agent": "main", "prompt": QUESTION, "limit": 3, "min_score": 1.0}
        assert await asyncio.to_thread(ask, tmp_path, asked) == {"rows": []}, (
            "it is relevant by the hook's own settings"
        )
        session = await memory.start_session("four", user=OWNER)
        await memory.command(session, "/memory off")
        assert not await told(QUESTION, session.session_id), "the session is a gateway's"
    assert not prompted(tmp_path, QUESTION, "later"), "by words alone, nothing says the same"
    assert BIKE in prompted(tmp_path, "do I own a gravel bike?", "later")


async def test_a_prompts_hook_searches_alone_where_a_gateway_hangs_or_answers_strangely(tmp_path: Path) -> None:
    workspace = compiled(tmp_path / ".memory")
    (tmp_path / ".cursor").mkdir()
    ours = {"command": "gateway-memory hook userPromptSubmit", "timeout": seconds(4)}
    (tmp_path / ".cursor" / "hooks.json").write_text(json.dumps({"hooks": {"beforeSubmitPrompt": [ours]}}), "utf-8")
    async with GatewayMemory(load_config(), workspace) as memory:
        await tell(memory)
    asked: list[str] = []

    async def hanging(_: object) -> dict[str, Any]:
        asked.append("hanging")
        await asyncio.Event().wait()
        return {}

    async def strange(_: object) -> dict[str, Any]:
        asked.append("strange")
        return {"rows": [{"other": 1}]}

    for answer in (hanging, strange):
        async with listening(workspace, answer):
            told = await asyncio.to_thread(prompted, workspace, "do I own a gravel bike?", answer.__name__)
        assert BIKE in told
    assert asked == ["hanging", "strange"]


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
