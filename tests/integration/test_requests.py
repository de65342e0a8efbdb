"""What people ask of the memory in their own words: done after the reply, or asked; never silent, and never kept."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway_memory import OWNER, Config, Context, GatewayMemory, Session

FACTS = (
    "I am allergic to shrimp",
    "The killarney job starts at seven every day",
    "我缺铁，在吃铁剂",
    "My favourite tea is sencha",
    "I like green tea in the morning",
)


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[GatewayMemory]:
    async with GatewayMemory(Config(), tmp_path) as memory:
        yield memory


@pytest.fixture
async def session(memory: GatewayMemory) -> Session:
    session = await memory.start_session("agent:main:telegram:direct:1", user=OWNER)
    for fact in FACTS:
        await memory.after_reply(session, user=fact, reply="I see.")
    await memory.flush()
    return session


async def say(memory: GatewayMemory, session: Session, message: str) -> tuple[Context, int]:
    """What the assistant is told before its reply, and the number of the turn."""
    context = await memory.before_reply(session, message)
    turn = await memory.after_reply(session, user=message, reply="All right.")
    await memory.flush()
    return context, turn


def lines(memory: GatewayMemory) -> str:
    files = [memory.workspace / "MEMORY.md", *(memory.workspace / "memory").glob("*.md")]
    return "\n".join(file.read_text("utf-8") for file in files if file.exists())


@pytest.mark.parametrize(
    ("asked", "gone"),
    [
        ("Can you forget that I'm allergic to shrimp?", "shrimp"),
        ("forget what i said about the killarney job", "killarney"),
        ("那个缺铁的事忘了吧", "缺铁"),
        ("please forget that I'm allergic to shrimp, turns out I'm not", "shrimp"),
    ],
)
async def test_what_is_certain_is_told_before_the_reply_and_forgotten_after_it(
    memory: GatewayMemory, session: Session, asked: str, gone: str
) -> None:
    assert gone in lines(memory)
    context, _ = await say(memory, session, asked)
    assert "[Memory Request]" in context.text
    assert context.request is not None
    assert (context.request.act, context.request.sure, context.request.done) == ("forget", True, True)
    assert gone not in lines(memory)
    fresh = await memory.start_session("fresh", user=OWNER)
    assert gone not in fresh.opening
    assert gone not in (await memory.before_reply(fresh, "what do you know about me and my health?")).text
    assert gone in (await memory.command(session, "/memory undo") or "")
    assert gone in lines(memory)


async def test_where_several_may_be_meant_the_assistant_asks_which(memory: GatewayMemory, session: Session) -> None:
    context, _ = await say(memory, session, "please forget what I told you about tea")
    assert context.request is not None
    assert not context.request.done
    assert len(context.request.ids) == 2
    assert "sencha" in context.text
    assert "green tea" in context.text
    assert "sencha" in lines(memory)
    answer = await memory.command(session, f"/memory forget {' '.join(context.request.ids)}")
    assert answer is not None
    assert "tea" not in lines(memory)


async def test_what_shall_not_be_noted_is_kept_nowhere(memory: GatewayMemory, session: Session) -> None:
    context, turn = await say(memory, session, "don't write this down but my boss Quimby is leaving in March")
    assert context.request is not None
    assert context.request.act == "not_note"
    assert turn == 0
    assert "Quimby" not in lines(memory)
    assert [hit for hit in await memory.search(session, "Quimby") if "Quimby" in hit.text] == []


@pytest.mark.parametrize(
    ("pause", "secret", "go_on"),
    [
        ("stop taking notes for now", "I have a numbat named Milo", "ok you can remember things again"),
        ("先别记了，我要说点私密的", "我养了一只袋食蚁兽", "可以继续记了"),
    ],
)
async def test_the_memory_pauses_until_it_is_asked_to_go_on(
    memory: GatewayMemory, session: Session, pause: str, secret: str, go_on: str
) -> None:
    context, turn = await say(memory, session, pause)
    assert context.request is not None
    assert (context.request.act, turn) == ("pause", 0)
    assert session.incognito
    assert (await say(memory, session, secret))[1] == 0
    assert session.incognito
    context, _ = await say(memory, session, go_on)
    assert context.request is not None
    assert context.request.act == "resume"
    assert session.on("autoExtract")
    assert "numbat" not in lines(memory)
    assert "袋食蚁兽" not in lines(memory)
    assert (await say(memory, session, "My sister is called Fenella"))[1] > 0
    assert "Fenella" in lines(memory)


async def test_everything_is_forgotten_only_when_it_was_asked_twice(memory: GatewayMemory, session: Session) -> None:
    context, _ = await say(memory, session, "forget everything you know about me")
    assert context.request is not None
    assert (context.request.act, context.request.done) == ("forget_all", False)
    assert "/memory clear yes" in context.text
    before = lines(memory)
    assert "Nothing is forgotten yet" in (await memory.command(session, "/memory forget everything") or "")
    assert lines(memory) == before
    assert "Forgotten" in (await memory.command(session, "/memory clear yes") or "")
    assert not any(word in lines(memory) for word in ("shrimp", "killarney", "缺铁", "tea"))
    fresh = await memory.start_session("fresh", user=OWNER)
    assert not any(word in fresh.opening for word in ("shrimp", "killarney", "缺铁", "tea"))
    await memory.command(session, "/memory undo")
    assert lines(memory) == before


async def test_what_is_known_and_who_can_read_it_is_told(memory: GatewayMemory, session: Session) -> None:
    known, _ = await say(memory, session, "what do you know about me?")
    assert known.request is not None
    assert known.request.act == "recall"
    assert all(word in known.text for word in ("shrimp", "sencha"))
    readers, _ = await say(memory, session, "who can see the things I tell you?")
    assert readers.request is not None
    assert readers.request.act == "who_reads"
    assert "whoever runs it" in readers.text


async def test_ordinary_talk_asks_nothing_of_the_memory(memory: GatewayMemory, session: Session) -> None:
    for message in (
        "I forgot my umbrella again",
        "delete the second paragraph",
        "我忘了带钥匙",
        "remember: my mum is 80",
    ):
        assert (await say(memory, session, message))[0].request is None


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("you've got my birthday wrong, its the 4th of may not the 5th", "4th of may"),
        ("你把我妹妹的名字记错了，她其实叫小满", "小满"),
    ],
)
async def test_what_a_correction_tells_is_kept(memory: GatewayMemory, session: Session, asked: str, told: str) -> None:
    context, turn = await say(memory, session, asked)
    assert context.request is not None
    assert context.request.act == "correct"
    assert turn
    assert told in lines(memory)


async def test_what_is_told_beside_a_question_about_the_memory_is_kept(memory: GatewayMemory, session: Session) -> None:
    _, turn = await say(memory, session, "I took up judo in March. What do you know about me?")
    assert "judo" in lines(memory)
    fresh = await memory.start_session("agent:main:telegram:direct:1", user=OWNER)
    assert any(hit.turn == turn for hit in await memory.search(fresh, "judo", limit=20))
