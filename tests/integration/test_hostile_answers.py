"""A model's server may send anything: the turn ends in a defined state, and the budget neither falls nor jumps."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inside import journal_rows, parts
from patience import seconds
from scripted_provider import Provider, Say, Script, entry, found, serving

from extractor import ExtractorSettings, Known, Model, ModelError, Turn
from extractor.model.answers import read_object
from extractor.model.evidence import believed, pointed_at
from extractor.model.summary import Seen, SummaryInput, summary_of
from gateway_memory import OWNER, Config, GatewayMemory, load_config
from recall import EmbedderSettings

NOW = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
SAID = "I moved to Lisbon with my sister Marta last spring"
GOOD = entry("The user moved to Lisbon with their sister Marta", "moved to Lisbon with my sister Marta")
TURNS = [Turn(id=41, user=SAID, reply="How nice!", at=NOW)]
KNOWN = [Known(id="k7f3q2a1", text="The user lives in Porto", cosine=0.7, overlap=0.2, importance="high")]
MISSING = object()
DEEP: Any = []
for _ in range(200):
    DEEP = [DEEP]
NUMBERS: list[Any] = [
    None, -1, -(10**30), 10**30, 10**400, 1e308, float("nan"), float("inf"), float("-inf"), True, False, 0, 0.5, "700",
    "", "many", [], [700], {}, {"value": 7}, DEEP, MISSING,
]  # fmt: skip
CONTENTS: list[Any] = [
    None, [], [None], [[]], {}, {"text": found(GOOD)}, 7, 1.5, True, DEEP, [{"type": "text", "text": 7}],
    [{"type": "text", "text": None}], [{"type": "image"}], [7], "", "\ud800", "[" * 100_000,
    '{"a":' * 50_000, "9" * 5000,    '{"entries": [NaN]}', MISSING,
]  # fmt: skip


def put(body: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The body with a value at a place, or without it."""
    *above, last = path.split(".")
    place: Any = body
    for name in above:
        place = place[int(name)] if isinstance(place, list) else place[name]
    if value is MISSING:
        del place[last]
    else:
        place[last] = value
    return body


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with serving() as provider:
        yield provider


@pytest.fixture(params=["openai/gpt-4o-mini", "anthropic/claude-haiku"])
def extraction(request: pytest.FixtureRequest, provider: Provider) -> ExtractorSettings:
    wire = "/v1" if request.param.startswith("openai") else ""
    return ExtractorSettings(
        model=request.param,
        base_url=f"{provider.url}{wire}",
        prompt="full",
        timeout_seconds=seconds(20),
        min_conversation_length=0,
    )


def always(said: Say) -> Script:
    return lambda _: said


async def no_wait(_: float) -> None:
    return


def usage_fields(settings: ExtractorSettings) -> tuple[str, str]:
    names = ("prompt", "completion") if settings.model.startswith("openai") else ("input", "output")
    return f"usage.{names[0]}_tokens", f"usage.{names[1]}_tokens"


@pytest.mark.slow
@pytest.mark.parametrize("value", NUMBERS, ids=lambda value: str(value)[:20])
async def test_no_number_of_tokens_moves_the_budget_far(
    provider: Provider, extraction: ExtractorSettings, value: Any
) -> None:
    for path in (*usage_fields(extraction), "usage"):
        provider.script.append(Say(text=found(GOOD), changed=partial(put, path=path, value=value)))
        model = Model(extraction, sleep=no_wait)
        done = await model.extract(TURNS, KNOWN, now=NOW, speaker="the owner")
        await model.close()
        assert [candidate.content for candidate in done.candidates] == [GOOD["content"]]
        assert done.usage.calls == 1
        assert 100 < done.usage.input_tokens < 10_000
        assert 10 < done.usage.output_tokens < 10_000


