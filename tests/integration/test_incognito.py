"""After `/memory off` nothing of a session reaches any file, model, event or record, whatever is called."""

import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from editor import WORDS_ALONE, WORTH, environment, run
from embedding_server import hashed, serving_embeddings
from inside import parts
from scripted_provider import serving

from gateway_memory import OWNER, Config, Context, GatewayMemory, Session, UsageError, load_config
from recall.settings import EmbedderSettings

pytestmark = pytest.mark.over_postgres

SECRET = "the tulips bloom at midnight"
Call = Callable[[GatewayMemory, Session], Awaitable[object]]


async def turn(memory: GatewayMemory, session: Session) -> Context:
    context = await memory.before_reply(session, f"Remember that {SECRET}.")
    await memory.after_reply(session, user=f"Remember that {SECRET}. 请记住：{SECRET}", reply=f"Yes, {SECRET}")
    return context


async def written(memory: GatewayMemory, session: Session) -> None:
    (memory.workspace / "notes").mkdir(exist_ok=True)
    await memory.file_written(session, "MEMORY.md")


CALLS: dict[str, Call] = {
    "turn": turn,
    "fact": lambda memory, session: memory.save_fact(session, content=f"It is so that {SECRET}", entities=[SECRET]),
    "stage": lambda memory, session: memory.save_fact(session, content=SECRET, type="S"),
    "summary": lambda memory, session: memory.save_summary(
        session, topic=SECRET, summary=SECRET, decisions=[SECRET], todos=[SECRET]
    ),
    "observation": lambda memory, session: memory.observe(session, kind="tool", content=SECRET, tool="bash"),
    "search": lambda memory, session: memory.search(session, SECRET),
    "command": lambda memory, session: memory.command(session, f"/memory search {SECRET}"),
    "compaction": lambda memory, session: memory.before_compaction(session, usage=85, messages=30),
    "stop": lambda memory, session: memory.stop(session, "completed"),
    "written": written,
}


def with_servers(model: str, embeddings: str) -> Config:
    defaults = load_config().defaults
    embedder = EmbedderSettings(provider="openai", base_url=embeddings, api_key_env="")
    return Config(
        defaults=replace(
            defaults,
            auto_extract=replace(defaults.auto_extract, base_url=model, debounce_seconds=0.05),
            auto_recall=replace(defaults.auto_recall, embedder=embedder),
        )
    )


def everything(workspace: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in sorted(workspace.rglob("*")) if path.is_file())


@pytest.mark.parametrize("off", ["/memory off", "/memory off all", "/memory off 全部"])
async def test_nothing_that_is_called_leaves_a_trace(tmp_path: Path, off: str) -> None:
    async with (
        serving() as provider,
        serving_embeddings(hashed(64)) as embeddings,
        GatewayMemory(with_servers(f"{provider.url}/v1", embeddings.url), tmp_path) as memory,
    ):
        other = await memory.start_session("other", user=OWNER)
        session = await memory.start_session("own", user=OWNER)
        await memory.command(session, off)
        for name, call in CALLS.items():
            answer = await call(memory, session)
            assert not answer or isinstance(answer, str | Context), name
        await memory.flush()
        asked = [provider.asked, embeddings.asked]
        assert SECRET not in str(asked)
        assert (await memory.before_reply(other, "hello")).updates == ()
        await memory.end_session(session, reason="completed")
        await memory.flush()
        assert SECRET not in str([provider.asked, embeddings.asked])
        later = await memory.start_session("own", user=OWNER)
        assert SECRET not in later.opening
    assert SECRET.encode() not in everything(tmp_path)
    assert not (tmp_path / "sessions.jsonl").exists()


async def test_what_was_said_incognito_helps_no_later_query(tmp_path: Path) -> None:
    async with (
        serving_embeddings(hashed(64)) as embeddings,
        GatewayMemory(with_servers("http://127.0.0.1:9/v1", embeddings.url), tmp_path) as memory,
    ):
        session = await memory.start_session("own", user=OWNER)
        await memory.command(session, "/memory off")
        await memory.before_reply(session, f"Why is it that {SECRET}?")
        await memory.command(session, "/memory on")
        await memory.before_reply(session, "and the other ones, when?")
        assert SECRET not in str(embeddings.asked)


@pytest.mark.files
async def test_it_holds_after_a_restart_and_for_the_agents_own_commands(tmp_path: Path) -> None:
    fact = ("save-fact", "--workspace", str(tmp_path), "--content", SECRET)
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await memory.start_session("own", user=OWNER)
        await memory.command(session, "/memory off")
        done = run(*fact, f"--session={session.session_id}")
        assert b'"skipped"' in done.stdout
    async with GatewayMemory(load_config(), tmp_path) as memory:
        again = await memory.start_session("own", user=OWNER)
        assert again.session_id == session.session_id
        assert again.incognito
        for call in CALLS.values():
            await call(memory, again)
        assert SECRET.encode() not in everything(tmp_path)
        await memory.command(again, "/memory on")
        assert await memory.save_fact(again, content=SECRET)
    async with GatewayMemory(load_config(), tmp_path) as memory:
        again = await memory.start_session("own", user=OWNER)
        assert not again.incognito


