"""No search returns a memory of a scope that was not asked for; scopes load when they are used, and leave."""

import asyncio
import tempfile
from collections.abc import Sequence
from datetime import UTC
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from recall import EmbedderSettings, Entry, Filter, Recaller, RecallSettings, SearchRequest
from recall.encoding.scale import BUNDLED

NAMES = [
    "owner",
    "user:zoe",
    "user:Zoe",
    "user:zoe ",
    "room:zoe",
    "user:",
    "user:严",
    "user:%",
    "user:_oe",
    "user:' or 1",
]
WORDS = ["boat", "pier", "tea", "Lena", "red", "猫", "小虎", "4711", "python", "write a script", "likes", "last week"]
SAYINGS = ["the boat is moored at the pier", "Lena drinks the tea", "rent is due to the landlord"]
SAID = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
STORE = st.dictionaries(st.sampled_from(NAMES), st.lists(SAID, max_size=6), max_size=6)


class Hashed:
    """Vectors that every text shares much of, so that each memory is near each message."""

    name, dimension, scale = "hashed", 16, BUNDLED

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        found = np.ones((len(texts), self.dimension))
        for row, text in enumerate(texts):
            found[row] += np.random.default_rng(sum(text.encode())).standard_normal(self.dimension)
        vectors: NDArray[np.float32] = (found / np.linalg.norm(found, axis=1)[:, None]).astype(np.float32)
        return vectors

    def close(self) -> None:
        """Nothing is open."""


def words_alone() -> RecallSettings:
    return RecallSettings(embedder=EmbedderSettings(provider="none"))


async def filled(recaller: Recaller, store: dict[str, list[str]]) -> dict[str, str]:
    """Fill an index, with the same ids in every scope; return whose each text is."""
    whose: dict[str, str] = {}
    for scope, texts in store.items():
        entries = []
        for number, text in enumerate(texts):
            own = f"{text} of {NAMES.index(scope)} number {number}"
            whose[own] = scope
            entries.append(Entry(id=f"id{number}", text=own, at=float(number), category="preference", standing=True))
        await recaller.replace_file(scope, "MEMORY.md", None, entries)
    return whose


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STORE, st.sampled_from(NAMES), SAID, st.sampled_from([None, Hashed]), st.integers(0, 20))
def test_no_query_of_a_scope_finds_a_memory_of_another(
    store: dict[str, list[str]], asked: str, query: str, encoder: type[Hashed] | None, limit: int
) -> None:
    async def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            recaller = Recaller(Path(folder) / "index.sqlite", words_alone(), zone=UTC, encoder=encoder)
            await recaller.open()
            whose = await filled(recaller, store)
            await recaller.embedded()
            allowed = {text for text, scope in whose.items() if scope == asked}
            for only in (None, Filter(category="preference", since=0.0)):
                found = await recaller.search(
                    SearchRequest(
                        scope=asked,
                        query=query,
                        limit=limit,
                        min_score=0.0,
                        by_rank=True,
                        now=9.0,
                        only=only,
                        explain=True,
                    ),
                    timeout_seconds=None,
                )
                texts = {hit.text for hit in found.hits}
                assert texts <= allowed
                assert all(hit.scope == whose[hit.text] for hit in found.hits)
                assert len(texts) == min(limit, len(allowed)), "and each of theirs can be found"
            near = await recaller.nearest(asked, query, 5)
            assert {each.stored.entry.text for each in near} <= allowed
            assert {row.entry.text for row in await recaller.newest(asked, 50)} == allowed
            assert {row.entry.text for row in await recaller.listed(asked, Filter(type="W"), 50)} == allowed
            assert {row.entry.text for row in (await recaller.added_since(asked, 0))[1]} == allowed
            await recaller.close()

    asyncio.run(run())


@pytest.mark.slow
async def test_a_thousand_scopes_do_not_all_stay_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scopes, rows, most = 1000, len(SAYINGS), 90
    monkeypatch.setattr("recall.index.index._RESIDENT_ROWS", most)
    recaller = Recaller(tmp_path / "index.sqlite", words_alone(), zone=UTC)
    await recaller.open()
    for scope in range(scopes):
        entries = [Entry(id=f"i{row}", text=f"{said} of {scope}", at=1.0) for row, said in enumerate(SAYINGS)]
        await recaller.replace_file(f"user:{scope}", "MEMORY.md", None, entries)

    async def resident() -> dict[str, int]:
        return await recaller._read("owner", lambda index: {key: len(found) for key, found in index._scopes.items()})

    assert await resident() == {}, "what is only written is not loaded"
    for scope in range(scopes):
        key = f"user:{scope}"
        found = await recaller.search(
            SearchRequest(scope=key, query="tea", limit=1, min_score=0.0, by_rank=True, now=9.0), timeout_seconds=None
        )
        assert [hit.text for hit in found.hits] == [f"Lena drinks the tea of {scope}"]
        if scope % 50 == 0:
            held = await resident()
            assert key in held
            assert sum(held.values()) <= most
    held = await resident()
    assert list(held) == [f"user:{scope}" for scope in range(scopes - most // rows, scopes)], "the longest unused left"
    again = await recaller.search(
        SearchRequest(scope="user:0", query="rent", limit=1, min_score=0.0, by_rank=True, now=9.0), timeout_seconds=None
    )
    assert again.hits[0].text == "rent is due to the landlord of 0", "it is loaded again when it is used again"
    await recaller.close()
