"""A model that takes its time, or is away: nothing waits for it, and all is learnt in the end, once and in order."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from patience import until
from scripted_provider import Drop, Fail, Provider, Say, Step, entry, found, serving

import extractor.model.model
from gateway_memory import OWNER, Config, GatewayMemory, Session, load_config
from gateway_memory.ground.policies import Breaker
from gateway_memory.store.summaries import read_records
from recall import EmbedderSettings

# Nothing is kept of these without a model, where no encoder judges them.
CANOE = "It was past nine when uncle Bernd's old canoe was on the trailer to Rostock, both of us soaked to the skin"
STUDIO = "What a day, the kiln of my sister Ines all in pieces on the way to her new pottery in Kassel"
QUINCE = "Dug until dark, and the quince stands behind the shed now where the old swing was"
VARNISH = "Two coats of marine varnish it was in the end, and the whole boathouse smells of it now"
LEARNT = {
    CANOE: "The user's uncle Bernd has an old canoe, which went to Rostock",
    STUDIO: "The user's sister Ines has a new pottery in Kassel",
    QUINCE: "The user's quince stands behind the shed where the old swing was",
}
SUMMARY = {"topic": "The canoe", "wanted": "to varnish it", "done": "by the model", "open": "", "next": ""}

Open: TypeAlias = Callable[..., AbstractAsyncContextManager[GatewayMemory]]


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with serving() as provider:
        provider.always = answer
        yield provider


@pytest.fixture
def opened(provider: Provider, tmp_path: Path) -> Open:
    @asynccontextmanager
    async def opened(**extraction: Any) -> AsyncIterator[GatewayMemory]:
        defaults = load_config().defaults
        given = {"base_url": f"{provider.url}/v1", "prompt": "full", "debounce_seconds": 0.05, **extraction}
        by_words = replace(defaults.auto_recall, embedder=EmbedderSettings(provider="none"))
        reading = replace(defaults.auto_extract, **given)
        config = Config(defaults=replace(defaults, auto_extract=reading, auto_recall=by_words))
        async with GatewayMemory(config, tmp_path) as memory:
            yield memory

    return opened


def answer(asked: dict[str, Any], *, after: asyncio.Event | None = None) -> Step:
    """The answer of a model that understands what it is asked; `after` has been set."""
    told = json.dumps(asked["messages"], ensure_ascii=False)
    if "<session>" in told:
        return Say(text=json.dumps({**SUMMARY, "decisions": [], "todos": []}), after=after)
    if "<conversation>" not in told:
        return Say(text='{"actions": []}', after=after)
    return Say(text=found(*(entry(LEARNT[said], said) for said in LEARNT if said in told)), after=after)


@pytest.fixture
def thinking(provider: Provider) -> asyncio.Event:
    """The model answers nothing until this is set."""
    enough = asyncio.Event()
    provider.always = partial(answer, after=enough)
    return enough


def lines(workspace: Path) -> list[str]:
    files = sorted([*workspace.glob("MEMORY.md"), *workspace.glob("memory/*.md")])
    return [line for path in files for line in path.read_text("utf-8").splitlines() if line.startswith("- ")]


def count(workspace: Path, text: str) -> int:
    return sum(text in line for line in lines(workspace))


async def told(memory: GatewayMemory, text: str, *, key: str = "telegram:1") -> Session:
    session = await memory.start_session(key, user=OWNER)
    await memory.after_reply(session, user=text, reply="Noted, that sounds like quite some work.")
    return session


async def test_nothing_waits_for_a_model_that_reads(
    opened: Open, provider: Provider, thinking: asyncio.Event, tmp_path: Path
) -> None:
    async with opened() as memory:
        beside = await told(memory, "Remember that my bicycle lock code hint is the year of the flood", key="slack:1")
        await until(lambda: count(tmp_path, "flood"), "the first memory")
        await told(memory, CANOE)
        await until(lambda: provider.asked, "the question")
        await told(memory, "Please remember that I am allergic to walnuts", key="slack:1")
        await until(lambda: count(tmp_path, "walnuts"), "what another session said")
        assert (await memory.before_reply(beside, "what should I bake, what am I allergic to?")).outcome != "timeout"
        assert await memory.search(beside, "allergic", limit=3)
        assert await memory.command(beside, "/memory status")
        assert await memory.command(beside, "/memory forget bicycle lock code hint")
        assert not count(tmp_path, "flood")
        new = await memory.start_session("web:1", user=OWNER)
        assert "walnuts" in (new.opening or "")
        await memory.end_session(new, reason="reset")
        assert not count(tmp_path, "canoe"), "the model thinks all this time"
        thinking.set()
        await memory.flush()
        assert count(tmp_path, "Bernd") == 1


async def test_an_end_returns_at_once_and_is_completed_behind_it(
    opened: Open, thinking: asyncio.Event, tmp_path: Path
) -> None:
    async with opened(debounce_seconds=3600, max_wait_seconds=3600) as memory:
        session = await told(memory, CANOE)
        await told(memory, VARNISH)
        await memory.end_session(session, reason="reset")
        (record,), _ = read_records(tmp_path / "sessions.jsonl")
        assert "by the model" not in record["summary"]
        assert not count(tmp_path, "Bernd")
        thinking.set()
        await memory.flush()
        (revised,), _ = read_records(tmp_path / "sessions.jsonl")
        assert "by the model" in revised["summary"]
        assert revised["id"] == record["id"]
        assert count(tmp_path, "Bernd") == 1


async def test_what_the_model_had_not_read_at_the_end_is_read_after_a_restart(
    opened: Open, provider: Provider, thinking: asyncio.Event, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway_memory.wiring._GRACE_SECONDS", 0.05)
    async with opened(debounce_seconds=3600, max_wait_seconds=3600) as memory:
        await memory.end_session(await told(memory, CANOE), reason="completed")
    assert not count(tmp_path, "Bernd")
    assert not thinking.is_set()
    provider.always = answer
    async with opened() as memory:
        await until(lambda: count(tmp_path, "Bernd"), "the batch of the process before")
        await memory.flush()
    assert count(tmp_path, "Bernd") == 1


async def test_a_flush_that_was_given_up_loses_no_batch(
    opened: Open, provider: Provider, thinking: asyncio.Event, tmp_path: Path
) -> None:
    async with opened(debounce_seconds=0.3) as memory:
        await told(memory, CANOE)
        flushing = asyncio.create_task(memory.flush())
        await until(lambda: provider.asked, "the question")
        flushing.cancel()
        await asyncio.wait([flushing])
        thinking.set()
        await until(lambda: count(tmp_path, "Bernd"), "the batch")


async def test_what_is_forgotten_while_the_model_reads_it_is_not_learnt_again(
    opened: Open, provider: Provider, thinking: asyncio.Event, tmp_path: Path
) -> None:
    async with opened() as memory:
        session = await told(memory, "Please remember that my uncle Bernd has a canoe in Rostock")
        await until(lambda: provider.asked, "the question")
        await told(memory, CANOE + "\n" + STUDIO)
        await memory.command(session, "/memory forget canoe uncle Bernd Rostock")
        assert not count(tmp_path, "Bernd")
        thinking.set()
        await memory.flush()
        assert not count(tmp_path, "Bernd")
        assert count(tmp_path, "Ines") == 1, "the rest of the batch is learnt"
        assert "Rostock" not in provider.prompt(), "it was read again without what was forgotten"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that failed three times is asked again after an instant, and attempts follow each other at once."""
    monkeypatch.setattr(extractor.model.model, "Breaker", partial(Breaker, open_seconds=0.0))
    monkeypatch.setattr(extractor.model.model, "FIRST_WAIT_SECONDS", 0.001)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("away", [Fail(status=503), Drop(), Fail(status=401), Fail(status=429)])
