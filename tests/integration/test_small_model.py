"""What a small model finds is kept in the user's own words, if they tell something lasting."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from scripted_provider import Provider, Say, entry, found, serving

from gateway_memory import OWNER, Config, GatewayMemory, load_config
from gateway_memory.store.markdown import parse

LURCHER = "Biscuit had the whole cabbage off the counter. he's a lurcher, 4 yrs, 28 kilos or so. is that bad for dogs?"
STUCK = "anyway, stuck at Haymarket again, so that's that then. what else is new with you"


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with serving() as provider:
        yield provider


async def kept(
    provider: Provider, folder: Path, said: str, *entries: dict[str, Any], prompt: Literal["auto", "full"] = "auto"
) -> list[str]:
    defaults = load_config().defaults
    extraction = replace(defaults.auto_extract, base_url=f"{provider.url}/v1", prompt=prompt, min_conversation_length=0)
    provider.script.append(Say(text=found(*entries)))
    async with GatewayMemory(Config(defaults=replace(defaults, auto_extract=extraction)), folder) as memory:
        session = await memory.start_session("agent:main:main", user=OWNER)
        await memory.before_reply(session, said)
        await memory.after_reply(session, user=said, reply="I see.")
        await memory.flush()
        texts = [path.read_text("utf-8") for path in folder.rglob("*.md")]
        return [block.text for text in texts for block in parse(text, file="x.md") if block.kind == "item"]


async def test_the_users_sentence_is_kept_where_the_wording_is_of_another_person(
    provider: Provider, tmp_path: Path
) -> None:
    wrong = entry(
        "The user's other half Priya is a lurcher and weighs 28 kilos", "he's a lurcher, 4 yrs, 28 kilos or so"
    )
    sentences = "Biscuit had the whole cabbage off the counter. he's a lurcher, 4 yrs, 28 kilos or so"
    assert [text for text in await kept(provider, tmp_path, LURCHER, wrong) if "lurcher" in text] == [sentences]


async def test_what_a_small_model_points_at_must_tell_something_lasting(provider: Provider, tmp_path: Path) -> None:
    stuck = entry("The user is stuck at Haymarket", "stuck at Haymarket again")
    assert not [text for text in await kept(provider, tmp_path, STUCK, stuck) if "Haymarket" in text]


async def test_the_wording_of_a_large_model_on_a_server_of_ones_own_is_believed(
    provider: Provider, tmp_path: Path
) -> None:
    worded = entry("The user's dog Biscuit is a lurcher of 28 kilos", "he's a lurcher, 4 yrs, 28 kilos or so")
    assert "The user's dog Biscuit is a lurcher of 28 kilos" in await kept(
        provider, tmp_path, LURCHER, worded, prompt="full"
    )
