"""The memory as an MCP server: real clients over stdio and HTTP, in the protocol's old and new form."""

import asyncio
import itertools
import os
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitRequestParams, ElicitResult, TextContent, TextResourceContents
from patience import seconds
from served import Served, service, written

from gateway_memory import OWNER, Config, GatewayMemory
from gateway_memory.scope import resolve_scope
from gateway_memory.serving.tokens import ClientTokens

pytestmark = pytest.mark.xdist_group("mcp")

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])
TOOLS = [
    "search_memory",
    "get_memory",
    "recent",
    "save_fact",
    "save_summary",
    "end_session",
    "forget",
    "history",
    "why",
    "status",
]


PEOPLE = itertools.count()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("mcp")
    config = written(folder, port=0, limits={"readSeconds": 1, "bodyBytes": 100_000})
    places = {"main": folder / "main"}
    with service(config, "--workspace", str(places["main"]), workspaces=places) as running:
        yield running
        assert running.stop() == 0
        assert "Traceback" not in running.log.read_text("utf-8")


def token_of(served: Served, person: str = "") -> str:
    """Return a token for a person, a new one each time by default."""
    scope = resolve_scope(user=person or f"person-{next(PEOPLE)}", room=None)
    return ClientTokens(served.log.parent / "main").add(scope, "a test's")[1]


@asynccontextmanager
async def http_client(
    served: Served, token: str = "", *, mode: str = "auto", **callbacks: Any
) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token or token_of(served)}"}
    async with httpx2.AsyncClient(headers=headers, timeout=seconds(30)) as http:
        transport = streamable_http_client(f"{served.url}/mcp", http_client=http)
        async with Client(transport, mode=mode, read_timeout_seconds=seconds(60), **callbacks) as client:
            yield client


@asynccontextmanager
async def client_of(workspace: Path, *options: str, mode: str = "auto", **callbacks: Any) -> AsyncIterator[Client]:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "gateway_memory.cli.entry", "mcp", "--workspace", str(workspace), *options],
        env=dict(os.environ),
    )
    async with Client(stdio_client(server), mode=mode, read_timeout_seconds=seconds(60), **callbacks) as client:
        yield client


async def called(client: Client, tool: str, **values: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, values)
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


@pytest.mark.slow
@MODES
async def test_what_one_client_saves_another_finds(mode: str, tmp_path: Path) -> None:
    async with client_of(tmp_path, mode=mode) as client:
        assert (await called(client, "save_fact", content="The wifi of the cabin is called Moosbeere"))["saved"]
        again = await called(client, "save_fact", content="The wifi of the cabin is called Moosbeere")
        assert len((await called(client, "recent"))["items"]) == 1, again
        saved = await called(
            client, "save_summary", topic="The cabin", summary="We set up the network.", todos=["tell"]
        )
        assert saved["saved"]
        ended = await called(client, "end_session")
        assert ended["record"] == {
            "topic": "The cabin",
            "summary": "We set up the network.",
            "decisions": [],
            "todos": ["tell"],
        }
    async with client_of(tmp_path, mode=mode) as client:
        deadline = time.monotonic() + seconds(30)  # a line that has no vector yet is found by its words alone, weakly
        question = "What is the wifi of the cabin called?"
        while True:
            (found, *_) = (await called(client, "search_memory", query=question))["items"]
            assert (found["kind"], found["text"]) == ("memory", "The wifi of the cabin is called Moosbeere")
            if not found["weak"]:
                break
            assert time.monotonic() < deadline
        assert (await called(client, "get_memory", id=found["id"]))["items"][0]["text"] == found["text"]
        assert (await called(client, "history", id=found["id"]))["events"][0]["event"] == "added"
        assert (await called(client, "status"))["memories"] == 1
        assert (await called(client, "why"))["text"]
        records = (await called(client, "search_memory", query="cabin", kinds=["record"]))["items"]
        assert [each["kind"] for each in records] == ["record"]
        (content,) = (await client.read_resource(f"memory://records/{records[0]['id']}")).contents
        assert isinstance(content, TextResourceContents)
        assert "We set up the network." in content.text


async def test_tools_are_few_and_described(served: Served) -> None:
    async with http_client(served) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == TOOLS
        for tool in tools.values():
            assert tool.description
            assert tool.output_schema
            assert tool.annotations
            taken = set(tool.input_schema["properties"])
            assert not taken & {"user", "room", "scope", "agent", "workspace", "session", "person"}, tool.name
            assert tool.input_schema["additionalProperties"] is False
        assert [name for name in TOOLS if (hints := tools[name].annotations) and hints.destructive_hint] == ["forget"]
        reads = {"search_memory", "get_memory", "recent", "history", "why", "status"}
        assert {name for name in TOOLS if (hints := tools[name].annotations) and hints.read_only_hint} == reads
        prompt = await client.get_prompt("use_memory", {"language": "zh"})
        assert isinstance(prompt.messages[0].content, TextContent)
        assert "search_memory" in prompt.messages[0].content.text
        assert client.instructions


