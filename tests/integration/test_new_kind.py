"""A kind of scope that stands in the table of kinds alone has all that the others have."""

import asyncio
import json
import os
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from inside import parts
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from patience import seconds, until
from served import written

from gateway_memory import OWNER, GatewayMemory, UsageError, load_config
from gateway_memory.cli.main import main
from gateway_memory.commands.dispatch import answer_request
from gateway_memory.config.settings import serve_options
from gateway_memory.scope import KINDS, Kind, Scope
from gateway_memory.serving.access import host_token_path
from gateway_memory.serving.mcp import mcp_routes
from gateway_memory.serving.page.mount import page_routes
from gateway_memory.serving.server import serve

pytestmark = pytest.mark.xdist_group("service")

TEAM = Kind(
    name="team",
    folder="teams",
    is_shared=True,
    may_be_joined=True,
    speaker="one of a team",
    title=("Team", "团队"),
    possessive="a team's",
)
RED = {"team": "red"}
KEY = "agent:main:web:direct:red"
SAID = "Remember that the red locker opens with 4711."
TEXT = "the red locker opens with 4711"


@pytest.fixture(autouse=True)
def _kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "team", TEAM)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return written(tmp_path, port=0)


@pytest.fixture
async def place(tmp_path: Path, config: Path) -> list[str]:
    """A workspace in which the team has said something; the options that name it."""
    workspace = tmp_path / "memory"
    async with GatewayMemory(load_config(config), workspace) as memory:
        session = await memory.start_session(KEY, **RED)  # type: ignore[arg-type]
        await memory.after_reply(session, user=SAID, reply="OK.")
        await memory.flush()
        await memory.end_session(session, reason="completed")
    return ["--workspace", str(workspace), "--config", str(config)]


@asynccontextmanager
async def opened(place: list[str]) -> AsyncIterator[GatewayMemory]:
    async with GatewayMemory(load_config(Path(place[3])), Path(place[1])) as memory:
        yield memory


async def told(place: list[str], **whose: object) -> str:
    """Return what a new session is told, at its start and before a reply."""
    async with opened(place) as memory:
        session = await memory.start_session("new", **whose)  # type: ignore[arg-type]
        return session.opening + (await memory.before_reply(session, "What opens the red locker?")).text


