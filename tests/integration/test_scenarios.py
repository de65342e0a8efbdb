"""The scenario table of the design, each row with what each layer does and how many follow-ups it costs."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from ending import WORTH, Clock, agent_saves, opened, records, said

from gateway_memory import OWNER


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of the table. asked: follow-ups, the only layer that costs the agent a turn. saved: by which layer."""

    name: str
    says: str = WORTH
    compacted: bool
    saves: bool
    """Whether the agent saves in its own turn, without being asked."""
    staged: int
    asked: int
    saved: tuple[str, ...]


TABLE = [
    Row(name="long, every layer works", compacted=True, saves=True, staged=1, asked=0, saved=("agent",)),
    Row(name="medium, compacted", compacted=True, saves=True, staged=1, asked=0, saved=("agent",)),
    Row(name="medium, not compacted", compacted=False, saves=True, staged=0, asked=0, saved=("agent",)),
    Row(name="short, the agent obeys the rule", compacted=False, saves=True, staged=0, asked=0, saved=("agent",)),
    Row(name="short, the agent ignores it", compacted=False, saves=False, staged=0, asked=1, saved=("followup",)),
    Row(name="tiny", says="谢谢", compacted=False, saves=False, staged=0, asked=0, saved=()),
    # Not a row of the table: a compaction alone has saved the session, so that its end makes the record of it.
    Row(name="compacted, and nothing else", compacted=True, saves=False, staged=1, asked=0, saved=("end",)),
]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
async def test_a_row_of_the_table(row: Row, tmp_path: Path) -> None:
    async with opened(tmp_path, Clock()) as memory:
        session = await memory.start_session("editor", user=OWNER)
        for _ in range(6 if row.name.startswith("long") else 1):
            await said(memory, session, row.says)
        if row.compacted:
            assert "--type S" in await memory.before_compaction(session, usage=85, messages=30)
        if row.saves:
            await agent_saves(memory, session)
        prompts = [await memory.stop(session, "completed") for _ in range(3)]  # loop_limit is 1
        assert [bool(prompt) for prompt in prompts] == [bool(row.asked), False, False]
        if row.asked:
            assert prompts[0].startswith("[Session Save]")
            assert session.session_id in prompts[0]
            await agent_saves(memory, session)
        await memory.end_session(session, reason="completed")
        counts = await memory.session_counts()
    assert (counts["followups"], counts["staged"]) == (row.asked, row.staged)
    found = records(tmp_path)
    assert tuple(record["layer"] for record in found) == row.saved
    assert [record["auto_generated"] for record in found] == [layer == "end" for layer in row.saved]
    if row.saved:
        assert "JWT" in found[0]["topic"] + found[0]["brief"]
    else:
        assert counts["state.nothing"] == 1


async def test_a_tiny_session_has_nothing_to_compact(tmp_path: Path) -> None:
    async with opened(tmp_path, Clock()) as memory:
        session = await memory.start_session("editor", user=OWNER)
        await said(memory, session, "谢谢")
        assert await memory.before_compaction(session, usage=5, messages=2) == ""


async def test_an_agent_that_ignores_the_followup_too_leaves_the_end_to_save(tmp_path: Path) -> None:
    async with opened(tmp_path, Clock()) as memory:
        session = await memory.start_session("editor", user=OWNER)
        await said(memory, session, WORTH)
        assert await memory.stop(session, "completed")
        await memory.end_session(session, reason="completed")
        assert (await memory.session_counts())["followups"] == 1
    assert [record["layer"] for record in records(tmp_path)] == ["end"]


@pytest.mark.parametrize("status", ["error", "window_close", "", "interrupted"])
async def test_a_followup_is_asked_of_no_session_that_was_broken_off(tmp_path: Path, status: str) -> None:
    async with opened(tmp_path, Clock()) as memory:
        session = await memory.start_session("editor", user=OWNER)
        await said(memory, session, WORTH)
        assert await memory.stop(session, status) == ""
