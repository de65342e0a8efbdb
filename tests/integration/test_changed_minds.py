"""A mind that changed in plain words, with no model: the newer line stands alone, and unrelated lines stay."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway_memory import OWNER, Config, GatewayMemory
from gateway_memory.config.settings import MemorySync
from gateway_memory.store.markdown import parse
from recall import EmbedderSettings, RecallSettings

WORDS_ALONE = Config(defaults=MemorySync(auto_recall=RecallSettings(embedder=EmbedderSettings(provider="none"))))
UNRELATED = (
    "I like Berlin.",
    "Remember that my wife loves coffee.",
    "我们的后端用 Python",
    "记住我女儿不吃辣",
    "I use Emacs for notes.",
)


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[GatewayMemory]:
    async with GatewayMemory(WORDS_ALONE, tmp_path) as memory:
        yield memory


def kept(memory: GatewayMemory) -> set[str]:
    files = [memory.workspace / "MEMORY.md", *(memory.workspace / "memory").glob("*.md")]
    return {
        block.text
        for file in files
        if file.exists()
        for block in parse(file.read_text("utf-8"), file=str(file.relative_to(memory.workspace)), memories=True)
        if block.kind == "item"
    }


@pytest.mark.parametrize(
    ("before", "after", "stands"),
    [
        ("我喜欢用 Python", "现在我更喜欢用 Go，不再用 Python 了", {"现在我更喜欢用 Go，不再用 Python 了"}),
        (
            "I live in Berlin",
            "I no longer live in Berlin, I moved to Porto",
            {"I no longer live in Berlin", "I moved to Porto"},
        ),
        ("I love jazz", "I don't like jazz any more", {"I don't like jazz any more"}),
        ("我特别爱吃辣", "我不再吃辣了", {"我不再吃辣了"}),
        ("Call me Robin", "Actually, call me Max", {"call me Max"}),
        ("I prefer Vim", "I switched from Vim to Helix", {"I switched from Vim to Helix"}),
        ("以后提交信息都用英文写", "以后提交信息都用中文写", {"以后提交信息都用中文写"}),
        ("I always drink coffee in the morning", "I stopped drinking coffee", {"I stopped drinking coffee"}),
    ],
)
async def test_what_was_said_last_stands_and_unrelated_memories_stay(
    memory: GatewayMemory, before: str, after: str, stands: set[str]
) -> None:
    session = await memory.start_session("agent:main:telegram:direct:1", user=OWNER)
    for message in UNRELATED:
        await memory.after_reply(session, user=message, reply="I see.")
    await memory.flush()
    unrelated = kept(memory)
    assert len(unrelated) == len(UNRELATED)
    for message in (before, after):
        await memory.after_reply(session, user=message, reply="I see.")
        await memory.flush()
    assert kept(memory) == unrelated | stands
