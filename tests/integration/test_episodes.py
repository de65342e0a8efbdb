"""What was said stays, is found and quoted, and goes where it is forgotten, switched off, deleted or too old."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from gateway_memory import OWNER, Config, GatewayMemory, Session, UsageError, load_config
from gateway_memory.cli.main import main
from gateway_memory.hooks.words import _index_follows, lines_of
from gateway_memory.scope import OWNER_SCOPE
from gateway_memory.store.disk.workspace import INDEX_FILE
from gateway_memory.store.journal.episodes import Episode, Episodes
from gateway_memory.sync.episodes import EpisodeFollower
from recall import EmbedderSettings, Recaller, RecallSettings

pytestmark = pytest.mark.over_postgres

BIKE = "The shop called at noon: the Canyon Grail is there, the gravel one in dark green."
QUESTION = "which gravel bike did the shop call me about?"
WITHOUT_OPENING = load_config({"agents": {"defaults": {"memorySync": {"opening": {"enabled": False}}}}})
WITHOUT_MEMORIES = load_config(
    {"agents": {"defaults": {"memorySync": {"opening": {"enabled": False}, "autoExtract": {"enabled": False}}}}}
)
START = datetime(2026, 10, 1, 9, tzinfo=UTC)


def words_alone(**episodes: Any) -> Config:
    defaults = load_config().defaults
    recall = replace(defaults.auto_recall, embedder=EmbedderSettings(provider="none"))
    return Config(defaults=replace(defaults, auto_recall=recall, episodes=replace(defaults.episodes, **episodes)))


async def say(memory: GatewayMemory, key: str, *turns: tuple[str, str], user: Any = OWNER) -> Session:
    session = await memory.start_session(key, user=user)
    for said, reply in turns:
        await memory.after_reply(session, user=said, reply=reply)
    await memory.flush()
    return session


async def told(memory: GatewayMemory, key: str, question: str = QUESTION, user: Any = OWNER) -> str:
    """Everything that a new session and its tools get."""
    session = await memory.start_session(key, user=user)
    context = await memory.before_reply(session, question)
    hits = await memory.search(session, question, limit=10)
    around = [hit for found in hits for hit in await memory.get(session, found.id)]
    await memory.after_reply(session, user="hm", reply="hm")
    commands = [str(await memory.command(session, f"/memory {asked}")) for asked in ("why", "list")]
    return "\n".join([session.opening, context.text, *commands, *(hit.text for hit in (*hits, *around))])


@pytest.mark.parametrize(
    ("opened", "invited", "told_then", "question"),
    [
        (
            "I ran into some trouble with the orchestra today",
            "Sure, tell me what happened, maybe I can help.",
            "The conductor gave my solo to somebody else, a week before the concert",
            "which trouble did I have with the orchestra?",
        ),
        ("今天乐团那边遇到点麻烦", "没问题，你可以跟我讲一讲。", "指挥把我的独奏给了别人", "乐团那次是什么麻烦？"),
    ],
)
async def test_an_exchange_that_asks_for_more_is_quoted_with_what_was_told_then(
    tmp_path: Path, opened: str, invited: str, told_then: str, question: str
) -> None:
    async with GatewayMemory(WITHOUT_OPENING, tmp_path, clock=lambda: START) as memory:
        await say(memory, "one", (opened, invited), (told_then, "That is hard."))
        context = await memory.before_reply(await memory.start_session("two", user=OWNER), question)
        line = next(line for line in context.text.splitlines() if opened in line)
        assert line.index(opened) < line.index(told_then)


async def test_who_only_tells_is_told_less_than_who_asks(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path, clock=lambda: START) as memory:
        for number, said in enumerate(
            (
                "The allotment up at Rivelin is overgrown, but the soil is good.",
                "I dug over half of the allotment and found my mum's old trowel.",
                "Put the garlic in at the allotment today, two long rows.",
                "A fox has been at the compost of the allotment again.",
            )
        ):
            await say(memory, f"day {number}", (said, "I see."))
        told = [
            len((await memory.before_reply(await memory.start_session(key, user=OWNER), message)).recalled)
            for key, message in (
                ("asks", "what have I done at the allotment so far?"),
                ("tells", "I'm off to the allotment with a flask and the radio"),
            )
        ]
        assert told[0] > told[1] >= 1


async def test_what_was_said_is_quoted_with_its_day_and_its_speaker(tmp_path: Path) -> None:
    async with GatewayMemory(WITHOUT_MEMORIES, tmp_path, clock=lambda: START) as memory:
        await say(memory, "one", ("hm", "hm"), (BIKE, "Congratulations! Enjoy the first ride."))
        later = await memory.start_session("two", user=OWNER)
        context = await memory.before_reply(later, QUESTION)
        assert "[Earlier Conversations]" in context.text
        assert f"(2026-10-01) User: {BIKE} Assistant: Congratulations! Enjoy the first ride." in context.text
        assert [hit.kind for hit in context.recalled] == ["episode"]
        again = await memory.before_reply(later, "and the colour of that gravel bike?")
        assert BIKE not in again.text, "the session's context has it already"
        assert [hit.kind for hit in await memory.search(later, QUESTION)][:1] == ["episode"]


async def test_a_session_is_not_told_its_own_words_before_a_compaction(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await say(memory, "one", (BIKE, "OK"))
        assert BIKE not in (await memory.before_reply(session, QUESTION)).text
        session.compacted()
        assert BIKE in (await memory.before_reply(session, QUESTION)).text


async def test_a_hit_is_got_again_with_what_was_said_around_it(tmp_path: Path) -> None:
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        turns = [(f"We talked about topic {number} for a while.", f"Noted {number}") for number in range(5)]
        await say(memory, "one", *turns[:3], (BIKE, "Nice!"), *turns[3:])
        await say(memory, "elsewhere", ("Another conversation entirely.", "Yes"))
        reader = await memory.start_session("reader", user=OWNER)
        hit = (await memory.search(reader, QUESTION))[0]
        around = [each.text for each in await memory.get(reader, hit.id, around=1)]
        assert [BIKE in text for text in around] == [False, True, False]
        assert "topic 2" in around[0]
        assert "topic 3" in around[2]
        assert await memory.get(reader, "zzzzzzzz") == ()
        stranger = await memory.start_session("stranger", user="zoe")
        assert await memory.get(stranger, hit.id) == ()
        with pytest.raises(UsageError, match="around"):
            await memory.get(reader, hit.id, around=-1)


async def test_nobody_is_told_what_another_has_said(tmp_path: Path) -> None:
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        await say(memory, "one", (BIKE, "Nice!"), user="zoe")
        assert "Canyon" not in await told(memory, "owner's")
        assert "Canyon" not in await told(memory, "another's", user="max")
        assert "Canyon" in await told(memory, "hers", user="zoe")


@pytest.mark.files
@pytest.mark.parametrize("how", ["config", "incognito", "switched off"])
async def test_what_is_not_to_be_kept_leaves_no_episode(tmp_path: Path, how: str) -> None:
    async with GatewayMemory(words_alone(enabled=how != "config"), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        if how != "config":
            await memory.command(session, "/memory off" if how == "incognito" else "/memory off autoExtract")
        await memory.after_reply(session, user=BIKE, reply="Nice!")
        await memory.flush()
        assert "Canyon" not in await told(memory, "two")
    with closing(sqlite3.connect(tmp_path / "journal.sqlite")) as journal:
        query = "SELECT count(*) FROM episodes WHERE session_key = 'one'"
        assert journal.execute(query).fetchone() == (0,)


async def test_episodes_are_kept_without_extraction(tmp_path: Path) -> None:
    config = words_alone()
    off = replace(config.defaults, auto_extract=replace(config.defaults.auto_extract, enabled=False))
    async with GatewayMemory(Config(defaults=off), tmp_path) as memory:
        await say(memory, "one", (BIKE, "Nice!"), ("Remember that my cat is called Miso.", "OK"))
        assert "Canyon" in await told(memory, "two")
        assert not (tmp_path / "MEMORY.md").exists(), "nothing was extracted"


async def test_secrets_and_private_spans_are_not_in_what_was_said(tmp_path: Path) -> None:
    key = "sk-" + "proj-" + "Ab1Cd2Ef3Gh4Ij5Kl6Mn7"
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        said = f"My gravel bike is a Canyon. <private>The lock opens with 4711.</private> The key is {key}."
        await say(memory, "one", (said, "OK"))
        text = await told(memory, "two")
        assert "Canyon" in text
        assert "4711" not in text
        assert key not in text


@pytest.mark.parametrize("restarted", [False, True])
async def test_the_index_is_made_again_from_what_was_said(tmp_path: Path, *, restarted: bool) -> None:
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        await say(memory, "one", (BIKE, "Nice!"))
    if restarted:
        for file in tmp_path.glob("index.sqlite*"):
            file.unlink()
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        await memory.start_session("two", user=OWNER)
        await memory._opened().storage.episode_follower.catch_up("owner")
        assert "Canyon" in await told(memory, "three")


@pytest.mark.files
async def test_a_search_alone_finds_what_was_said_in_a_restored_memory(tmp_path: Path) -> None:
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        await say(memory, "one", (BIKE, "Congratulations!"))
    (tmp_path / INDEX_FILE).unlink()  # a backup has none
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        asking = await memory.start_session("two", user=OWNER)
        assert BIKE in (await memory.search(asking, QUESTION))[0].text


@pytest.mark.files
async def test_a_shell_searches_the_index_beside_pages_of_episodes(tmp_path: Path) -> None:
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        await say(memory, "one", (BIKE, "Nice!"), ("Remember that my cat is called Miso.", "OK"))
    assert _index_follows(tmp_path, OWNER_SCOPE)
    assert [line.text for line in lines_of(tmp_path, UTC)] == ["my cat is called Miso"]


async def test_what_is_too_old_is_deleted(tmp_path: Path) -> None:
    now = [START]
    async with GatewayMemory(words_alone(keep_days=30), tmp_path, clock=lambda: now[0]) as memory:
        await say(memory, "one", (BIKE, "Nice!"))
        now[0] += timedelta(days=31)
        await say(memory, "two", ("Something else entirely.", "Yes"))
        await memory._opened().retention.keep()
        assert "Canyon" not in await told(memory, "three")


SAID = "I'm allergic to shellfish"


@pytest.mark.parametrize("by", ["command", "words"])
async def test_what_is_forgotten_is_not_told_from_an_episode_until_it_is_undone(tmp_path: Path, by: str) -> None:
    asked = "what am I allergic to, shellfish?"
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        one = await say(
            memory,
            "one",
            (f"Remember that {SAID}. The kitchen is blue.", "Noted: no shellfish for you."),
            ("I had shellfish once, and as I said, I'm allergic to it.", "Take care."),
        )
        await memory.end_session(one, reason="completed")
        assert "shellfish" in await told(memory, "two", asked)
        session = await memory.start_session("three", user=OWNER)
        if by == "command":
            assert "Forgotten" in str(await memory.command(session, f"/memory forget {SAID}"))
        else:
            await memory.after_reply(session, user=f"Forget that {SAID}.", reply="OK")
            await memory.flush()
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        assert "shellfish" not in (await told(memory, "four", asked)).replace(asked, "")
        assert "blue" in await told(memory, "five", "which colour has the kitchen?"), "the rest is told"
        session = await memory.start_session("six", user=OWNER)
        await memory.command(session, "/memory undo")
        assert "shellfish" in await told(memory, "seven", asked)


async def test_what_was_replaced_is_told_for_the_past_alone(tmp_path: Path) -> None:
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        await say(memory, "one", ("I live in Berlin. The flat has four rooms and a balcony to the yard.", "Nice city!"))
        await say(memory, "two", ("I live in Porto now.", "Congratulations!"))
        later = await memory.start_session("three", user=OWNER)
        now = [hit.text for hit in await memory.search(later, "where do I live?")]
        assert any("Porto" in text for text in now)
        assert not any("I live in Berlin" in text for text in now)
        past = [hit.text for hit in await memory.search(later, "where did I live before?")]
        assert any("I live in Berlin" in text for text in past)


async def test_an_export_brings_episodes_back_once_and_a_deletion_takes_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with GatewayMemory(words_alone(), tmp_path / "one", clock=lambda: START) as memory:
        await say(memory, "chat", (BIKE, "Nice!"), (f"Remember that {SAID}.", "OK"))
        session = await memory.start_session("chat", user=OWNER)
        await memory.command(session, f"/memory forget {SAID}")
    one, two, file = str(tmp_path / "one"), str(tmp_path / "two"), str(tmp_path / "export.jsonl")
    assert run("export", "--output", file, "--workspace", one) == 0
    assert "shellfish" not in Path(file).read_text("utf-8")
    for added in ("2 added", "0 added"):
        capsys.readouterr()
        assert run("import", "jsonl", file, "--workspace", two) == 0
        assert f"episodes: {added}" in capsys.readouterr().out
    async with GatewayMemory(words_alone(), tmp_path / "two") as memory:
        assert "Canyon" in await told(memory, "three")
    assert run("delete", "--scope", "owner", "--workspace", two, "--yes") == 0
    assert not [path for path in Path(two).rglob("*") if path.is_file() and b"Canyon" in path.read_bytes()]


def run(*arguments: str) -> int:
    """Run a shell command in a thread of its own, since a loop runs in this one."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as thread:
        return int(thread.submit(main, list(arguments)).result())


