"""Workspaces in the shape of real ones, with forms, days, tables and folders: what they hold is told."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from gateway_memory import OWNER, GatewayMemory, load_config
from gateway_memory.cli.main import main
from gateway_memory.ground.holds import plain_of
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


WORDS = '{"agents": {"defaults": {"memorySync": {"autoRecall": {"embedder": {"provider": "none"}}}}}}'


def rows_of(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


async def told(workspace: Path, config: Path, which: str) -> list[str]:
    """Return the opening of a session, and for each question what is found."""
    async with GatewayMemory(load_config(config), workspace) as memory:
        session = await memory.start_session("s", user=OWNER)
        found = [
            "\n".join(
                f"{hit.at // 86_400} {hit.text}" for hit in await memory.search(session, row["question"], limit=5)
            )
            for row in ASKED
            if row["workspace"] == which
        ]
        return [session.opening, *found]


@pytest.mark.parametrize("which", ["en", "zh", "mixed"])
@pytest.mark.parametrize("how", ["jsonl", "markdown"])
@pytest.mark.parametrize("live", [False, True])
async def test_what_was_brought_goes_out_and_comes_back_as_it_was(
    tmp_path: Path, which: str, how: str, *, live: bool
) -> None:
    config = tmp_path / "words.json5"
    config.write_text(WORDS)

    async def run(*arguments: str | Path) -> None:
        assert await asyncio.to_thread(main, [*map(str, arguments), "--config", str(config)]) == 0

    first, second, out = tmp_path / "first", tmp_path / "second", tmp_path / "out"
    if live:
        shutil.copytree(BROUGHT / which, first)
    else:
        await run("import", "openclaw", BROUGHT / which, "--workspace", first)
    await run("export", "--format", how, "--output", out, "--workspace", first)
    await run("import", "openclaw" if how == "markdown" else "jsonl", out, "--workspace", second)
    exports = []
    for workspace in (first, second):
        file = tmp_path / f"{workspace.name}.jsonl"
        await run("export", "--output", file, "--workspace", workspace)
        exports.append(rows_of(file))
    # What lies in a day's file unmarked gets its days when it is taken in ("on Wednesday"), as any other Markdown does.
    said = plain_of if live else str
    lines = [
        sorted((said(str(row["text"])), str(row["at"])[:10]) for row in rows if row["kind"] == "memory")
        for rows in exports
    ]
    notes = [
        sorted((str(row["file"]), str(row["text"]).strip()) for row in rows if row["kind"] == "note")
        for rows in exports
    ]
    assert lines[0] == lines[1]
    assert notes[0] == notes[1]
    if not live:
        assert await told(first, config, which) == await told(second, config, which)
