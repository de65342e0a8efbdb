"""Hosts cancel calls, at any point: what was kept is processed, and what was broken off can be done again."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cancelling import at_each_wait
from inside import journal_rows, parts
from patience import seconds

from gateway_memory import OWNER, Config, GatewayMemory, Session
from gateway_memory.store.summaries import read_records
from recall import EmbedderSettings

WORTH = "请把登录接口改成用 JWT 认证，旧的会话先保留两周，然后通知前端同事"


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[GatewayMemory]:
    defaults = Config().defaults
    recall = replace(defaults.auto_recall, embedder=EmbedderSettings(provider="none"))
    async with GatewayMemory(Config(defaults=replace(defaults, auto_recall=recall)), tmp_path) as memory:
        yield memory


async def settled(memory: GatewayMemory) -> None:
    """Wait, without a further turn, until nothing waits for the rules and no plan is left."""
    async with asyncio.timeout(seconds(20)):
        while await parts(memory).storage.turns.waiting("accepted") or await parts(memory).storage.turns.plans():
            await asyncio.sleep(0.01)


async def test_a_turn_whose_host_gave_up_is_processed_without_another_turn(memory: GatewayMemory) -> None:
    session = await memory.start_session("chat", user=OWNER)

    async def call(step: int) -> Coroutine[Any, Any, Any]:
        return memory.after_reply(session, user=f"Remember that shelf {step} has the label 77{step:02d}.", reply="OK")

    steps, kept = 0, 0
    async for step in at_each_wait(call):
        await settled(memory)
        rows = await journal_rows(memory, "SELECT count(*) FROM replies")
        steps, kept = step, rows[0][0]
        text = (memory.workspace / "MEMORY.md").read_text("utf-8") if kept else ""
        assert text.count("has the label") == kept
    assert steps >= 1
    assert kept >= 1, "at one of them the turn was on its way to the disk"


async def test_the_first_turn_of_a_session_may_be_cancelled_anywhere(memory: GatewayMemory) -> None:
    sessions: dict[int, Session] = {}

    async def call(step: int) -> Coroutine[Any, Any, Any]:
        session = sessions[step] = await memory.start_session(f"chat {step}", user=OWNER)
        await memory.end_session(session, reason="reset")
        return memory.after_reply(session, user=f"Remember that shelf {step} has the label 77{step:02d}.", reply="OK")

    async for step in at_each_wait(call):
        await settled(memory)
        await memory.after_reply(
            sessions[step], user=f"Remember that crate {step} has the label 88{step:02d}.", reply=""
        )
        await memory.flush()
        assert f"crate {step} has" in (memory.workspace / "MEMORY.md").read_text("utf-8")
        assert step < 200


@pytest.mark.parametrize("again", ["the same", "started again", "a message first"])
async def test_an_end_that_was_cancelled_can_be_done_again(memory: GatewayMemory, again: str) -> None:
    sessions: dict[int, tuple[Session, str]] = {}

    async def call(step: int) -> Coroutine[Any, Any, Any]:
        session = await memory.start_session(f"chat {step}", user=OWNER)
        sessions[step] = session, session.session_id
        await memory.observe(session, kind="user", content=WORTH)
        await memory.after_reply(session, user="Remember that the port is 8443.", reply="OK")
        return memory.end_session(session, reason="user_close")

    steps = 0
    async for step in at_each_wait(call):
        steps = step
        session, session_id = sessions[step]
        if again == "started again":
            other = await memory.start_session(f"chat {step}", user=OWNER)
            await memory.end_session(session, reason="user_close")
            if other.session_id == session_id:
                assert other.is_open
                rows = await journal_rows(memory, "SELECT ended_at FROM sessions WHERE session_id = ?", (session_id,))
                assert rows == [(None,)], "who took it up has it open"
            session = other
        elif again == "a message first":
            await memory.after_reply(session, user="And the other one is 9000.", reply="OK")
        await memory.end_session(session, reason="user_close")
        await memory.end_session(session, reason="user_close")
        rows = await journal_rows(memory, "SELECT reason FROM sessions WHERE ended_at IS NULL")
        assert rows == []
        records = [row["session_id"] for row in read_records(memory.workspace / "sessions.jsonl")[0]]
        assert records.count(session_id) == 1
        assert step < 300
    assert steps > 5


@pytest.mark.parametrize("what", ["forget", "undo"])
async def test_a_command_that_was_cancelled_is_done_whole_or_not_at_all(memory: GatewayMemory, what: str) -> None:
    session = await memory.start_session("chat", user=OWNER)
    path = memory.workspace / "MEMORY.md"

    async def call(step: int) -> Coroutine[Any, Any, Any]:
        identity = await memory.save_fact(session, content=f"The shelf {step} has the label 77{step:02d}")
        return memory.command(session, f"/memory {what} {identity}")

    async for step in at_each_wait(call):
        await settled(memory)
        rows = await journal_rows(memory, "SELECT state FROM memories WHERE text LIKE ?", (f"The shelf {step} has%",))
        files = [path, *(memory.workspace / "memory").glob("*.md")]
        there = any(f"The shelf {step} has" in file.read_text("utf-8") for file in files if file.exists())
        assert there == (rows[0][0] == "active")
        assert step < 300
