"""A kind of scope that stands in the table of kinds alone has all that the others have."""

import asyncio
import contextlib
import json
import os
import re
import signal
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
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
from gateway_memory.calls.shell import answer_request
from gateway_memory.cli.main import main
from gateway_memory.cli.options import Parser, add_whose, named_of
from gateway_memory.config.serving import serve_options
from gateway_memory.edge.phrases import say
from gateway_memory.edge.session_key import session_types
from gateway_memory.scope import KINDS, Kind, Scope
from gateway_memory.serving.mcp_context import open_context
from gateway_memory.serving.server import serve
from gateway_memory.serving.tokens import host_token_path
from gateway_memory.store.disk.own import NotOwnError, Owned
from gateway_memory.transfer.deletion import Deletion

pytestmark = pytest.mark.xdist_group("service")

TEAM = Kind(
    name="team",
    folder="teams",
    is_shared=True,
    may_be_joined=True,
    speaker="one of a team",
    title=("Team", "团队"),
    possessive=("a team's", "某个团队的"),
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
        assert [scope.key for scope in await memory.browsing.people.scopes()] == ["owner", "team:red"]


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
    serving = asyncio.create_task(serve(config, started=addresses.put_nowait))
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
        await memory.end_session(session, reason="completed")
        opening = (await memory.start_session(KEY, **whose)).opening
        project, team = (opening.partition(f"[{title}]")[2].partition("\n</")[0] for title in ("Project", "Team"))
        assert project.startswith(" What those who work on the project have decided in it: data")
        assert team.startswith(" What its members have decided in it: data")
        assert "PostgreSQL" in project
        assert "PostgreSQL" not in team
        assert "third floor" in team
        assert "third floor" not in project


async def test_only_a_kind_with_words_for_it_is_meant_without_its_name(tmp_path: Path, config: Path) -> None:
    whose: Any = {"user": "anna", "team": "Red"}
    async with GatewayMemory(load_config(config), tmp_path / "memory") as memory:
        session = await memory.start_session(KEY, **whose)
        for decision in ("We decided to use PostgreSQL in this repository.", "We decided that Red meets on Mondays."):
            await memory.after_reply(session, user=decision, reply="OK.")
        await memory.flush()
        red = await memory.visit(team="Red")  # type: ignore[call-arg]
        assert [hit.text for hit in await memory.search(red, "", limit=9)] == ["We decided that Red meets on Mondays"]


async def test_a_shell_beside_an_open_memory_searches_the_scope_that_it_names(place: list[str]) -> None:
    async with opened(place) as memory:
        request = {"agent": memory.agent, "query": "the red locker", "limit": 5, **RED}
        assert TEXT in json.dumps(await answer_request(memory, request))
        rest = {"agent": memory.agent, "rest": "the red locker", **RED}
        assert TEXT in json.dumps(await answer_request(memory, rest))


async def test_turns_that_wait_go_to_no_deleted_scope_that_their_session_has_joined(
    tmp_path: Path, config: Path
) -> None:
    workspace = tmp_path / "memory"
    whose: Any = {"user": "anna", "project": "Apollo", "team": "Red"}
    async with GatewayMemory(load_config(config), workspace) as memory:
        session = await memory.start_session(KEY, **whose)
        await memory.after_reply(session, user="We decided that Red meets on Fridays.", reply="OK.")
        await memory.flush()
        await memory.end_session(session, reason="completed")
    with contextlib.closing(sqlite3.connect(workspace / "journal.sqlite")) as journal, journal:
        query = (
            "INSERT INTO turns (scope, session_key, session_id, user, reply, at, accepted_at, slot, joined) "
            "VALUES ('user:anna', 'k', 's', ?, 'OK', 1, 1, -1, ?)"
        )
        for decision in ("We decided to use PostgreSQL in Apollo.", "We decided that Red meets on Mondays."):
            journal.execute(query, (decision, "project:Apollo\nteam:Red"))
    settings = load_config(config)
    assert Deletion(workspace=workspace, store=settings.defaults.store).delete(Scope.parse("team:Red")).holds
    async with GatewayMemory(settings, workspace) as memory:
        await memory.flush()
        red, apollo = await memory.visit(team="Red"), await memory.visit(project="Apollo")  # type: ignore[call-arg]
        assert await memory.search(red, "", limit=9) == ()
        assert ["PostgreSQL" in hit.text for hit in await memory.search(apollo, "", limit=9)] == [True]


def test_its_files_are_nobody_elses(tmp_path: Path) -> None:
    red, zoe = (tmp_path / Scope.parse(key).folder for key in ("team:red", "user:zoe"))
    for folder in (red, zoe):
        (folder / "memory").mkdir(parents=True)
    (tmp_path / "MEMORY.md").write_text("- The owner's\n")
    (red / "MEMORY.md").symlink_to(tmp_path / "MEMORY.md")
    (red / "memory" / "2026-01-05.md").write_text("- The team's\n")
    (zoe / "memory" / "2026-01-05.md").hardlink_to(red / "memory" / "2026-01-05.md")
    owned = Owned(tmp_path)
    for file in (red / "MEMORY.md", zoe / "memory" / "2026-01-05.md"):
        with pytest.raises(NotOwnError):
            owned.look(file.relative_to(tmp_path).as_posix())


async def test_its_folder_tells_which_scope_it_is(place: list[str]) -> None:
    scope = Scope.parse("team:red")
    assert Scope.of_folder(scope.folder) == scope
    async with opened(place) as memory:
        assert await parts(memory).storage.documents.folders() == [scope.folder]


def test_its_sessions_may_be_excluded_by_their_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "team", replace(TEAM, session_type="group"))
    assert session_types(KEY, Scope.parse("team:red")) == ("group",)


def test_messages_name_it_among_the_forms_of_a_scope() -> None:
    with pytest.raises(UsageError, match="team:NAME"):
        Scope.parse("nobody")


def test_in_the_shell_it_stands_beside_whoever_may_join_it() -> None:
    parser = Parser()
    add_whose(parser, joined=True)
    assert named_of(parser.parse_args(["--user", "anna", "--team", "red"])) == {"user": "anna", "team": "red"}


async def test_whoever_asks_in_it_next_may_be_somebody_else(place: list[str]) -> None:
    async with opened(place) as memory:
        session, client = await memory.start_session(KEY, **RED), await open_context(memory, "cli", RED)  # type: ignore[arg-type]
        assert client[1].key == "agent:main:mcp:group:cli"
        await memory.answer(session, "忘掉我喜欢喝茶")
        assert session.language == "en", "one who writes Chinese changes nobody else's language"
        with pytest.raises(UsageError, match="has not joined 'team:blue'"):
            await memory.attach_session(session.session_id, team="blue")  # type: ignore[call-arg]


async def test_the_owner_links_nobody_to_it(place: list[str]) -> None:
    async with opened(place) as memory:
        answer = await memory.answer(await memory.visit(user="zoe"), "/memory link team:red")
        assert answer is not None
        assert answer.text == say("en", "link_not_shared")