async def test_what_was_said_while_the_model_was_away_is_read_when_it_answers_again(
    opened: Open, provider: Provider, tmp_path: Path, away: Step
) -> None:
    provider.always = lambda _: away
    async with opened() as memory:
        for text in (CANOE, STUDIO):
            await told(memory, text)
            await memory.flush()
        assert "2" in (await memory.command(await memory.start_session("web:1", user=OWNER), "/memory status") or "")
        provider.always = answer
        await told(memory, QUINCE)
        await memory.flush()
        await until(lambda: all(count(tmp_path, name) for name in ("Bernd", "Ines", "quince")), "all that was said")
        await memory.flush()
        assert await memory.retry() == (0, 0)
    learnt = [line for line in lines(tmp_path) if "The user" in line]
    assert len(learnt) == len(LEARNT)


@pytest.mark.usefixtures("impatient")
async def test_what_an_earlier_process_could_not_read_is_read_with_the_first_answer(
    opened: Open, provider: Provider, tmp_path: Path
) -> None:
    provider.always = lambda _: Fail(status=401)
    async with opened() as memory:
        await told(memory, CANOE)
        await memory.flush()
    provider.always = answer
    async with opened() as memory:
        await told(memory, QUINCE)
        await memory.flush()
        await until(lambda: count(tmp_path, "Bernd"), "the batch of the process before")


@pytest.mark.usefixtures("impatient")
async def test_a_batch_that_fails_for_itself_is_tried_once_more_and_no_oftener(
    opened: Open, provider: Provider, tmp_path: Path
) -> None:
    def answered(asked: dict[str, Any]) -> Step:
        return Say(text="I think:") if "Rostock" in json.dumps(asked["messages"]) else answer(asked)

    provider.always = answered
    async with opened() as memory:
        await told(memory, CANOE)
        await memory.flush()
        for text in (STUDIO, QUINCE, "We keep the ladder in the cellar under the north stairs since spring"):
            await told(memory, text)
            await memory.flush()
    readings = [number for number in range(len(provider.asked)) if "Rostock" in provider.prompt(number)]
    assert len(readings) == 4, "twice, with a repair each"
    assert count(tmp_path, "quince") == 1


async def test_a_server_that_fails_on_formats_is_understood(opened: Open, provider: Provider, tmp_path: Path) -> None:
    def answered(asked: dict[str, Any]) -> Step:
        strict = asked.get("response_format", {}).get("type") == "json_schema"
        return Fail(status=500, message="Unsupported response format") if strict else answer(asked)

    provider.always = answered
    async with opened() as memory:
        for text in (CANOE, STUDIO):
            await told(memory, text)
            await memory.flush()
        assert not any(name.startswith("model.failed") for name in memory.metrics.counts)
    assert (count(tmp_path, "Bernd"), count(tmp_path, "Ines")) == (1, 1)


async def test_a_context_of_4096_tokens_is_enough(opened: Open, provider: Provider, tmp_path: Path) -> None:
    def answered(asked: dict[str, Any]) -> Step:
        tokens = sum(len(message["content"]) for message in asked["messages"]) // 3
        too_long = f"request ({tokens} tokens) exceeds the available context size (4096 tokens)"
        return answer(asked) if tokens < 4096 - 1000 else Fail(status=400, message=too_long)

    provider.always = answered
    async with opened(debounce_seconds=3600, max_wait_seconds=3600) as memory:
        for text in (CANOE, STUDIO, QUINCE):
            await told(memory, text + ". The rest of the day was as long as any other." * 60)
        await memory.flush()
    assert [count(tmp_path, name) for name in ("Bernd", "Ines", "quince")] == [1, 1, 1]
