"""Workspaces in the shape of real ones, with forms, days, tables and folders: what they hold is told."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from gateway_memory import OWNER, GatewayMemory, load_config
from gateway_memory.cli.main import main
from gateway_memory.store.markdown import parse

BROUGHT = Path(__file__).parent.parent / "data/brought"
ASKED = [json.loads(line) for line in (BROUGHT / "questions.jsonl").read_text("utf-8").splitlines()]
MOST_MISSED = 3
FORM = ("Pronouns", "Update this as you go", "The more you know", "Nickname", "代词", "随时补充")


async def missed(workspace: Path, which: str) -> list[str]:
    """Return the questions to whose answer neither an opening, the block beside a reply nor the first hits lead."""
    left = []
    async with GatewayMemory(load_config(), workspace) as memory:
        for number, row in enumerate(row for row in ASKED if row["workspace"] == which):
            session = await memory.start_session(f"q{number}", user=OWNER)
            hits = await memory.search(session, row["question"], limit=5)
            context = await memory.before_reply(session, row["question"])
            told = "\n".join((session.opening, context.text, *(hit.text for hit in hits))).casefold()
            left += [] if any(answer.casefold() in told for answer in row["told"]) else [row["question"]]
            assert not any(words in session.opening for words in FORM)
    return left


@pytest.mark.parametrize("which", ["en", "zh", "mixed"])
async def test_what_was_brought_is_told(tmp_path: Path, which: str) -> None:
    workspace = tmp_path / "w"
    arguments = ["import", "openclaw", str(BROUGHT / which), "--workspace", str(workspace)]
    assert await asyncio.to_thread(main, arguments) == 0
    left = await missed(workspace, which)
    assert len(left) <= MOST_MISSED, left


@pytest.mark.parametrize("which", ["en", "zh", "mixed"])
async def test_what_lies_in_a_workspace_is_told_as_it_lies_there(tmp_path: Path, which: str) -> None:
    shutil.copytree(BROUGHT / which, tmp_path / "w")
    left = await missed(tmp_path / "w", which)
    assert len(left) <= MOST_MISSED, left


def test_each_line_read_aloud_stands_alone() -> None:
    for which in ("en", "zh", "mixed"):
        file = BROUGHT / which / "MEMORY.md"
        told = [block.text for block in parse(file.read_text("utf-8"), file="MEMORY.md")]
        assert not [text for text in told if text.endswith(("Boss", "Calibration", "Deploy", "预算", "艺术家"))]
    assert "健康：对青霉素过敏" in "\n".join(
        block.text for block in parse((BROUGHT / "zh/MEMORY.md").read_text("utf-8"), file="MEMORY.md")
    )
