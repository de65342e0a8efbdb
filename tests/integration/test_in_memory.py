"""A memory without a workspace: it works as any other, and leaves nothing on disk."""

import asyncio
from pathlib import Path

import pytest

from gateway_memory import OWNER, GatewayMemory, UsageError, load_config


async def test_it_works_as_any_other_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    async with GatewayMemory(load_config()) as memory:
        phone = await memory.start_session("phone", user=OWNER)
        laptop = await memory.start_session("laptop", user=OWNER)
        await memory.after_reply(phone, user="Remember that the staging port is 8443.", reply="OK")
        await memory.after_reply(phone, user="我喜欢用 Python", reply="好")
        await memory.flush()
        context = await memory.before_reply(laptop, "which port does staging use?")
        assert "8443" in context.text
        assert [change.text for change in context.updates] == ["the staging port is 8443", "我喜欢用 Python"]
        recalled = (await memory.before_reply(laptop, "写个脚本用什么语言？")).recalled
        assert "我喜欢用 Python" in [hit.text for hit in recalled]
        await memory.command(laptop, "/memory forget the staging port is 8443")
        assert not any("8443" in hit.text for hit in await memory.search(laptop, "staging port"))
        assert "8443" in (await memory.command(laptop, "/memory undo") or "")
        await memory.save_fact(laptop, content="The office has a red door", type="W")
        await memory.end_session(phone, reason="completed")
        assert (await memory.session_counts())["state.saved"] == 1
        again = await memory.start_session("phone", user=OWNER)
        assert "8443" in again.opening
        assert "Last Session" not in again.opening, "all of it stands above"
        rows = [row async for row in memory.exporter.rows()]
        assert {row["kind"] for row in rows} == {"memory", "summary", "episode"}
        assert memory.rule_text(again) == "", "no command can reach it"
        assert await memory.before_compaction(again, usage=90, messages=40) == ""
        with pytest.raises(UsageError, match="no workspace"):
            await memory.file_written(again, "MEMORY.md")
        assert await memory.exporter.copy(tmp_path / "copy") >= 2
    assert [path.name for path in tmp_path.iterdir()] == ["copy"]


async def test_two_of_them_know_nothing_of_each_other_and_nothing_stays() -> None:
    for _ in range(2):
        async with GatewayMemory(load_config()) as one, GatewayMemory(load_config()) as other:
            here = await one.start_session("here", user=OWNER)
            there = await other.start_session("there", user=OWNER)
            assert here.opening == there.opening == ""
            await one.after_reply(here, user="Remember that the door is red.", reply="OK")
            await asyncio.gather(one.flush(), other.flush())
            assert await one.search(here, "the red door")
            assert not await other.search(there, "the red door")