async def shell(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a command of the shell, and return what it prints."""
    capsys.readouterr()
    code = await asyncio.to_thread(main, list(arguments))
    said = capsys.readouterr()
    assert code == 0, said.err
    return said.out


async def test_its_sessions_are_told_and_no_others(place: list[str]) -> None:
    assert "4711" in await told(place, team="red")
    assert "4711" in await told(place, user=OWNER, team="red")
    assert "4711" not in await told(place, team="blue")
    assert "4711" not in await told(place, user="red")
    assert "4711" not in await told(place, user=OWNER)


async def test_it_is_searched_listed_and_named_in_the_shell(
    place: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert TEXT in await shell(capsys, "search", "red locker", "--team", "red", *place)
    assert TEXT in await shell(capsys, "list", "--team", "red", *place)
    assert TEXT not in await shell(capsys, "list", *place)
    with pytest.raises(SystemExit):
        await asyncio.to_thread(main, ["list", "--help"])
    assert "a team's memory instead of the owner's" in " ".join(capsys.readouterr().out.split())
    async with opened(place) as memory:
        assert await memory.browsing.scopes() == ["owner", "team:red"]


async def test_its_memories_leave_and_come_back(
    place: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, folder, config = tmp_path / "all.jsonl", tmp_path / "files", place[3]
    await shell(capsys, "export", "--output", str(file), *place)
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert TEXT in {row.get("text") for row in rows if row.get("scope") == "team:red"}
    await shell(capsys, "export", "--format", "markdown", "--output", str(folder), *place)
    assert [path for path in folder.rglob("*.md") if TEXT in path.read_text("utf-8")]
    other = ["--workspace", str(tmp_path / "other"), "--config", config]
    await shell(capsys, "import", "jsonl", str(file), *other)
    assert TEXT in await shell(capsys, "list", "--team", "red", *other)


async def test_its_files_are_swept(place: list[str]) -> None:
    folder = Path(place[1]) / Scope.parse("team:red").folder
    draft = folder / ".7ffffff0-1.tmp"
    draft.write_bytes(b"left by a process that died")
    async with opened(place) as memory:
        await parts(memory).storage.documents.sweep()
        await until(lambda: not draft.exists())


async def test_it_is_linked_with_nobody(place: list[str]) -> None:
    async with opened(place) as memory:
        session = await memory.start_session(KEY, **RED)  # type: ignore[arg-type]
        answer = await memory.answer(session, "/memory link")
        assert answer is not None
        assert not answer.done


async def test_it_is_deleted_with_proof(place: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    proof = await shell(capsys, "delete", "--scope", "team:red", "--yes", *place)
    assert re.search(r"journal memories: +[1-9]\d* +→ +0|[1-9]", proof)
    assert "4711" not in await told(place, team="red")
    left = [path for path in Path(place[1]).rglob("*") if path.is_file() and b"4711" in path.read_bytes()]
    assert left == []


async def test_the_service_shows_it_on_the_page_and_serves_it_to_its_clients(
    place: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    token = (await shell(capsys, "token", "add", "--team", "red", "--workspace", place[1])).strip()
    addresses: asyncio.Queue[str] = asyncio.Queue()
    config, workspace = load_config(Path(place[3])), Path(place[1])
    config = serve_options(config, workspace=workspace, default=workspace, host=None, port=None, socket=None)
    serving = asyncio.create_task(serve(config, started=addresses.put_nowait, extensions=[mcp_routes, page_routes]))
    url = await asyncio.wait_for(addresses.get(), seconds(30))
    host = host_token_path(workspace)
    try:
        async with httpx2.AsyncClient(base_url=url, timeout=seconds(30), follow_redirects=True) as client:
            link = await client.post(
                "/page/link", headers={"Authorization": f"Bearer {host.read_text('utf-8').strip()}"}
            )
            assert (await client.get(link.json()["path"])).status_code == 200
            shown = (await client.get("/people")).text
            assert "red" in shown
            assert "Team" in shown
            assert TEXT in (await client.get("/memories", params={"of": "team:red"})).text
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=seconds(30)) as http:
            transport = streamable_http_client(f"{url}/mcp", http_client=http)
            async with Client(transport, read_timeout_seconds=seconds(60)) as mcp:
                answer = await mcp.call_tool("search_memory", {"query": "red locker"})
                assert "4711" in str(answer)
    finally:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(serving, seconds(30))


async def test_a_name_that_is_no_kind_is_refused(place: list[str]) -> None:
    async with opened(place) as memory:
        with pytest.raises(TypeError, match=r"'tribe' is no keyword argument: expected user=OWNER, .*team="):
            await memory.start_session(KEY, tribe="red")  # type: ignore[call-arg]
        with pytest.raises(UsageError, match="exactly one of"):
            await memory.start_session(KEY, team="red", project="x")  # type: ignore[call-arg]


async def test_a_session_may_join_a_scope_of_each_kind(tmp_path: Path, config: Path) -> None:
    whose: Any = {"user": "anna", "project": "Apollo", "team": "Red"}
    async with (
        GatewayMemory(load_config(config), tmp_path / "memory") as memory,
        GatewayMemory(load_config(config), tmp_path / "memory") as shell,
    ):
        session = await memory.start_session(KEY, **whose)
        for decision in ("We decided to use PostgreSQL in Apollo.", "We decided that Red meets on Mondays."):
            await memory.after_reply(session, user=decision, reply="OK.")
        await memory.flush()
        assert await memory.save_fact(session, content="Red's room is on the third floor")
        attached = await shell.attach_session(session.session_id, team="Red")  # type: ignore[call-arg]
        assert [scope.key for scope in attached.who.scopes] == ["user:anna", "project:Apollo", "team:Red"]
        red = await memory.visit(team="Red")  # type: ignore[call-arg]
        texts = {hit.text for hit in await memory.search(red, "", limit=9)}
        assert texts == {"We decided that Red meets on Mondays", "Red's room is on the third floor"}
        apollo = await memory.visit(project="Apollo")
        assert ["PostgreSQL" in hit.text for hit in await memory.search(apollo, "", limit=9)] == [True]


async def test_a_shell_beside_an_open_memory_searches_the_scope_that_it_names(place: list[str]) -> None:
    async with opened(place) as memory:
        request = {"agent": memory.agent, "query": "the red locker", "limit": 5, **RED}
        assert TEXT in json.dumps(await answer_request(memory, request))
        rest = {"agent": memory.agent, "rest": "the red locker", **RED}
        assert TEXT in json.dumps(await answer_request(memory, rest))
