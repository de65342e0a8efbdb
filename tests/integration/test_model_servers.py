"""Servers as they are: slow ones, ones of a small context, ones that refuse a part of a request, and foreign ones."""

import gzip
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from patience import seconds
from scripted_provider import Fail, Flood, Hang, Provider, Say, Step, entry, found, serving

from extractor import ExtractorSettings, Model, ModelError, Turn
from extractor.model.providers import access_of

NOW = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
TOO_LONG = "request (5012 tokens) exceeds the available context size (4096 tokens)"
SAID = {
    41: "I moved to Lisbon with my sister Marta last spring",
    42: "We bought a red canoe from my uncle Bernd",
    43: "My cello teacher is called Ferreira",
}
TURNS = [Turn(id=number, user=text, reply="How nice!", at=NOW) for number, text in SAID.items()]


async def no_sleep(_: float) -> None:
    """Do not wait between attempts."""


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with serving() as provider:
        yield provider


def settings_of(provider: Provider, **changed: Any) -> ExtractorSettings:
    settings = ExtractorSettings(
        model="openai/small",
        base_url=f"{provider.url}/v1",
        prompt="full",
        timeout_seconds=seconds(20),
        max_daily_tokens=10**9,
    )
    return replace(settings, **changed)


@asynccontextmanager
async def asking(settings: ExtractorSettings) -> AsyncIterator[Model]:
    model = Model(settings, sleep=no_sleep)
    try:
        yield model
    finally:
        await model.close()


async def read(model: Model, turns: list[Turn] = TURNS) -> list[tuple[int, str]]:
    done = await model.extract(turns, [], now=NOW, speaker="the owner")
    return [(candidate.turn, candidate.content) for candidate in done.candidates]


def conversation(asked: dict[str, Any]) -> str:
    """The new turns of a request; those before are shown for what they mean."""
    message: str = asked["messages"][-1]["content"]
    return message.partition("<conversation>")[2]


def reader(most: int) -> "Any":
    """A server that keeps what it is told, and takes at most `most` of the turns at once."""

    def answer(asked: dict[str, Any]) -> Step:
        told = conversation(asked)
        given = [text for text in SAID.values() if text[:20] in told]
        if len(given) > most:
            return Fail(status=400, message=TOO_LONG)
        return Say(text=found(*(entry(f"The user says: {text}", text, turn=n) for n, text in enumerate(given, 1))))

    return answer


async def test_a_batch_that_is_too_long_is_read_in_halves(provider: Provider) -> None:
    provider.always = reader(1)
    async with asking(settings_of(provider)) as model:
        assert [turn for turn, _ in await read(model)] == [41, 42, 43]
        assert not model.rests, "a server that answers is alive"


async def test_the_halves_of_one_long_message_are_read(provider: Provider) -> None:
    def answer(asked: dict[str, Any]) -> Step:
        told = asked["messages"][-1]["content"]
        return Fail(status=400, message=TOO_LONG) if len(told) > 3_000 else Say(text=found())

    provider.always = answer
    async with asking(settings_of(provider)) as model:
        long = replace(TURNS[0], user="The weather was fine. " * 180)
        assert await read(model, [long]) == []
    assert len(provider.asked) > 2


async def test_all_turns_of_a_long_absence_are_read(provider: Provider) -> None:
    turns = [
        Turn(id=number, user=f"Line {number}. " + "It was a long day at the harbour. " * 60, reply="", at=NOW)
        for number in range(40)
    ]
    async with asking(settings_of(provider)) as model:
        await read(model, turns)
    told = [conversation(asked) for asked in provider.asked]
    assert len(told) > 1
    for turn in turns:
        assert sum(f"Line {turn.id}." in text for text in told) == 1


async def test_what_never_fits_is_a_failure_with_its_reason(provider: Provider) -> None:
    provider.always = lambda _: Fail(status=400, message=TOO_LONG)
    async with asking(settings_of(provider)) as model:
        with pytest.raises(ModelError) as failed:
            await read(model)
    assert failed.value.kind == "too_long"


async def test_a_known_context_is_not_exceeded(provider: Provider) -> None:
    provider.always = reader(3)
    turns = [replace(turn, user=f"{turn.user}. " + "It was a long day. " * 140) for turn in TURNS]
    async with asking(settings_of(provider)) as model:
        await read(model, turns)
    assert len(provider.asked) == 1
    provider.asked.clear()
    async with asking(settings_of(provider, context_tokens=4_096)) as model:
        assert [turn for turn, _ in await read(model, turns)] == [41, 42, 43]
    assert len(provider.asked) > 1


@pytest.mark.parametrize("message", ["Unsupported response format", "json_schema is not implemented", "bad grammar"])
async def test_a_server_error_that_names_the_format_refuses_the_format(provider: Provider, message: str) -> None:
    provider.always = lambda asked: (
        Fail(status=500, message=message)
        if asked.get("response_format", {}).get("type") == "json_schema"
        else Say(text=found(entry("The user moved to Lisbon", SAID[41])))
    )
    async with asking(settings_of(provider)) as model:
        assert await read(model) == [(41, "The user moved to Lisbon")]
        assert await read(model) == [(41, "The user moved to Lisbon")]
    kinds = [asked["response_format"]["type"] for asked in provider.asked]
    assert kinds == ["json_schema", "json_object", "json_object"], "it is asked once"


async def test_a_server_of_ones_own_is_asked_at_temperature_0(provider: Provider) -> None:
    async with asking(settings_of(provider)) as model:
        await read(model)
    assert provider.asked[-1]["temperature"] == 0


