"""A search that has begun is ranked by itself when its vector is there; who waits for the vector too gets it."""

import gc
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from recall import Begun, Entry, Recall, Recaller, RecallError, RecallSettings
from recall.encoding.scale import BUNDLED

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
    recaller = Recaller(tmp_path / "index.sqlite", RecallSettings(), encoder=Gated)
    await recaller.open()
    entries = [Entry(id=f"i{number}", text=text, at=1.0) for number, text in enumerate(LINES)]
    await recaller.replace_file("owner", "MEMORY.md", None, entries)
    await recaller.embedded()
    yield recaller
    await recaller.close()


def search(recaller: Recaller, message: str = ASKED, seconds: float = 60) -> Begun:
    return recaller.search("owner", message, limit=1, min_score=0.0, timeout_seconds=seconds, now=9.0)


def texts(found: Recall) -> list[str]:
    return [hit.text for hit in found.hits]


async def test_it_is_ranked_while_the_event_loop_does_not_turn(recaller: Recaller, gate: threading.Event) -> None:
    begun = search(recaller)
    gate.set()
    until = time.monotonic() + 60
    while (recaller._thread.busy or not begun.asked) and time.monotonic() < until:
        time.sleep(0.001)  # the loop stands still
    assert begun.asked is not None
    found = await begun
    assert (found.outcome, texts(found)) == ("full", LINES[:1])


async def test_who_asks_the_same_meanwhile_gets_the_vector_too(recaller: Recaller, gate: threading.Event) -> None:
    first, second, other = search(recaller), search(recaller), search(recaller, "who drinks tea")
    gate.set()
    found = [await each for each in (second, first, other)]
    assert [each.outcome for each in found] == ["full"] * 3
    assert [texts(each) for each in found] == [LINES[:1], LINES[:1], LINES[1:2]]


async def test_one_that_is_given_up_leaves_its_vector_to_the_next(recaller: Recaller, gate: threading.Event) -> None:
    given_up = search(recaller)
    given_up.ranked.cancel()
    assert (await given_up).outcome == "timeout"
    again = search(recaller)
    gate.set()
    found = await again
    assert (found.outcome, texts(found)) == ("full", LINES[:1])


async def test_words_alone_when_the_vector_is_late_or_fails(recaller: Recaller, gate: threading.Event) -> None:
    late = await search(recaller, seconds=0.05)
    assert (late.outcome, texts(late)) == ("partial", LINES[:1])
    Gated.fails = True
    failing = search(recaller, "does Lena drink tea")
    gate.set()
    failed = await failing
    assert (failed.outcome, texts(failed)) == ("partial", LINES[1:2])


async def test_turns_before_it_that_have_no_vector_yet_are_waited_for(
    recaller: Recaller, gate: threading.Event
) -> None:
    begun = recaller.search(
        "owner", ASKED, limit=1, min_score=0.0, timeout_seconds=60, now=9.0, preceding=["to the sea", "by boat"]
    )
    gate.set()
    assert (await begun).outcome == "full"
    assert begun.asked is not None
    assert len(begun.asked.preceding) == 2


async def test_it_begins_only_while_recall_is_open(recaller: Recaller) -> None:
    begun = search(recaller)
    await recaller.close()
    assert (await begun).outcome == "timeout"
    with pytest.raises(RecallError):
        await search(recaller)


async def test_it_leaves_nothing_to_the_garbage_collector(recaller: Recaller, gate: threading.Event) -> None:
    """Which holds every thread up while it looks, and keeps a search's vectors until then."""
    gate.set()
    await search(recaller, "once before, so that everything is imported")
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        found = await search(recaller)
        gc.collect()
        left = [each for each in gc.garbage if str(getattr(each, "__module__", "")).startswith("recall")]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert texts(found) == LINES[:1]
    assert left == []