@MODES
@pytest.mark.parametrize("tool", TOOLS)
async def test_an_argument_that_a_tool_does_not_have_is_refused_by_its_name(
    mode: str, tool: str, served: Served
) -> None:
    asked = {"id": "k7f3q2a1", "query": "tea", "content": "The tea is green", "topic": "Tea", "summary": "It is green."}
    async with http_client(served, mode=mode) as client:
        (known,) = [each for each in (await client.list_tools()).tools if each.name == tool]
        taken = known.input_schema["properties"]
        right = {name: value for name, value in asked.items() if name in taken}
        result = await client.call_tool(tool, {**right, "user": "zoe"})
        assert result.is_error
        (content,) = result.content
        assert isinstance(content, TextContent)
        assert content.text.startswith(f"{tool}: unknown: user; ")
        assert all(name in content.text for name in taken) or "did you mean" in content.text
        assert not (await called(client, "recent"))["items"], "nothing was saved"


async def test_an_argument_of_another_kind_is_refused_in_our_words(served: Served) -> None:
    async with http_client(served) as client:
        for tool, arguments, told in (
            ("search_memory", {"query": "tea", "limit": "many"}, "search_memory: limit: expected a whole number"),
            ("search_memory", {}, "search_memory: query: it is missing"),
            ("search_memory", {"querry": "tea"}, 'search_memory: unknown: querry; did you mean "query"?'),
        ):
            result = await client.call_tool(tool, arguments)
            (content,) = result.content
            assert isinstance(content, TextContent)
            assert (result.is_error, content.text) == (True, told)


@MODES
@pytest.mark.parametrize(("answer", "left"), [("yes", 0), ("no", 1), ("", 1)])
async def test_forgetting_is_confirmed_by_the_person(mode: str, answer: str, left: int, served: Served) -> None:
    asked = []

    async def elicited(_: object, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.message)
        if not answer:
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content={"forget": answer == "yes"})

    async with http_client(served, mode=mode, elicitation_callback=elicited) as client:
        saved = await called(client, "save_fact", content="My locker is number 12")
        result = await client.call_tool("forget", {"id": saved["id"], "confirm": True})
        assert asked == ["Forget this memory? “My locker is number 12”"]
        assert result.is_error == (not answer)
        assert (await called(client, "status"))["memories"] == left


@MODES
async def test_a_client_that_cannot_ask_is_told_to(mode: str, served: Served) -> None:
    async with http_client(served, mode=mode) as client:
        saved = await called(client, "save_fact", content="My locker is number 12")
        told = await called(client, "forget", id=saved["id"])
        assert not told["forgotten"]
        assert "ask the user" in told["message"]
        assert (await called(client, "forget", id=saved["id"], confirm=True))["forgotten"]
        assert "no memory" in (await called(client, "forget", id=saved["id"], confirm=True))["message"]


async def no_way_from(zoe: Client, ben: Client) -> None:
    """Check that one client reaches nothing of another one."""
    saved = await called(zoe, "save_fact", content="My locker is number 12")
    assert not (await called(ben, "search_memory", query="locker number"))["items"]
    assert not (await called(ben, "get_memory", id=saved["id"]))["items"]
    assert not (await called(ben, "forget", id=saved["id"], confirm=True))["forgotten"]
    refused = await ben.call_tool("search_memory", {"query": "locker", "user": "zoe"})
    assert not refused.structured_content or not refused.structured_content["items"]
    assert (await called(zoe, "search_memory", query="locker number"))["items"]


@pytest.mark.slow
async def test_a_process_serves_the_scope_that_it_was_started_for(tmp_path: Path) -> None:
    async with client_of(tmp_path, "--user", "zoe") as zoe, client_of(tmp_path, "--user", "ben") as ben:
        await no_way_from(zoe, ben)


@pytest.mark.parametrize("whose", [("--owner",), ("--user", "zoe")])
async def test_a_process_serves_a_memory_and_the_project_beside_it(whose: tuple[str, ...], tmp_path: Path) -> None:
    async with client_of(tmp_path, *whose, "--project", "apollo") as client:
        for content in ("The Apollo release is built with Bazel", "My locker is number 12"):
            assert (await called(client, "save_fact", content=content))["saved"]
        found = await called(client, "search_memory", query="what is the Apollo release built with?")
        assert any("Bazel" in item["text"] for item in found["items"])
    async with client_of(tmp_path, "--project", "apollo") as project, client_of(tmp_path, *whose) as own:
        texts = [
            [item["text"] for item in (await called(each, "recent"))["items"] if item["kind"] == "memory"]
            for each in (project, own)
        ]
    assert texts == [["The Apollo release is built with Bazel"], ["My locker is number 12"]]


@pytest.mark.slow
@MODES
async def test_a_token_opens_its_own_scope_alone(mode: str, served: Served) -> None:
    async with http_client(served, mode=mode) as zoe, http_client(served, mode=mode) as ben:
        await no_way_from(zoe, ben)