@pytest.mark.slow
@pytest.mark.parametrize("value", CONTENTS, ids=lambda value: str(value)[:20])
async def test_no_content_is_more_than_unreadable(
    provider: Provider, extraction: ExtractorSettings, value: Any
) -> None:
    openai = extraction.model.startswith("openai")
    for path in ("choices.0.message.content", "choices.0.message", "choices") if openai else ("content",):
        provider.always = always(Say(text=found(GOOD), changed=partial(put, path=path, value=value)))
        model = Model(extraction, sleep=no_wait)
        with pytest.raises(ModelError) as failed:
            await model.extract(TURNS, KNOWN, now=NOW, speaker="the owner")
        await model.close()
        assert failed.value.kind == "unreadable"


async def test_parts_of_text_are_an_answer(provider: Provider, extraction: ExtractorSettings) -> None:
    text = found(GOOD)
    parts = [{"type": "text", "text": text[:20]}, {"type": "thinking"}, {"type": "text", "text": text[20:]}]
    path = "choices.0.message.content" if extraction.model.startswith("openai") else "content"
    provider.script.append(Say(text="", changed=lambda body: put(body, path, parts)))
    model = Model(extraction, sleep=no_wait)
    done = await model.extract(TURNS, KNOWN, now=NOW, speaker="the owner")
    await model.close()
    assert [candidate.content for candidate in done.candidates] == [GOOD["content"]]


@pytest.mark.parametrize(
    "body", [None, [], 7, "text", {}, {"choices": None, "content": None}, DEEP, {"usage": {}}], ids=str
)
async def test_a_turn_is_never_parked_by_what_a_server_sends(
    provider: Provider, extraction: ExtractorSettings, body: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extractor.model.model.FIRST_WAIT_SECONDS", 0.001)
    defaults = load_config().defaults
    recall = replace(defaults.auto_recall, embedder=EmbedderSettings(provider="none"))
    config = Config(defaults=replace(defaults, auto_extract=extraction, auto_recall=recall))
    number = len(str(body)) % len(NUMBERS)
    fields = usage_fields(extraction)
    provider.always = lambda asked: (
        Say(text="", changed=lambda _: body)
        if "Lisbon" in str(asked)
        else Say(text=found(), changed=lambda good: put(good, fields[number % 2], NUMBERS[number]))
    )
    async with GatewayMemory(config, tmp_path) as memory:
        for said in (SAID, "We decided to use PostgreSQL for the new billing service"):
            session = await memory.start_session(said[:5], user=OWNER)
            await memory.after_reply(session, user=said, reply="How nice!")
            await parts(memory).processor.flush()
            await memory.end_session(session, reason="completed")
        waits = await parts(memory).storage.turns.queue()
        spent = await journal_rows(memory, "SELECT input_tokens, output_tokens, reserved_tokens FROM usage")
        assert (waits.rules, waits.batch, waits.parked) == (0, 0, 0)
        assert spent
        assert all(0 <= tokens < 50_000 for row in spent for tokens in row)
        reasons = {outcome.reason for receipt in await memory.receipts(limit=20) for outcome in receipt.outcomes}
        assert "model_unreadable" in reasons or "nothing_to_keep" in reasons


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.sampled_from(sorted(GOOD)), JSON)
def test_an_entry_with_anything_in_a_field_is_read_or_refused(name: str, value: Any) -> None:
    answer = {"entries": [{**GOOD, name: value}]}
    assert_read_or_refused(json.dumps(answer))


@given(st.sampled_from(["entries", "topic", "wanted", "todos"]), JSON)
def test_an_answer_with_anything_in_a_field_is_read_or_refused(name: str, value: Any) -> None:
    summary = dict.fromkeys(("topic", "wanted", "done", "open", "next"), "text")
    answer = {"entries": [], **summary, "decisions": [], "todos": [], name: value}
    assert_read_or_refused(json.dumps(answer))


def assert_read_or_refused(text: str) -> None:
    for read in (
        lambda answer: believed(answer, TURNS, NOW, known=KNOWN),
        lambda answer: pointed_at(answer, TURNS),
        lambda answer: summary_of(answer, SummaryInput(seen=[Seen(kind="user", content="text")])),
    ):
        try:
            read(read_object(text, "entries"))
        except ValueError:
            continue
