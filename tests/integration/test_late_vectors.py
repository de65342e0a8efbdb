"""A search waits for its query vector until its deadline; a late vector serves the next search."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from patience import seconds

from recall import Entry, Recall, Recaller, RecallError, RecallSettings, SearchRequest
from recall.encoding.scale import BUNDLED
from recall.search.candidates import QueryVector

LINES = ["the boat leaves from pier nine", "Lena drinks tea", "the rent is due on the first"]
ASKED = "where does the boat leave from"


class Gated:
    """Vectors of letters; those of queries are made when the gate is open, and fail where it says so."""

    name, dimension, scale = "gated", 26, BUNDLED
    gate = threading.Event()
    fails = False

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if any(text not in LINES for text in texts):
            assert self.gate.wait(60)
            if self.fails:
                raise ConnectionError
        counts = np.array([[text.count(chr(97 + letter)) for letter in range(26)] for text in texts], np.float32)
        vectors: NDArray[np.float32] = counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1)
        return vectors

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture(autouse=True)
def gate() -> Iterator[threading.Event]:
    Gated.gate, Gated.fails = threading.Event(), False
    yield Gated.gate
    Gated.gate.set()


@pytest.fixture
async def recaller(tmp_path: Path) -> AsyncIterator[Recaller]:
    recaller = Recaller(tmp_path / "index.sqlite", RecallSettings(), zone=UTC, encoder=Gated)
    await recaller.open()
    entries = [Entry(id=f"i{number}", text=text, at=1.0) for number, text in enumerate(LINES)]
    await recaller.replace_file("owner", "MEMORY.md", None, entries)
    await recaller.embedded()
    yield recaller
    await recaller.close()


async def search(recaller: Recaller, message: str = ASKED, within: float = 60) -> Recall:
    return await recaller.search(
        SearchRequest(scope="owner", query=message, limit=1, min_score=0.0, by_rank=True, now=9.0),
        timeout_seconds=seconds(within),
    )


def texts(found: Recall) -> list[str]:
    return [hit.text for hit in found.hits]


async def test_searches_for_the_same_share_its_vector(recaller: Recaller, gate: threading.Event) -> None:
    searches = [asyncio.create_task(search(recaller, message)) for message in (ASKED, ASKED, "who drinks tea")]
    await asyncio.sleep(0.01)
    gate.set()
    found = await asyncio.gather(*searches)
    assert [each.outcome for each in found] == ["full"] * 3
    assert [texts(each) for each in found] == [LINES[:1], LINES[:1], LINES[1:2]]


async def test_a_search_that_is_cancelled_leaves_its_vector_to_the_next(
    recaller: Recaller, gate: threading.Event
) -> None:
    cancelled = asyncio.create_task(search(recaller))
    await asyncio.sleep(0.01)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    again = asyncio.create_task(search(recaller))
    gate.set()
    found = await again
    assert (found.outcome, texts(found)) == ("full", LINES[:1])


async def test_lexical_alone_when_the_vector_is_late_or_fails(recaller: Recaller, gate: threading.Event) -> None:
    await search(recaller, LINES[1])  # the first search imports modules
    late = await search(recaller, within=1)
    assert (late.outcome, texts(late)) == ("partial", LINES[:1])
    Gated.fails = True
    failing = asyncio.create_task(search(recaller, "does Lena drink tea"))
    gate.set()
    failed = await failing
    assert (failed.outcome, texts(failed)) == ("partial", LINES[1:2])
    Gated.fails = False
    async with asyncio.timeout(seconds(30)):  # the call that hung may not have ended yet; a failure is not remembered
        while (await search(recaller, "does Lena drink tea")).outcome != "full":
            await asyncio.sleep(0)


async def test_many_searches_at_once_are_encoded_in_few_calls(
    recaller: Recaller, gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    encode = Gated.encode

    def counted(self: Gated, texts: Sequence[str]) -> NDArray[np.float32]:
        calls.append(len(texts))
        return encode(self, texts)

    monkeypatch.setattr(Gated, "encode", counted)
    searches = [asyncio.create_task(search(recaller, f"{ASKED} {number}")) for number in range(40)]
    await asyncio.sleep(0.01)
    gate.set()
    assert {texts(found)[0] for found in await asyncio.gather(*searches)} == {LINES[0]}
    assert sum(calls) == 40
    assert len(calls) <= 4


async def test_preceding_turns_without_a_vector_are_waited_for(
    recaller: Recaller, gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    preceding: list[int] = []

    def noted(**values: Any) -> QueryVector:
        preceding.append(len(values["preceding"]))
        return QueryVector(**values)

    monkeypatch.setattr("recall.search.candidates.QueryVector", noted)
    searching = asyncio.create_task(
        recaller.search(
            SearchRequest(
                scope="owner",
                query=ASKED,
                limit=1,
                min_score=0.0,
                by_rank=True,
                now=9.0,
                preceding=("to the sea", "by boat"),
            ),
            timeout_seconds=seconds(60),
        )
    )
    await asyncio.sleep(0.01)
    gate.set()
    assert (await searching).outcome == "full"
    assert preceding == [2]


async def test_it_searches_only_while_recall_is_open(recaller: Recaller) -> None:
    searching = asyncio.create_task(search(recaller, within=1))
    await asyncio.sleep(0.01)
    await recaller.close()
    assert (await searching).outcome == "timeout"
    with pytest.raises(RecallError):
        await search(recaller)


async def asked(recaller: Recaller, within: float = 60) -> Recall:
    return await recaller.search(
        SearchRequest(
            scope="owner", query=ASKED, limit=1, min_score=0.0, by_rank=True, now=9.0, asked=True, explain=True
        ),
        timeout_seconds=seconds(within),
    )


@pytest.mark.parametrize("is_just_saved", [True, False])
async def test_a_search_on_request_sees_what_was_just_saved(is_just_saved: bool, tmp_path: Path) -> None:  # noqa: FBT001
    Gated.gate.set()
    recaller = Recaller(tmp_path / "index.sqlite", RecallSettings(), zone=UTC, encoder=Gated)
    await recaller.open()
    await recaller.replace_file("owner", "MEMORY.md", None, [Entry(id="i0", text=LINES[0], at=1.0)])
    if not is_just_saved:
        await recaller.embedded()
    [hit] = (await asked(recaller)).hits
    assert hit.parts["cosine"] > 0.5
    await recaller.close()


async def test_a_search_on_request_does_not_wait_long_for_vectors(recaller: Recaller) -> None:
    late = Entry(id="i9", text="the boat is late", at=2.0)  # its vector does not come: the gate is closed
    await recaller.replace_file("owner", "memory/2026-01-01.md", None, [late])
    assert texts(await asked(recaller, within=0.5))