async def test_two_tokens_of_a_person_share_a_memory(served: Served) -> None:
    async with http_client(served, token_of(served, "ida")) as first:
        await called(first, "save_fact", content="My locker is number 12")
    async with http_client(served, token_of(served, "ida")) as second:
        assert (await called(second, "recent"))["items"]


@pytest.mark.parametrize("kind", ["none", "unknown", "host", "revoked"])
async def test_a_client_without_its_token_is_refused(kind: str, served: Served) -> None:
    tokens = ClientTokens(served.log.parent / "main")
    made, revoked = tokens.add(resolve_scope(user="former", room=None), "a test's")
    tokens.revoke(made.id)
    token = {"none": "", "unknown": "gm-nothing", "host": served.tokens["main"], "revoked": revoked}[kind]
    with served.client(token) as client:
        for body in ({}, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}):
            answer = client.post("/mcp", json=body, headers={"Accept": "application/json, text/event-stream"})
            assert answer.status_code == 401
            assert "Bearer" in answer.headers["WWW-Authenticate"]


async def test_a_session_is_its_client_s_alone(served: Served) -> None:
    accept = {"Accept": "application/json, text/event-stream"}
    start = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "a test", "version": "1"},
    }
    with served.client(token_of(served)) as zoe, served.client(token_of(served)) as ben:
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": start}
        session = {"mcp-session-id": zoe.post("/mcp", json=hello, headers=accept).headers["mcp-session-id"], **accept}
        tools = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        assert zoe.post("/mcp", json=tools, headers=session).status_code == 200
        assert ben.post("/mcp", json=tools, headers=session).status_code >= 400
        assert ben.delete("/mcp", headers=session).status_code >= 400


@pytest.mark.parametrize("header", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}])
async def test_a_page_of_another_origin_is_refused(header: dict[str, str], served: Served) -> None:
    with served.client(token_of(served)) as client:
        answer = client.post("/mcp", json={}, headers=header)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")


@pytest.mark.slow
async def test_bodies_have_limits(served: Served) -> None:
    def slowly() -> Iterator[bytes]:
        yield b"{"
        time.sleep(2)
        yield b"}"

    with served.client(token_of(served)) as client:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        assert client.post("/mcp", content=b" " * 200_000, headers=headers).status_code == 413
        deep = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": ' + b"[" * 40_000 + b"]" * 40_000 + b"}"
        assert client.post("/mcp", content=deep, headers=headers).status_code == 400
        assert client.post("/mcp", content=slowly(), headers=headers).status_code == 408
        assert client.get("/healthz").status_code == 200


@pytest.mark.slow
async def test_a_stream_does_not_keep_the_service_from_ending(tmp_path: Path) -> None:
    place = tmp_path / "w"
    config = written(tmp_path, port=0)
    with service(config, "--workspace", str(place), workspaces={"main": place}) as running:
        token = ClientTokens(place).add(resolve_scope(user=OWNER, room=None), "a test's")[1]
        async with http_client(running, token, mode="legacy") as client:
            await client.list_tools()  # an old client listens to a stream meanwhile
            assert await asyncio.to_thread(running.stop) == 0


async def test_files_are_resources_and_no_path_leaves_them(tmp_path: Path) -> None:
    async with GatewayMemory(Config(), tmp_path) as memory:
        session = await memory.start_session("s", user=OWNER)
        await memory.save_fact(session, content="My locker is number 12")
        day = f"{memory.now():%Y-%m-%d}"
    (tmp_path / "MEMORY.md").write_text("# Memory\n\n- I live in Bern\n", "utf-8")
    (tmp_path / "secret.md").write_text("secret", "utf-8")
    async with client_of(tmp_path) as client:
        (content,) = (await client.read_resource("memory://files/MEMORY.md")).contents
        assert isinstance(content, TextResourceContents)
        assert "I live in Bern" in content.text
        (content,) = (await client.read_resource(f"memory://days/{day}")).contents
        assert isinstance(content, TextResourceContents)
        assert "locker is number 12" in content.text
        for wrong in (
            "memory://files/secret.md",
            "memory://files/..%2Fsecret.md",
            "memory://days/..%2F..%2Fsecret",
            "memory://days/1999-01-01",
            "memory://records/none",
        ):
            with pytest.raises(MCPError, match=r"(?i)no |not|unknown|expected"):
                await client.read_resource(wrong)


async def test_a_wrong_call_is_answered_in_words(served: Served) -> None:
    async with http_client(served) as client:
        for tool, values in (
            ("search_memory", {"query": "x", "limit": 0}),
            ("search_memory", {"query": "x", "since": "yesterday"}),
            ("search_memory", {"query": "x", "since": "2026-13-45"}),
            ("history", {"id": "nothing"}),
            ("save_fact", {"content": "x", "type": "Q"}),
        ):
            result = await client.call_tool(tool, values)
            assert result.is_error, (tool, values)
            assert isinstance(result.content[0], TextContent)
            assert "Traceback" not in result.content[0].text
