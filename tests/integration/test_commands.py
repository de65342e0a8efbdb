"""What a person does with `/memory …` right after talking, and beside editing the files by hand."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gateway_memory import OWNER, Config, GatewayMemory, Session
from gateway_memory.config.settings import MemorySync
from gateway_memory.store.markdown import parse
from recall import EmbedderSettings, RecallSettings

WORDS_ALONE = Config(defaults=MemorySync(auto_recall=RecallSettings(embedder=EmbedderSettings(provider="none"))))


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[GatewayMemory]:
    async with GatewayMemory(WORDS_ALONE, tmp_path) as memory:
        yield memory


@pytest.fixture
async def session(memory: GatewayMemory) -> Session:
    return await memory.start_session("agent:main:telegram:direct:1", user=OWNER)


async def say(memory: GatewayMemory, session: Session, *messages: str, flush: bool = True) -> None:
    for message in messages:
        await memory.after_reply(session, user=message, reply="I see.")
    if flush:
        await memory.flush()


async def command(memory: GatewayMemory, session: Session, text: str) -> str:
    answer = await memory.command(session, text)
    assert answer is not None
    return answer


def files(memory: GatewayMemory) -> list[Path]:
    found = [memory.workspace / "MEMORY.md", *(memory.workspace / "memory").glob("*.md")]
    return [file for file in found if file.exists()]


def kept(memory: GatewayMemory) -> dict[str, str]:
    """The memories of all files: id by text."""
    blocks = [
        block
        for file in files(memory)
        for block in parse(file.read_text("utf-8"), file=str(file.relative_to(memory.workspace)), memories=True)
    ]
    return {block.text: block.id for block in blocks if block.kind == "item"}


def edit(memory: GatewayMemory, old: str, new: str) -> None:
    """Replace words by hand, or delete the lines that have them."""
    for file in files(memory):
        lines = file.read_text("utf-8").splitlines(keepends=True)
        file.write_text("".join(line.replace(old, new) for line in lines if new or old not in line), "utf-8")


async def test_a_command_sees_what_was_just_said(memory: GatewayMemory, session: Session) -> None:
    await say(memory, session, "I like green tea.", flush=False)
    assert "I like green tea" in await command(memory, session, "/memory list")
    await say(memory, session, "Remember that the red door is locked.", flush=False)
    assert "red door" in await command(memory, session, "forget that the red door is locked")
    assert list(kept(memory)) == ["I like green tea"]


@pytest.mark.parametrize("words", ["green tea", "I like green tea", "that I like green tea", "GREEN TEA"])
async def test_forget_takes_words(memory: GatewayMemory, session: Session, words: str) -> None:
    await say(memory, session, "I like green tea.", "I live in Berlin.")
    assert "Forgotten: I like green tea" in await command(memory, session, f"/memory forget {words}")
    assert list(kept(memory)) == ["I live in Berlin"]


async def test_forget_takes_one_word_that_looks_like_an_id(memory: GatewayMemory, session: Session) -> None:
    await say(memory, session, "I like coffee.")
    assert "Forgotten" in await command(memory, session, "/memory forget coffee")
    assert kept(memory) == {}


async def test_forget_shows_those_that_words_may_mean(memory: GatewayMemory, session: Session) -> None:
    await say(memory, session, "I like tea in the morning.", "Remember that the tea kettle leaks.")
    answer = await command(memory, session, "/memory forget tea")
    assert answer.startswith("Which one?")
    assert all(f"- {identity} · {text}" in answer for text, identity in kept(memory).items())
    assert len(kept(memory)) == 2
    assert "No memory is called or says “bicycles”" in await command(memory, session, "/memory forget bicycles")


async def test_forget_offers_nothing_that_only_stands_near(memory: GatewayMemory, session: Session) -> None:
    await say(
        memory,
        session,
        "I like green tea.",
        "We moved the deploy of the billing service to Tuesday nights.",
        "My sister sews.",
    )
    await command(memory, session, "/memory forget green tea")
    assert "No memory is called or says" in await command(memory, session, "/memory forget tea")


@pytest.mark.parametrize("declined", ["/memory cancel", "/memory never mind", "/memory 取消"])
async def test_who_declines_to_clear_takes_nothing_back(memory: GatewayMemory, session: Session, declined: str) -> None:
    await say(memory, session, "Remember that I drink oolong.")
    await command(memory, session, "/memory clear")
    before = kept(memory)
    await command(memory, session, declined)
    assert kept(memory) == before != {}


async def test_an_id_that_is_gone_is_no_word(memory: GatewayMemory, session: Session) -> None:
    await say(memory, session, "Remember that the ladder stands in the barn.")
    (identity,) = kept(memory).values()
    await command(memory, session, f"/memory correct {identity} the ladder stands in the yard")
    for text in (f"/memory correct {identity} the ladder stands in the attic", f"/memory pin {identity}"):
        assert "ladder" not in await command(memory, session, text)


async def test_undo_says_of_when(memory: GatewayMemory, session: Session) -> None:
    await say(memory, session, "I like green tea.")
    answer = await command(memory, session, "/memory undo")
    assert answer.startswith(f"Undone, of {memory.now().astimezone():%Y-%m-%d}")
    assert "by hand" not in answer
    assert kept(memory) == {}


async def test_undo_keeps_a_line_that_was_edited_and_names_the_change_before(
    memory: GatewayMemory, session: Session
) -> None:
    await say(memory, session, "I like green tea.")
    await say(memory, session, "I live in Berlin.")
    edit(memory, "Berlin", "Bern")
    answer = await command(memory, session, "/memory undo")
    assert answer.startswith("Nothing was undone")
    ids = kept(memory)
    assert f"{ids['I live in Bern']} now says: I live in Bern (was: I live in Berlin)" in answer
    assert f"/memory undo {ids['I like green tea']}: I like green tea" in answer
    assert set(ids) == {"I live in Bern", "I like green tea"}
    answer = await command(memory, session, f"/memory undo {ids['I like green tea']}")
    assert "removed" in answer
    assert "edited by hand since then stays" in answer
    assert set(kept(memory)) == {"I live in Bern"}


async def test_undo_puts_back_what_was_deleted_by_hand_before_it_goes_on(
    memory: GatewayMemory, session: Session
) -> None:
    await say(memory, session, "I like green tea.")
    await say(memory, session, "I live in Berlin.")
    edit(memory, "Berlin", "")
    assert "put back" in await command(memory, session, "/memory undo")
    assert set(kept(memory)) == {"I like green tea", "I live in Berlin"}
    await command(memory, session, "/memory undo")
    assert set(kept(memory)) == {"I like green tea"}


async def test_undo_of_a_deleted_line_and_then_of_what_it_had_replaced(memory: GatewayMemory, session: Session) -> None:
    await say(memory, session, "I live in Berlin.")
    await say(memory, session, "I live in Munich now.")
    edit(memory, "Munich", "")
    for expected in ({"I live in Munich now"}, {"I live in Berlin"}, set()):
        await command(memory, session, "/memory undo")
        assert set(kept(memory)) == expected


async def test_history_tells_of_edits_by_hand(memory: GatewayMemory, session: Session) -> None:
    await say(memory, session, "I live in Berlin.")
    (identity,) = kept(memory).values()
    line = (memory.workspace / "MEMORY.md").read_text("utf-8")
    for old, new in (("Berlin", "Bern"), ("Bern", "")):
        edit(memory, old, new)
        await command(memory, session, "/memory list")
    (memory.workspace / "MEMORY.md").write_text(line, "utf-8")
    await command(memory, session, "/memory list")
    history = await command(memory, session, f"/memory history {identity}")
    assert [row.rpartition(" · ")[2] for row in history.splitlines()[2:]] == [
        "added",
        "edited by hand",
        "deleted by hand",
        "put back by hand",
    ]


async def test_a_text_that_is_escaped_in_the_file_is_no_edit(memory: GatewayMemory, session: Session) -> None:
    await say(memory, session, "Remember that our templates mark a gap with <!-- gap -->.")
    assert "Undone" in await command(memory, session, "/memory undo")
    assert kept(memory) == {}


async def test_a_memory_is_corrected_and_an_undo_takes_that_back(memory: GatewayMemory, session: Session) -> None:
    first = await memory.save_fact(session, content="My sister lives in Lyon")
    other = await memory.start_session("agent:main:main:other", user=OWNER)
    assert await memory.command(session, f"/memory correct {first} My sister lives in Nantes")
    (hit,) = await memory.search(session, "sister", kinds=["memory"])
    assert hit.text == "My sister lives in Nantes"
    assert "Nantes" in (await memory.before_reply(other, "Where does my sister live?")).text
    assert "Lyon" in str(await memory.command(session, f"/memory history {hit.id}"))
    await memory.command(session, "/memory undo")
    assert [each.text for each in await memory.search(session, "sister", kinds=["memory"])] == [
        "My sister lives in Lyon"
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("correct", "Which one"),
        ("correct {id}", "Which one"),
        ("correct {id} My sister lives in Lyon", "says so already"),
        ("correct zzzzzzzz anything", "No memory"),
        ("pin", "Which one"),
        ("pin zzzzzzzz", "No memory"),
    ],
)
async def test_what_cannot_be_corrected_or_pinned_is_said(
    memory: GatewayMemory, session: Session, text: str, said: str
) -> None:
    identity = await memory.save_fact(session, content="My sister lives in Lyon")
    answer = await memory.answer(session, f"/memory {text.format(id=identity)}")
    assert answer is not None
    assert not answer.done
    assert said in answer.text


async def test_a_secret_in_a_correction_is_left_out(memory: GatewayMemory, session: Session) -> None:
    identity = await memory.save_fact(session, content="The build server is called Otto")
    secret = "sk-" + "a1B2c3D4" * 6
    answer = await memory.command(session, f"/memory correct {identity} The build server takes {secret}")
    assert secret not in str(answer)
    assert secret not in str(await memory.search(session, "build server"))


async def test_a_memory_is_pinned_and_each_session_opens_with_it(memory: GatewayMemory, session: Session) -> None:
    identity = await memory.save_fact(session, content="The boat is called Wilma")
    assert "MEMORY.md" in str(await memory.command(session, f"/memory pin {identity}"))
    assert "Wilma" in str(await memory.read_file(session, "MEMORY.md"))
    assert "already" in str(await memory.command(session, f"/memory pin {identity}"))
    await memory.command(session, "/memory undo")
    assert "Wilma" not in str(await memory.read_file(session, "MEMORY.md"))
    (hit,) = await memory.search(session, "boat", kinds=["memory"])
    assert hit.id == identity


async def test_a_digest_tells_what_changed_and_only_counts_what_was_forgotten(tmp_path: Path) -> None:
    now = [datetime(2026, 11, 1, 12, tzinfo=UTC)]
    async with GatewayMemory(WORDS_ALONE, tmp_path, clock=lambda: now[0]) as memory:
        session = await memory.start_session("agent:main:telegram:direct:1", user=OWNER)
        assert "0 learnt" in await command(memory, session, "/memory digest")
        await say(memory, session, "Remember that my old bike is blue.")
        now[0] += timedelta(days=3)
        boat = await memory.save_fact(session, content="My boat is called Wilma")
        gone = await memory.save_fact(session, content="My locker is number 4711")
        lamp = await memory.save_fact(session, content="The lamp in the hall is green")
        await command(memory, session, f"/memory forget {gone}")
        await command(memory, session, f"/memory correct {lamp} The lamp in the hall is red")
        told = await command(memory, session, "/memory digest")
        assert "1 learnt, 1 changed, 1 forgotten" in told
        assert f"{boat} · My boat is called Wilma" in told
        assert "The lamp in the hall is red" in told
        assert not any(words in told for words in ("4711", "green", "bike"))
        assert "old bike is blue" in await command(memory, session, "/memory digest week")
        await command(memory, session, "/memory undo")
        assert "The lamp in the hall is green" in await command(memory, session, "/memory 小结 week")
        answer = await memory.answer(session, "/memory digest year")
        assert answer is not None
        assert not answer.done
        assert (await memory.record(session, "digest", "week"))["counts"]["learnt"] >= 2


async def test_an_exchange_is_forgotten_with_what_was_learnt_from_it(memory: GatewayMemory, session: Session) -> None:
    await memory.after_reply(session, user="Remember that the boat is called Wilma", reply="Understood.")
    await memory.after_reply(session, user="The harbour opens at six, they say.", reply="Understood.")
    await memory.flush()
    boat = next(hit for hit in await memory.search(session, "boat", limit=10, kinds=["episode"]) if "Wilma" in hit.text)
    assert "Wilma" in str(await memory.command(session, f"/memory forget {boat.id}"))
    assert "Wilma" not in str(await memory.search(session, "boat called Wilma", limit=20))
    assert await memory.search(session, "When does the harbour open?", kinds=["episode"])
    answer = await memory.answer(session, f"/memory forget {boat.id}")
    assert answer is not None
    assert not answer.done
    await memory.command(session, "/memory undo")
    found = await memory.search(session, "boat called Wilma", limit=20)
    assert {hit.kind for hit in found if "Wilma" in hit.text} >= {"memory"}
    assert await memory.get(session, boat.id, around=0)


async def test_one_person_s_chinese_command_leaves_the_others_their_language(memory: GatewayMemory) -> None:
    group = await memory.start_session("group", room="kitchen")
    assert "没有" in str(await memory.command(group, "/memory search 咖啡"))
    assert "没有" not in str(await memory.command(group, "/memory search coffee"))
    own = await memory.start_session("own", user="zoe")
    await memory.command(own, "/memory search 咖啡")
    assert "没有" in str(await memory.command(own, "/memory search coffee")), "the same person goes on"