@pytest.mark.files
async def test_it_holds_after_the_gateway_has_died(tmp_path: Path) -> None:
    code = (
        "import asyncio, os\n"
        "from gateway_memory import OWNER, GatewayMemory, load_config\n"
        "async def main():\n"
        f"    async with GatewayMemory(load_config({WORDS_ALONE!r}), {str(tmp_path)!r}) as memory:\n"
        "        session = await memory.start_session('own', user=OWNER)\n"
        "        await memory.command(session, '/memory off')\n"
        "        os._exit(1)\n"
        "asyncio.run(main())\n"
    )
    subprocess.run([sys.executable, "-c", code], check=False, env=environment(), capture_output=True)
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await memory.start_session("own", user=OWNER)
        assert session.incognito
        await turn(memory, session)
        await memory.flush()
        assert (await memory.session_counts())["ended"] == 1, "what died was closed"
        await memory.end_session(session, reason="user_close")
        assert not (await memory.start_session("own", user=OWNER)).incognito, "a new conversation"
    assert SECRET.encode() not in everything(tmp_path)


async def test_a_session_that_was_closed_for_its_silence_goes_on_incognito(tmp_path: Path) -> None:
    now = datetime(2026, 11, 21, 9, tzinfo=UTC)
    async with GatewayMemory(load_config(), tmp_path, clock=lambda: now) as memory:
        session = await memory.start_session("own", user=OWNER)
        await memory.command(session, "/memory off")
        now += timedelta(hours=30)
        assert await parts(memory).lifecycle.close_abandoned(starting=False) == 1  # what runs every five minutes
        await turn(memory, session)
        assert session.incognito
        await memory.flush()
        run("save-fact", "--workspace", str(tmp_path), "--content", SECRET, f"--session={session.session_id}")
    assert SECRET.encode() not in everything(tmp_path)


async def test_whoever_switched_extraction_off_is_not_read_by_the_agents_saving_either(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await memory.start_session("own", user=OWNER)
        await memory.observe(session, kind="user", content=WORTH)
        await memory.command(session, "/memory off autoExtract")
        assert not await memory.save_fact(session, content=SECRET)
        assert not await memory.save_summary(session, topic=SECRET, summary=SECRET)
        assert await memory.stop(session, "completed") == ""
        assert await memory.before_compaction(session, usage=85, messages=30) == ""
    assert SECRET.encode() not in everything(tmp_path)


@pytest.mark.files
async def test_what_a_session_said_before_is_saved_and_what_it_said_incognito_is_not(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await memory.start_session("own", user=OWNER)
        await memory.after_reply(session, user=WORTH, reply="好的")
        await memory.command(session, "/memory off")
        for call in CALLS.values():
            await call(memory, session)
        await memory.end_session(session, reason="completed")
    assert "JWT" in (tmp_path / "sessions.jsonl").read_text("utf-8")
    assert SECRET.encode() not in everything(tmp_path)


@pytest.mark.parametrize("whose", [{"user": OWNER}, {"user": "zoe"}, {"room": "discord-5"}])
async def test_it_holds_in_every_process_that_had_the_session_before(tmp_path: Path, whose: dict[str, Any]) -> None:
    words = load_config(Path(WORDS_ALONE))
    async with (
        GatewayMemory(words, tmp_path) as memory,
        GatewayMemory(words, tmp_path) as gateway,
        GatewayMemory(words, tmp_path) as tool,
    ):
        session = await memory.start_session("own", **whose)
        there = await gateway.start_session("own", **whose)
        attached = await tool.attach_session(session.session_id)
        await memory.command(session, "/memory off")
        for other, process in ((there, gateway), (attached, tool)):
            for name in ("turn", "fact", "stage", "summary", "observation", "compaction"):
                assert not isinstance(answer := await CALLS[name](process, other), str) or not answer, name
            await process.flush()
        assert SECRET.encode() not in everything(tmp_path)
        await memory.command(session, "/memory on")
        assert await tool.save_fact(attached, content=SECRET)


async def test_a_tool_keeps_nothing_of_a_session_that_has_ended_meanwhile(tmp_path: Path) -> None:
    words = load_config(Path(WORDS_ALONE))
    async with GatewayMemory(words, tmp_path) as memory, GatewayMemory(words, tmp_path) as tool:
        session = await memory.start_session("own", user="zoe")
        attached = await tool.attach_session(session.session_id)
        await memory.end_session(session, reason="completed")
        for name in ("fact", "stage", "summary", "observation", "compaction"):
            with pytest.raises(UsageError, match="has ended"):
                await CALLS[name](tool, attached)
        assert SECRET.encode() not in everything(tmp_path)


async def test_a_session_that_another_gateway_ended_begins_anew_here(tmp_path: Path) -> None:
    words = load_config(Path(WORDS_ALONE))
    async with GatewayMemory(words, tmp_path) as memory, GatewayMemory(words, tmp_path) as other:
        session = await memory.start_session("own", user=OWNER)
        there = await other.start_session("own", user=OWNER)
        before = session.session_id
        await other.end_session(there, reason="completed")
        assert await memory.save_fact(session, content="The cat is called Tigger")
        assert session.session_id != before
        assert (await memory.session_counts())["open"] == 1
