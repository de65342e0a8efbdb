"""A part that was late is called late: no search and no opening is empty without a word."""

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from inside import parts
from mcp import Client
from patience import seconds, until

from gateway_memory import OWNER, Config, GatewayMemory, Session, load_config
from gateway_memory.context import finder, start
from gateway_memory.edge.phrases import texts
from gateway_memory.serving import models
from gateway_memory.serving.calls import AgentCalls
from gateway_memory.serving.mcp import make_server
from gateway_memory.serving.page.viewer import Viewer
from gateway_memory.serving.page.views import memories
from recall import EmbedderSettings

pytestmark = pytest.mark.xdist_group("late parts")

SPEAKER = models.SpeakerFacts(
    key="agent:main:telegram:direct:7", channel="telegram", chat_type="direct", sender_id="7", is_owner=True
)
SAID = "I own a Canyon Grail gravel bike"
QUERY = "gravel bike"
LATE = {"partial", "timeout"}


class Part(NamedTuple):
    """A part of a search: where it is, the kind that only it finds, and whether other parts find something still."""

    of: Callable[[GatewayMemory], object]
    name: str
    kind: str | None = None


PARTS = {
    "sync": Part(lambda memory: parts(memory).storage.follower, "refresh"),
    "search": Part(lambda memory: parts(memory).storage.recaller, "search"),
    "episodes": Part(lambda memory: parts(memory).storage.episodes, "quotable", "episode"),
    "archive": Part(lambda memory: parts(memory).storage.records, "read", "record"),
}


class Blocked:
    """A part that doesn't answer until it is let go."""

    def __init__(self, memory: GatewayMemory, part: Part, patch: pytest.MonkeyPatch) -> None:
        self._answers = asyncio.Event()
        owner = part.of(memory)
        work = getattr(owner, part.name)

        async def waiting(*values: Any, **named: Any) -> Any:
            await self._answers.wait()
            return await work(*values, **named)

        patch.setattr(owner, part.name, waiting)

    def let_go(self) -> None:
        self._answers.set()


