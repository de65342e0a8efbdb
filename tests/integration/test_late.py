"""What comes too late for one reply is not lost for the next."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from inside import parts

from gateway_memory import OWNER, Config, GatewayMemory, load_config
from gateway_memory.scope import Scope

pytestmark = pytest.mark.over_postgres


@pytest.mark.files
async def test_news_of_a_slow_disk_comes_with_the_next_reply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = load_config().defaults
    hasty = replace(defaults, auto_recall=replace(defaults.auto_recall, timeout_ms=200))
    async with GatewayMemory(Config(defaults=hasty), tmp_path) as memory:
        session = await memory.start_session("agent:main:laptop:direct:7", user=OWNER)
        (tmp_path / "MEMORY.md").write_text("- The meeting moved to Thursday\n")
        refresh, disk_answers = parts(memory).storage.follower.refresh, asyncio.Event()

        async def slow(scope: Scope) -> int:
            await disk_answers.wait()
            return await refresh(scope)

        monkeypatch.setattr(parts(memory).storage.follower, "refresh", slow)
        hung = await memory.before_reply(session, "hello")
        assert hung.text == ""
        disk_answers.set()
        await asyncio.gather(*parts(memory).builder.runner._behind)
        told = await memory.before_reply(session, "hello again")
        assert "The meeting moved to Thursday" in told.text


@pytest.mark.files
async def test_what_was_edited_before_it_was_told_is_told_as_it_stands(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        speaker = await memory.start_session("agent:main:laptop:direct:7", user=OWNER)
        other = await memory.start_session("agent:main:phone:direct:7", user=OWNER)
        await memory.after_reply(speaker, user="I work at Bosch", reply="ok")
        await memory.flush()
        path = tmp_path / "MEMORY.md"
        path.write_text(path.read_text().replace("Bosch", "Siemens"))
        context = await memory.before_reply(other, "where do I work?")
        assert "Siemens" in context.text
        assert "Bosch" not in context.text
