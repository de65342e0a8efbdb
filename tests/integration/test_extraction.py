"""A whole memory with a model: what it finds, what it costs, what it fails at, and what the user can do about it."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from inside import parts
from scripted_provider import Fail, Provider, Say, entry, found, serving

from gateway_memory import OWNER, Config, GatewayMemory, load_config
from gateway_memory.ground.holds import plain_of
from gateway_memory.testing import Clock
from recall import EmbedderSettings

SAID = "I moved to Lisbon with my sister Marta last spring"
GOOD = entry("The user moved to Lisbon with their sister Marta", "moved to Lisbon with my sister Marta")

Open = Callable[..., AbstractAsyncContextManager[GatewayMemory]]


@pytest.fixture
def clock() -> Clock:
    return Clock(datetime(2026, 1, 5, 12, 0, tzinfo=UTC))


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with serving() as provider:
        yield provider


@pytest.fixture
def opened(provider: Provider, tmp_path: Path, clock: Clock) -> Open:
    @asynccontextmanager
    async def opened(**extraction: Any) -> AsyncIterator[GatewayMemory]:
        defaults = load_config().defaults
        settings = replace(
            defaults.auto_extract,
            base_url=f"{provider.url}/v1",
            prompt="full",
            min_conversation_length=0,
            **extraction,
        )
        recall = replace(defaults.auto_recall, embedder=EmbedderSettings(provider="none"))
        config = Config(defaults=replace(defaults, auto_extract=settings, auto_recall=recall, time_zone="UTC"))
        async with GatewayMemory(config, tmp_path, clock=clock) as memory:
            yield memory

    return opened


async def say(memory: GatewayMemory, *messages: str, reply: str = "I see.", user: Any = OWNER) -> None:
    session = await memory.start_session("agent:main:telegram:direct:1", user=user)
    for message in messages:
        await memory.before_reply(session, message)
        await memory.after_reply(session, user=message, reply=reply)
    await memory.flush()


async def command(memory: GatewayMemory, text: str, user: Any = OWNER) -> str:
    session = await memory.start_session("agent:main:telegram:direct:1", user=user)
    answer = await memory.command(session, text)
    assert answer is not None
    return answer


def lines(tmp_path: Path) -> list[str]:
    """Return the lines of the files without the notes of when they hold."""
    files = [tmp_path / "MEMORY.md", *sorted((tmp_path / "memory").glob("*.md"))]
    text = "\n".join(file.read_text("utf-8") for file in files if file.exists())
    return [plain_of(line[2:].partition(" <!--")[0]) for line in text.split("\n") if line.startswith("- ")]


def ids(tmp_path: Path) -> list[str]:
    text = (tmp_path / "MEMORY.md").read_text("utf-8")
    return [line.partition("gm:")[2].split()[0] for line in text.split("\n") if "gm:" in line]


async def test_a_batch_is_one_call(provider: Provider, opened: Open, tmp_path: Path) -> None:
    provider.script.append(Say(text=found(GOOD)))
    async with opened() as memory:
        await say(memory, SAID, "It was a long drive", "The house has a blue door and a garden")
        assert len(provider.asked) == 1
        assert lines(tmp_path) == [GOOD["content"]]
        status = await command(memory, "/memory status")
        assert "Model calls today: 1 of 100" in status
        assert "700 in, 60 out, 0 reserved, of 400000; about $0.0001" in status


async def test_an_earlier_turn_of_the_session_is_evidence(provider: Provider, opened: Open, tmp_path: Path) -> None:
    moved = entry("The user's sister Marta moved to Lisbon", "She moved to Lisbon last week")
    async with opened() as memory:
        await say(memory, "My sister Marta is looking for a flat by the river")
        provider.always = lambda _: Say(text=found(moved))
        await say(memory, "She moved to Lisbon last week, to a small flat")
    assert moved["content"] in lines(tmp_path)


async def test_a_forgotten_turn_is_no_evidence(provider: Provider, opened: Open, tmp_path: Path) -> None:
    moved = entry("The user's sister Marta moved to Lisbon", "She moved to Lisbon last week")
    async with opened() as memory:
        await say(memory, "Remember that my sister Marta is looking for a flat by the river")
        await command(memory, "/memory forget my sister Marta is looking for a flat by the river")
        provider.always = lambda _: Say(text=found(moved))
        await say(memory, "She moved to Lisbon last week, to a small flat")
    assert moved["content"] not in lines(tmp_path)


async def test_without_a_model_status_and_log_say_so(opened: Open, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with opened(model="rules") as memory:
        status = await command(memory, "/memory status")
        assert "No model: rules and episodes only" in status
        assert "gpt-4o-mini" not in status
        assert "Model calls" not in status
        session = await memory.start_session("agent:main:telegram:direct:1", user=OWNER)
        assert (await memory.record(session, "status"))["model"]["name"] is None
    assert "rules and episodes only" in caplog.text


async def test_what_the_model_finds_replaces_what_the_rules_kept(
    provider: Provider, opened: Open, tmp_path: Path
) -> None:
    told = "I'm allergic to peanuts. We went to the fair on Sunday."
    better = entry("The user is allergic to peanuts", "I'm allergic to peanuts")
    provider.script.append(Say(text=found(better)))
    async with opened() as memory:
        await say(memory, told)
        assert "allergic" not in provider.prompt().split("<conversation>")[0], "its own finding is not told to it"
        assert lines(tmp_path) == ["The user is allergic to peanuts"]
        await say(memory, "hello")
        assert lines(tmp_path) == ["The user is allergic to peanuts"]


async def test_what_the_model_does_not_find_stays_with_the_rules(
    provider: Provider, opened: Open, tmp_path: Path
) -> None:
    async with opened() as memory:
        await say(memory, "Remember that the spare key is under the blue pot.")
    assert lines(tmp_path) == ["the spare key is under the blue pot"]


async def test_a_failure_leaves_the_rules_and_a_turn_to_retry(
    provider: Provider, opened: Open, tmp_path: Path, clock: Clock
) -> None:
    provider.always = lambda _: Fail(status=401)
    async with opened() as memory:
        await say(memory, f"I prefer tea. {SAID}.")
        assert lines(tmp_path) == ["I prefer tea", SAID]
        status = await command(memory, "/memory status")
        assert "model.refused" in status
        assert "retry" in status
    provider.always = lambda _: Say(text=found(GOOD))
    clock.now += timedelta(hours=1)
    async with opened() as memory:
        assert await memory.retry() == (1, 0)
        assert sorted(lines(tmp_path)) == ["I prefer tea", GOOD["content"]]
        assert await memory.retry() == (0, 0)


async def test_the_budget_of_calls_holds_across_restarts(provider: Provider, opened: Open) -> None:
    for _ in range(4):
        async with opened(max_daily_extractions=2) as memory:
            await say(memory, SAID)
    assert len(provider.asked) == 2


async def test_the_budget_of_tokens_holds_across_processes(
    provider: Provider, opened: Open, tmp_path: Path, clock: Clock
) -> None:
    async with opened(max_daily_tokens=16_000) as one, opened(max_daily_tokens=16_000) as two:
        for _ in range(16):
            await say(one, SAID)
            await say(two, SAID)
        spent = await parts(one).storage.ledger.spent("2026-01-05")
        assert 0 < spent.input_tokens + spent.output_tokens <= 16_000
        assert spent.calls == len(provider.asked) < 32
        asked = len(provider.asked)
        await say(one, "Remember that the gate sticks in winter.")
        assert len(provider.asked) == asked
        assert "the gate sticks in winter" in lines(tmp_path), "past it the rules go on"
        clock.now += timedelta(days=1)
        await say(one, SAID)
        assert len(provider.asked) == asked + 1, "a new day has a new budget"


async def test_without_a_key_the_rules_stand_alone(opened: Open, provider: Provider, tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        await say(memory, f"I prefer tea. {SAID}")
    assert lines(tmp_path)
    assert provider.asked == []


async def test_no_model_is_asked_where_rules_are_named(opened: Open, provider: Provider) -> None:
    async with opened(model="rules") as memory:
        await say(memory, SAID)
    assert provider.asked == []


async def test_a_date_of_validity_ends_recall(provider: Provider, opened: Open, tmp_path: Path, clock: Clock) -> None:
    flight = entry("The user's flight to Oslo is on 2026-01-09", "flight to Oslo is on Friday", expires="2026-01-09")
    provider.script.append(Say(text=found(flight)))
    async with opened() as memory:
        await say(memory, "flight to Oslo is on Friday, gate opens at noon, will tell you more")
        session = await memory.start_session("other", user=OWNER)
        clock.now = datetime(2026, 1, 9, 20, 0, tzinfo=UTC)
        assert [hit.text for hit in await memory.search(session, "flight to Oslo")] == [flight["content"]]
        clock.now = datetime(2026, 1, 10, 0, 5, tzinfo=UTC)
        assert [hit.state for hit in await memory.search(session, "flight to Oslo")] == ["over"]
        assert (await memory.before_reply(session, "when is my flight to Oslo?")).recalled == ()
        later = await memory.start_session("later", user=OWNER)
        assert "Oslo" not in later.opening
        assert lines(tmp_path) == [flight["content"]], "it stays in its file, with its day"


async def test_a_superseded_memory_is_kept_dated_and_comes_back(opened: Open, tmp_path: Path) -> None:
    async with opened(model="rules") as memory:
        await say(memory, "I live in Berlin.")
        (old,) = ids(tmp_path)
        before = (tmp_path / "MEMORY.md").read_bytes()
        await say(memory, "I live in Munich now.")
        assert lines(tmp_path) == ["I live in Munich now"]
        session = await memory.start_session("other", user=OWNER)
        assert all("Berlin" not in hit.text for hit in await memory.search(session, "where do I live?"))
        history = await command(memory, f"/memory history {old}")
        assert "2026-01-05 12:00:00 · added" in history
        assert "superseded" in history
        assert "Munich" in history
        assert "Berlin" in await command(memory, "/memory undo")
        assert (tmp_path / "MEMORY.md").read_bytes() == before
        assert any("Berlin" in hit.text for hit in await memory.search(session, "where do I live?"))
        assert "restored" in await command(memory, f"/memory history {old}")


async def test_undo_restores_files_and_index_exactly(opened: Open, tmp_path: Path) -> None:
    async with opened(model="rules") as memory:
        (tmp_path / "MEMORY.md").write_bytes(b"# Mine\r\n\r\n- a line of mine\r\n\r\nSome prose.\r\n")
        states: list[dict[str, bytes]] = []
        texts: list[list[str]] = []

        async def note() -> None:
            found = [tmp_path / "MEMORY.md", *(tmp_path / "memory").glob("*.md")]
            states.append({str(file): file.read_bytes() for file in found})
            session = await memory.start_session("see", user=OWNER)
            texts.append(sorted(hit.text for hit in await memory.search(session, "I live tea key prose", limit=20)))

        await note()
        for said in (
            "I live in Berlin.",
            "I like green tea",
            "Remember that the key is under the pot.",
            "I live in Rome now",
        ):
            await say(memory, said)
            await note()
        await command(memory, f"/memory forget {ids(tmp_path)[0]}")
        for state, text in list(zip(reversed(states), reversed(texts), strict=True)):
            await command(memory, "/memory undo")
            await note()
            assert states[-1] == state
            assert texts[-1] == text
        assert "nothing to undo" in await command(memory, "/memory undo")


async def test_undo_keeps_what_a_person_wrote_since(opened: Open, tmp_path: Path) -> None:
    async with opened(model="rules") as memory:
        await say(memory, "I live in Berlin.")
        await say(memory, "I live in Rome now.")
        file = tmp_path / "MEMORY.md"
        file.write_text(file.read_text("utf-8") + "- by hand\n", "utf-8")
        await command(memory, "/memory undo")
        assert sorted(lines(tmp_path)) == ["I live in Berlin", "by hand"]


async def test_undo_of_one_memory(opened: Open, tmp_path: Path) -> None:
    async with opened(model="rules") as memory:
        await say(memory, "I live in Berlin. I like green tea. My name is Lena.")
        assert len(lines(tmp_path)) == 3
        identity = next(iter(ids(tmp_path)))
        text = await command(memory, f"/memory undo {identity}")
        assert "Berlin" in text
        assert sorted(lines(tmp_path)) == ["I like green tea", "My name is Lena"]
        assert "No change of" in await command(memory, f"/memory undo {identity}")
        assert "No change of" in await command(memory, "/memory undo zzzzzzzz")
        await command(memory, "/memory undo")
        assert lines(tmp_path) == []


async def test_why_tells_what_was_recalled_and_what_became_of_the_turn(opened: Open) -> None:
    async with opened(model="rules") as memory:
        assert "no reply" in await command(memory, "/memory why")
        await say(memory, "I prefer Python for scripts.")
        why = await command(memory, "/memory why")
        assert "rules: add (new)" in why
        assert "I prefer Python for scripts" in why
        await say(memory, "Which language do I prefer for scripts?")
        why = await command(memory, "/memory why")
        assert "Recalled for the last reply" in why
        assert "I prefer Python for scripts (in the session's context already, so not injected again)" in why
        assert "skipped" in why


@pytest.mark.parametrize(
    ("told", "asked", "gone"),
    [
        ("I like green tea.", "Please forget that I like green tea.", True),
        ("我喜欢喝绿茶", "忘掉我喜欢喝绿茶", True),
        ("我喜欢喝绿茶", "把我喜欢喝绿茶这条忘掉吧", True),
        ("I like green tea.", "Don't forget that I like green tea", False),
        ("I like green tea.", "forget it", False),
        ("I like green tea.", "I forget that often", False),
        ("我喜欢喝绿茶", "我忘了带钥匙", False),
    ],
)
@pytest.mark.parametrize("by_command", [True, False])
async def test_forgetting_by_words(
    opened: Open,
    tmp_path: Path,
    told: str,
    asked: str,
    gone: bool,  # noqa: FBT001 - a table's column
    by_command: bool,  # noqa: FBT001 - likewise
) -> None:
    async with opened(model="rules") as memory:
        await say(memory, told, "I own a red bicycle. I live in Rome.")
        before = lines(tmp_path)
        if by_command:
            session = await memory.start_session("s", user=OWNER)
            answer = await memory.command(session, asked)
            assert (answer is not None) == gone
        else:
            await say(memory, asked)
        assert len(lines(tmp_path)) == len(before) - gone
        if gone:
            await command(memory, "/memory undo")
            assert lines(tmp_path) == before


async def test_what_is_not_certain_is_shown_and_not_forgotten(opened: Open, tmp_path: Path) -> None:
    async with opened(model="rules") as memory:
        await say(memory, "I like green tea. I like black tea.")
        session = await memory.start_session("s", user=OWNER)
        answer = await memory.command(session, "forget that I like tea")
        assert answer is not None
        assert "green tea" in answer
        assert "black tea" in answer
        assert len(lines(tmp_path)) == 2
        assert "green tea" in await command(memory, "/memory forget that I like tea")


async def test_an_echo_is_not_learnt_again(provider: Provider, opened: Open, tmp_path: Path) -> None:
    echo = entry("The user likes green tea", "you like green tea")
    provider.always = lambda _: Say(text=found(echo))
    async with opened() as memory:
        await say(memory, "I like green tea.")
        session = await memory.start_session("other", user=OWNER)
        context = await memory.before_reply(session, "What do I like to drink? Tell me about tea")
        await memory.after_reply(
            session, user=f"What do I like to drink?\n{context.text}", reply="As I remember, you like green tea."
        )
        await memory.flush()
        assert lines(tmp_path) == ["I like green tea"]