@pytest.mark.parametrize(("key", "asked_not_to"), [("", True), ("SOME_KEY", False)])
async def test_a_server_of_ones_own_is_asked_not_to_think(
    provider: Provider,
    monkeypatch: pytest.MonkeyPatch,
    key: str,
    asked_not_to: bool,  # noqa: FBT001 - a column
) -> None:
    monkeypatch.setenv("SOME_KEY", "secret")
    settings = ExtractorSettings(model="qwen3", base_url=f"{provider.url}/v1", api_key_env=key)
    model = Model(settings)
    await model.extract(TURNS, [], now=NOW, speaker="the owner")
    await model.close()
    assert (provider.asked[-1].get("reasoning_effort") == "none") is asked_not_to
    assert settings.is_small is asked_not_to


async def test_what_a_server_does_not_know_is_left_out(provider: Provider) -> None:
    refused = Fail(status=400, message="reasoning_effort: Input should be 'low', 'medium' or 'high'")
    provider.always = lambda asked: refused if "reasoning_effort" in asked else Say(text=found())
    model = Model(ExtractorSettings(model="qwen3", base_url=f"{provider.url}/v1"))
    await model.extract(TURNS, [], now=NOW, speaker="the owner")
    await model.close()
    assert [("reasoning_effort" in asked, asked["temperature"]) for asked in provider.asked] == [(True, 0), (False, 0)]


async def test_a_refused_temperature_is_left_out(provider: Provider) -> None:
    refused = Fail(status=400, message="Unsupported value: 'temperature' does not support 0 with this model.")
    provider.always = lambda asked: refused if "temperature" in asked else Say(text=found())
    async with asking(settings_of(provider)) as model:
        await read(model)
        await read(model)
    assert ["temperature" in asked for asked in provider.asked] == [True, False, False]


async def test_a_model_that_is_too_slow_is_not_asked_again(provider: Provider) -> None:
    provider.always = lambda _: Hang()
    async with asking(settings_of(provider, timeout_seconds=seconds(1))) as model:
        with pytest.raises(ModelError) as failed:
            await read(model)
    assert (failed.value.kind, len(provider.asked)) == ("timeout", 1)


async def test_nobody_waits_longer_than_the_timeout_for_another_attempt(provider: Provider) -> None:
    provider.always = lambda _: Fail(status=429, kind="rate_limit_error", headers={"retry-after": "3600"})
    async with asking(settings_of(provider)) as model:
        with pytest.raises(ModelError) as failed:
            await read(model)
    assert (failed.value.kind, len(provider.asked)) == ("rate_limit", 1)


@pytest.mark.parametrize(
    ("base_url", "named", "sent"),
    [
        ("", "", "sk-own"),
        ("https://api.openai.com/v1", "", "sk-own"),
        ("https://eu.api.openai.com/v1", "", "sk-own"),
        ("http://127.0.0.1:11434/v1", "", "none"),
        ("https://openai.com.example.org/v1", "", "none"),
        ("https://llm.example.org/v1", "OPENAI_API_KEY", "sk-own"),
        ("https://llm.example.org/v1", "OTHER_KEY", "sk-other"),
    ],
)
def test_a_key_goes_to_its_own_provider_or_where_it_is_named(
    monkeypatch: pytest.MonkeyPatch, base_url: str, named: str, sent: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-own")
    monkeypatch.setenv("OTHER_KEY", "sk-other")
    settings = ExtractorSettings(model="openai/gpt-4o-mini", base_url=base_url, api_key_env=named)
    assert access_of(settings)[2] == sent


BOMB = gzip.compress(b" " * 100_000_000)


@pytest.mark.parametrize(
    "flood",
    [
        Flood(part=BOMB, times=1, packed="gzip"),
        Flood(part=BOMB, times=1, packed="gzip", status=500),
        Flood(part=b"\x00", times=1, packed="br"),
        Flood(part=b" " * 65_536, times=1_600),
        Flood(part=b" " * 65_536, times=1_600, status=401),
    ],
    ids=["gzip", "an error's gzip", "brotli", "100 MB", "an error of 100 MB"],
)
@pytest.mark.parametrize("name", ["openai/small", "anthropic/small"])
async def test_no_answer_is_unpacked_or_read_without_end(provider: Provider, flood: Flood, name: str) -> None:
    provider.always = lambda _: flood
    provider.script.append(Say(text=found()))
    async with asking(settings_of(provider, model=name, base_url=url_of(provider, name))) as model:
        await read(model)  # what is imported first is not counted
        tracemalloc.start()
        try:
            with pytest.raises(ModelError) as failed:
                await read(model)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert failed.value.kind == "too_large"
    assert len(provider.asked) == 2
    assert provider.headers[0]["accept-encoding"] == "identity"
    assert peak < 40_000_000


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("name", ["openai/small", "anthropic/small"])
async def test_a_redirect_is_not_followed_and_has_a_name(provider: Provider, status: int, name: str) -> None:
    provider.always = lambda _: Fail(status=status, headers={"Location": f"{provider.url}/v1/chat/completions"})
    async with asking(settings_of(provider, model=name, base_url=url_of(provider, name))) as model:
        with pytest.raises(ModelError) as failed:
            await read(model)
    assert failed.value.kind == "redirects"
    assert len(provider.asked) == 1


def url_of(provider: Provider, name: str) -> str:
    return provider.url if name.startswith("anthropic") else f"{provider.url}/v1"
