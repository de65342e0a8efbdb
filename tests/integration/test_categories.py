"""What the table says of a category holds everywhere."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

import extractor.categories
from extractor import CATEGORIES, Candidate, Category, Turn, traits_of
from extractor.model.prompt import FULL_SCHEMA, SMALL_SCHEMA, system_for
from gateway_memory import OWNER, GatewayMemory, load_config
from recall import Stored

pytestmark = pytest.mark.over_postgres


async def read_as_quiet(turns: Sequence[Turn], _: Sequence[Stored]) -> Sequence[Candidate]:
    return [
        Candidate(
            content=f"The user owns {turn.user[5:]}", category="quiet", type="B", importance="high", confidence=0.9
        )
        for turn in turns
    ]


@pytest.mark.parametrize("trait", ["recalled", "announced", "distilled", ""])
async def test_a_new_category_is_what_its_row_says(trait: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = replace(Category(name="quiet"), **({trait: False} if trait else {}))  # type: ignore[arg-type]
    monkeypatch.setattr(extractor.categories, "CATEGORIES", MappingProxyType({**CATEGORIES, "quiet": quiet}))
    config = load_config()
    store = replace(config.defaults.store, max_memory_md_bytes=50)  # so that it begins in the log
    config = replace(config, defaults=replace(config.defaults, store=store))
    async with GatewayMemory(config, tmp_path, extract=read_as_quiet) as memory:
        speaker = await memory.start_session("speaker", user=OWNER)
        listener = await memory.start_session("listener", user=OWNER)
        await memory.after_reply(
            speaker,
            user="Yes, my brother and I went sailing with Albatros again, she needs new sails",
            reply="Nice.",
        )
        await memory.flush()
        (found,) = await memory.search(listener, "sailing boat", category="quiet")
        context = await memory.before_reply(listener, "what is my sailing boat called?")
        assert (found.id in [update.id for update in context.updates]) == (trait != "announced")
        assert context.changes == ()
        assert (found.id in [hit.id for hit in context.recalled]) == (trait != "recalled")
    room = replace(store, max_memory_md_bytes=20_000)
    async with GatewayMemory(replace(config, defaults=replace(config.defaults, store=room)), tmp_path) as memory:
        moved = await memory.distill(await memory.start_session("later", user=OWNER), dry_run=True)
        assert bool(moved) == (trait != "distilled")


def test_models_are_asked_for_every_category() -> None:
    for schema, system in ((SMALL_SCHEMA, system_for([], small=True)), (FULL_SCHEMA, system_for([], small=False))):
        for name, category in CATEGORIES.items():
            assert repr(name) in str(schema)
            assert name in system
            assert category.meaning in system
    assert traits_of("nothing that we know").recalled