class Growing:
    """Episodes of which another process stores one more, or deletes all, between reading a page and indexing it."""

    def __init__(self, *states: tuple[str, list[Episode]]) -> None:
        self.states = list(states)

    async def indexed(self, scope: str, pages: Mapping[int, str]) -> list[int]:
        if len(self.states) > 1:
            self.states.pop(0)
        return [page for page, token in pages.items() if token != self.states[0][0]]

    async def read(self, scope: str, pages: Sequence[int]) -> Mapping[int, tuple[str, Sequence[Episode]]]:
        return dict.fromkeys(pages, self.states[0])


@pytest.mark.parametrize("deleted", [False, True])
async def test_what_was_stored_while_a_page_was_indexed_is_there(*, deleted: bool) -> None:
    first, second = (
        Episode(turn=number, scope="owner", session_key="s", session_id="s1", user=f"line {number}", reply="", at=1.0)
        for number in (1, 2)
    )
    last: tuple[str, list[Episode]] = ("", []) if deleted else ("t2", [first, second])
    episodes = Growing(("t1", [first]), last)
    recaller = Recaller(None, RecallSettings(embedder=EmbedderSettings(provider="none")), zone=UTC)
    await recaller.open()
    try:
        await EpisodeFollower(cast("Episodes", episodes), recaller).index("owner", [1])
        assert set(await recaller.owners("owner", ["e1u0", "e2u0"])) == (set() if deleted else {"e1u0", "e2u0"})
        assert {stamp.digest for stamp in (await recaller.stamps("owner")).values()} == (set() if deleted else {"t2"})
    finally:
        await recaller.close()
