"""A mind that changed in plain words, with no model: the newer line stands alone, and unrelated lines stay."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway_memory import OWNER, Config, GatewayMemory, Session
from gateway_memory.config.settings import MemorySync
from gateway_memory.ground.holds import plain_of
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


@pytest.fixture
async def whole(tmp_path: Path) -> AsyncIterator[GatewayMemory]:
    """A memory as it ships, with the bundled encoder."""
    async with GatewayMemory(Config(), tmp_path) as memory:
        yield memory


async def said(memory: GatewayMemory, *messages: str) -> Session:
    session = await memory.start_session("agent:main:telegram:direct:2", user=OWNER)
    for message in messages:
        await memory.after_reply(session, user=message, reply="I see.")
        await memory.flush()
    return await memory.start_session("agent:main:telegram:direct:3", user=OWNER)


@pytest.mark.parametrize(
    ("before", "after", "stands"),
    [
        ("Remember that my bike is red", "Had the bike painted green!", {"Had the bike painted green"}),
        ("记住我在学吉他", "吉他放弃了，改弹尤克里里", {"吉他放弃了，改弹尤克里里"}),
        ("Remember that the logo will be blue", "scratch the blue logo", {"scratch the blue logo"}),
        (
            "Remember that the staging database is called heron42",
            "Actually, the staging database is called bittern7 since today, not heron42",
            {"the staging database is called bittern7 since today, not heron42"},
        ),
    ],
)
async def test_a_change_that_no_rule_keeps_takes_the_place_of_the_line(
    whole: GatewayMemory, before: str, after: str, stands: set[str]
) -> None:
    session = await said(whole, before, after)
    assert set(map(plain_of, kept(whole))) == stands
    told = await whole.before_reply(session, before)
    assert before.removeprefix("Remember that ").removeprefix("记住") not in told.text, "nor is it quoted"
    assert await whole.command(session, "/memory undo")
    assert kept(whole) == {before.removeprefix("Remember that ").removeprefix("记住")}


async def test_a_sentence_that_changes_nothing_becomes_no_memory(whole: GatewayMemory) -> None:
    await said(whole, "Remember that my bike is red", "They closed down the chess club", "She moved to Braga now")
    assert kept(whole) == {"my bike is red"}


@pytest.mark.parametrize(
    ("before", "after", "line", "question"),
    [
        (
            "Remember that I am Jonas and I live in Graz",
            "I live in Linz",
            "I am Jonas and I live in Graz (may be outdated)",
            "Where do I live?",
        ),
        ("我叫李想，我住在成都", "我住在重庆", "我叫李想，我住在成都（可能已过时）", "我住在哪里？"),
    ],
)
async def test_where_it_is_unsure_the_older_line_is_marked_while_the_newer_one_stands(
    whole: GatewayMemory, before: str, after: str, line: str, question: str
) -> None:
    session = await said(whole, before, after)
    assert len(kept(whole)) == 2, "the files stay as they are"
    assert line in await whole.opening(session)
    found = await whole.search(session, question)
    assert line in {hit.text for hit in found}
    memories = await whole.search(session, after, kinds=["memory"])
    newer = next(hit for hit in memories if hit.text != line)
    other = await whole.start_session("agent:main:telegram:direct:4", user=OWNER)
    context = await whole.before_reply(other, question)
    assert line in {hit.text for hit in context.recalled}
    assert line in (await whole.get(other, next(hit.id for hit in found if hit.text == line)))[0].text
    await whole.command(session, f"/memory forget {newer.id}")
    assert line not in {hit.text for hit in await whole.search(session, question)}, "nothing says so any more"
