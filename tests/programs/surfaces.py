"""Everything that a person, a model or a client can read of a memory, as text by the name of the call."""

import json
import re
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from gateway_memory import GatewayMemory, Session
from gateway_memory.config.service import LimitSettings
from gateway_memory.scope import Scope
from gateway_memory.serving.access import Access
from gateway_memory.serving.app import Service, make_app
from gateway_memory.serving.calls import AgentCalls
from gateway_memory.serving.mcp import mcp_routes
from gateway_memory.serving.page.mount import page_routes
from gateway_memory.serving.tokens import ClientTokens, host_token
from gateway_memory.transfer.exporter import to_line

__all__ = ["calls_of", "files_of", "served_of"]

_KINDS: Final = ("memory", "note", "episode", "record", "observation")
_COMMANDS: Final = ("list", "why", "status", "receipts", "review", "digest week")
_PAGES: Final = (
    "/",
    "/today",
    "/digest",
    "/over-time",
    "/review",
    "/memories",
    "/document",
    "/conversations",
    "/replies",
)
_URL: Final = "http://localhost"
_ASKING: Final = re.compile(r'name="(?:q|back)"[^>]*|value="[^"]*"')
_LINK: Final = re.compile(r'href="(/(?:memories|replies|conversations)/[\w/-]+)(?:\?[^"]*)?"')
_FOLLOWED: Final = 12

Start = Callable[[str], Any]
"""Opens a session of the person under a key."""


async def calls_of(memory: GatewayMemory, start: Start, questions: Sequence[str], ids: Sequence[str]) -> dict[str, str]:
    """Return what each call of the package tells. ids: of memories and exchanges, whose history is asked for."""
    session: Session = await start("reading")
    texts = {"opening": session.opening}
    for question in questions:
        context = await memory.before_reply(session, question)
        texts[f"reply: {question}"] = context.text + " ".join(hit.text for hit in context.recalled)
        hits = await memory.search(session, question, limit=20, kinds=_KINDS)
        texts[f"search: {question}"] = " ".join(f"{hit.kind}: {hit.text}" for hit in hits)
        around = [hit for found in hits[:2] for hit in await memory.get(session, found.id)]
        texts[f"get: {question}"] = " ".join(hit.text for hit in around)
    await memory.after_reply(session, user="Thanks.", reply="You're welcome.")
    for command in _COMMANDS:
        texts[f"/memory {command}"] = str(await memory.command(session, f"/memory {command}"))
    for identity in ids:
        texts[f"history {identity}"] = str(await memory.command(session, f"/memory history {identity}"))
        texts[f"get {identity}"] = " ".join(hit.text for hit in await memory.get(session, identity))
    rows = [row async for row in memory.exporter.rows() if row["scope"] == session.scope.key]
    texts["export"] = "".join(map(to_line, rows))
    await memory.observe(session, kind="decision", content="The fence is to be painted before the summer begins.")
    texts["compaction"] = await memory.before_compaction(session, usage=90, messages=40)
    texts["compaction, own words"] = await memory.before_compaction(session, usage=90, messages=40, wants="text")
    texts["record of a session"] = json.dumps(await memory.session_record(session), ensure_ascii=False)
    await memory.end_session(session, reason="completed")
    return texts


def files_of(workspace: Path, folder: str = "") -> dict[str, str]:
    """Return the files of a scope that a person reads, by their names."""
    root = workspace / folder
    files = [*root.glob("*.md"), *root.glob("memory/*.md"), *root.glob("*.jsonl")]
    return {f"file {file.relative_to(workspace)}": _plain(file.read_text("utf-8")) for file in files}


async def served_of(
    memory: GatewayMemory, workspace: Path, scope: Scope, speaker: dict[str, str], questions: Sequence[str]
) -> dict[str, str]:
    """Return what HTTP, MCP and the page tell of a scope, from an application around the open memory.

    speaker: the person's facts for HTTP.
    """
    texts: dict[str, str] = {}
    async with AsyncExitStack() as stack:
        access = Access({"main": workspace})
        service = Service(access=access, limits=LimitSettings(), feeds={}, agents={"main": AgentCalls("main", memory)})
        service.ready = True
        pages = await stack.enter_async_context(page_routes(service))
        app = make_app(service, [*pages, *await stack.enter_async_context(mcp_routes(service))])
        transport = httpx2.ASGITransport(app)

        def client(token: str, **values: Any) -> httpx2.AsyncClient:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            return httpx2.AsyncClient(transport=transport, base_url=_URL, headers=headers, **values)

        host = await stack.enter_async_context(client(host_token(workspace)))
        for question in questions:
            for call, body in (
                ("before_reply", {"message": question}),
                ("search", {"query": question, "kinds": _KINDS, "limit": 20}),
            ):
                answer = await host.post(f"/v1/{call}", json={"speaker": speaker, **body})
                assert answer.status_code == 200, answer.text
                texts[f"HTTP {call}: {question}"] = answer.text
        answer = await host.post("/v1/command", json={"speaker": speaker, "text": "/memory why"})
        texts["HTTP command"] = answer.text
        browser = await stack.enter_async_context(client("", follow_redirects=True))
        await browser.get((await host.post("/page/link")).json()["path"])
        of = {} if scope.key == "owner" else {"of": scope.key}
        for path in _PAGES:
            page = await browser.get(path, params=of)
            assert page.status_code == 200, page.text
            texts[f"page {path}"] = page.text
            for link in list(dict.fromkeys(_LINK.findall(page.text)))[:_FOLLOWED]:
                texts[f"page {link}"] = (await browser.get(link, params=of)).text
        for question in questions:
            page = await browser.get("/memories", params={**of, "q": question})
            texts[f"page search: {question}"] = _ASKING.sub("", page.text)
        token = ClientTokens(workspace).add(scope, "a test's")[1]
        texts |= await _by_mcp(await stack.enter_async_context(client(token)), questions)
    return {name: _plain(text) for name, text in texts.items()}


async def _by_mcp(http: httpx2.AsyncClient, questions: Sequence[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    async with Client(streamable_http_client(f"{_URL}/mcp", http_client=http)) as client:
        for question in questions:
            found = await client.call_tool("search_memory", {"query": question, "kinds": list(_KINDS)})
            texts[f"MCP search: {question}"] = json.dumps(found.structured_content, ensure_ascii=False)
        for tool in ("recent", "why", "status"):
            found = await client.call_tool(tool, {})
            texts[f"MCP {tool}"] = json.dumps(found.structured_content, ensure_ascii=False)
    return texts


def _plain(text: str) -> str:
    """Return a text with its escapes of JSON, beside the text as it is."""
    return text if "\\u" not in text else text + re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), text)