@pytest.fixture(autouse=True)
def sockets(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder for the sockets: the path of one has about a hundred characters at most."""
    folder = tempfile.mkdtemp(prefix="gm-")
    monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
    yield
    shutil.rmtree(folder)


def words_alone() -> Config:
    defaults = load_config().defaults
    recall = replace(defaults.auto_recall, embedder=EmbedderSettings(provider="none"))
    return Config(defaults=replace(defaults, auto_recall=recall))


async def told(memory: GatewayMemory) -> Session:
    session = await memory.start_session("one", user=OWNER)
    await memory.after_reply(session, user=f"Remember that {SAID}.", reply="OK")
    await memory.flush()
    await memory.save_summary(session, topic=QUERY, summary=f"{SAID}.", todos=[QUERY])
    return session


@pytest.mark.parametrize("name", PARTS)
async def test_a_search_whose_part_is_late_is_partial(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = PARTS[name]
    kinds = [part.kind] if part.kind else None
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        session = await told(memory)
        with monkeypatch.context() as patch:
            patch.setattr(finder, "_FIND_SECONDS", 0.05)
            blocked = Blocked(memory, part, patch)
            found = await memory.search(session, QUERY, kinds=kinds)
            assert found.outcome in LATE
            assert found.late
            assert isinstance(found, tuple), "as it always was"
            if name == "sync":
                assert SAID in str(found), "what there is comes"
            typed = f"/memory search {QUERY}" + (f" --kind {part.kind}" if part.kind else "")
            answer = str(await memory.command(session, typed))
            assert any(texts("phrases")[each]["en"] in answer for each in ("search_late", "search_late_empty")), answer
            assert texts("phrases")["search_empty"]["en"] not in answer
            blocked.let_go()
        found = await memory.search(session, QUERY, kinds=kinds)
        assert (found.outcome, found.late, bool(found)) == ("full", False, True)
        assert (await memory.search(session, "zebra xylophone", kinds=["record"])).outcome == "empty"


async def test_what_is_late_may_be_there_again_by_its_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        session = await told(memory)
        (record,) = await memory.search(session, QUERY, kinds=["record"])
        with monkeypatch.context() as patch:
            patch.setattr(finder, "_FIND_SECONDS", 0.05)
            blocked = Blocked(memory, PARTS["archive"], patch)
            late = await memory.get(session, record.id)
            assert (late, late.outcome) == ((), "timeout")
            blocked.let_go()
        assert (await memory.get(session, record.id)).outcome == "full"
        gone = await memory.get(session, "sum-no-such")
        assert (gone, gone.outcome) == ((), "empty")


async def shell(workspace: Path, *words: str) -> str:
    """Run `gateway-memory search` in a process of its own, which asks the one that has the workspace open."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "gateway_memory.cli.entry", "search", *words, "--workspace", str(workspace)),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    out, _ = await process.communicate()
    assert process.returncode == 0, "a late part is no failure"
    return out.decode()


async def in_shell(memory: GatewayMemory, _: Session) -> bool:
    answer = await shell(memory.workspace, QUERY)
    return texts("phrases")["search_late"]["en"] in answer or texts("phrases")["search_late_empty"]["en"] in answer


async def in_shell_as_json(memory: GatewayMemory, _: Session) -> bool:
    return json.loads(await shell(memory.workspace, QUERY, "--json"))["outcome"] in LATE


async def by_an_agent(memory: GatewayMemory, _: Session) -> bool:
    return json.loads(await shell(memory.workspace, QUERY, "--max-results", "3"))["outcome"] in LATE


async def in_chinese(memory: GatewayMemory, session: Session) -> bool:
    session.language = "zh"
    answer = str(await memory.command(session, f"/memory 搜索 {QUERY}"))
    return texts("phrases")["search_late"]["zh"] in answer or texts("phrases")["search_late_empty"]["zh"] in answer


async def over_http(memory: GatewayMemory, _: Session) -> bool:
    asked = models.Search(speaker=SPEAKER, query=QUERY)
    return (await AgentCalls("main", memory).search(asked)).outcome in LATE


async def by_mcp(memory: GatewayMemory, session: Session) -> bool:
    async def context() -> tuple[GatewayMemory, Session]:
        return memory, session

    async with Client(make_server(context)) as client:
        result = await client.call_tool("search_memory", {"query": QUERY})
        assert isinstance(result.structured_content, dict), result.content
        return result.structured_content["outcome"] in LATE


async def on_the_page(memory: GatewayMemory, session: Session) -> bool:
    viewer = Viewer(
        memory=memory,
        session=session,
        of="owner",
        language="en",
        path="/memories",
        query={"q": QUERY},
        form_token="",
    )
    return bool((await memories(viewer))["late"])


SURFACES = (in_shell, in_shell_as_json, by_an_agent, in_chinese, over_http, by_mcp, on_the_page)


@pytest.mark.parametrize("ask", SURFACES, ids=lambda ask: ask.__name__)
async def test_every_surface_says_that_a_part_is_late(
    ask: Callable[[GatewayMemory, Session], Awaitable[bool]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        session = await told(memory)
        with monkeypatch.context() as patch:
            patch.setattr(finder, "_FIND_SECONDS", 0.05)
            blocked = Blocked(memory, PARTS["search"], patch)
            assert await ask(memory, session)
            blocked.let_go()
        assert not await ask(memory, session)


# Openings


async def test_an_opening_that_is_late_says_so_and_comes_whole_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        session = await told(memory)
        await memory.end_session(session, reason="completed")
        with monkeypatch.context() as patch:
            patch.setattr(start, "_OPENING_SECONDS", 0.05)
            blocked = Blocked(memory, PARTS["archive"]._replace(name="last"), patch)
            later = await memory.start_session("two", user=OWNER)
            assert later.opening == texts("phrases")["opening_late"]["en"]
            assert later.in_context.partial
            blocked.let_go()
        await until(lambda: not later.in_context.partial, "the opening")
        assert SAID in later.opening
        assert texts("phrases")["opening_late"]["en"] not in await memory.opening(later)


async def test_an_opening_whose_search_is_late_has_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        session = await told(memory)
        await memory.end_session(session, reason="completed")
        recaller = parts(memory).storage.recaller
        with monkeypatch.context() as patch:

            async def late(*_: Any, **__: Any) -> Any:
                from recall import Recall

                return Recall(outcome="timeout")

            patch.setattr(recaller, "search", late)
            later = await memory.start_session("two", user=OWNER)
            assert (later.in_context.partial, SAID in later.opening) == (True, True), "what was ready is told"
            assert later.opening.endswith(texts("phrases")["opening_late"]["en"])
            later.language = "zh"
            assert (await memory.opening(later)).endswith(texts("phrases")["opening_late"]["zh"])
        whole = await memory.opening(later)
        assert not later.in_context.partial
        assert texts("phrases")["opening_late"]["zh"] not in whole


async def test_a_host_is_told_that_an_opening_is_partial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        asked = models.BeforeReply(speaker=SPEAKER, message="hi")
        calls = AgentCalls("main", memory)
        with monkeypatch.context() as patch:
            patch.setattr(start, "_OPENING_SECONDS", 0.05)
            blocked = Blocked(memory, PARTS["archive"]._replace(name="last"), patch)
            assert (await calls.before_reply(asked)).opening_partial
            blocked.let_go()

        async with asyncio.timeout(seconds(30)):
            while (await calls.before_reply(asked)).opening_partial:  # a busy machine may be late by itself
                await asyncio.sleep(0.01)
