"""An import that is killed at any moment, and started again, takes in each item once."""

import json
import random
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from inside import journal_rows

from gateway_memory import Config, GatewayMemory
from recall import EmbedderSettings, RecallSettings

pytestmark = pytest.mark.slow

WORDS = Config(
    defaults=replace(Config().defaults, auto_recall=RecallSettings(embedder=EmbedderSettings(provider="none")))
)
START = datetime(2025, 1, 1, tzinfo=UTC)
EPISODES, MEMORIES, KILLS = 1200, 2600, 6


def written(path: Path) -> Path:
    rows: list[dict[str, object]] = [
        {"kind": "memory", "scope": "owner", "text": f"Shelf {number} holds the part {number * 7919}", "type": "W",
         "at": (START + timedelta(minutes=number)).isoformat()}
        for number in range(MEMORIES)
    ]  # fmt: skip
    rows += [
        {"kind": "episode", "scope": "owner", "at": (START + timedelta(minutes=number)).isoformat(),
         "session": f"chat-{number // 10}", "session_id": f"chat-{number // 10}",
         "user": f"Which part lies on shelf {number}?", "reply": f"The part {number * 7919}."}
        for number in range(EPISODES)
    ]  # fmt: skip
    random.Random(1).shuffle(rows)  # noqa: S311 - the order is not a secret
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.mark.parametrize("seed", [1, 2])
async def test_each_item_stands_once_however_often_the_import_is_killed(tmp_path: Path, seed: int) -> None:
    source, workspace, config = written(tmp_path / "all.jsonl"), tmp_path / "w", tmp_path / "config.json5"
    config.write_text('{agents: {defaults: {memorySync: {autoRecall: {embedder: {provider: "none"}}}}}}')
    command = [sys.executable, "-m", "gateway_memory.cli.entry", "import", "jsonl", str(source),
               "--config", str(config), "--workspace", str(workspace)]  # fmt: skip
    wait = random.Random(seed)  # noqa: S311 - likewise
    for _ in range(KILLS):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(timeout=wait.uniform(0.3, 3.0))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    subprocess.run(command, check=True, capture_output=True)
    lines = [
        line.partition(" <!--")[0]
        for path in sorted((workspace / "memory").glob("*.md"))
        for line in path.read_text("utf-8").splitlines()
        if line.startswith("- ")
    ]
    assert sorted(lines) == sorted(f"- Shelf {number} holds the part {number * 7919}" for number in range(MEMORIES))
    async with GatewayMemory(WORDS, workspace) as memory:
        ((episodes, distinct),) = await journal_rows(memory, "SELECT count(*), count(DISTINCT user) FROM episodes")
        assert (episodes, distinct) == (EPISODES, EPISODES)
        assert await journal_rows(memory, "SELECT state, count(*) FROM memories GROUP BY state") == [
            ("active", MEMORIES)
        ]
        assert not await journal_rows(memory, "SELECT 1 FROM plans")
    again = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "memories: 0 added" in again.stdout
    assert "episodes: 0 added" in again.stdout
