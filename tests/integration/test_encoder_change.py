"""Two processes with two encoders on one index, while one of them makes its vectors."""

import itertools
from collections.abc import Sequence
from datetime import UTC
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from recall import Entry, Recaller, RecallSettings, SearchRequest
from recall.encoding.scale import BUNDLED
from recall.rows.sqlite import SqliteRows
from recall.rows.tables import VectorSpace

pytestmark = pytest.mark.of_postgres

LINES = 200


class Letters:
    """Vectors of letters. at: called with each batch."""

    scale = BUNDLED

    def __init__(self, name: str, dimension: int = 26) -> None:
        self.name = name
        self.dimension = dimension
        self.made = 0

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.made += len(texts)
        counts = np.array([[text.count(chr(97 + n % 26)) for n in range(self.dimension)] for text in texts], np.float32)
        vectors: NDArray[np.float32] = counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1)
        return vectors

    def close(self) -> None:
        """Nothing is open."""


class Watched(Letters):
    """An encoder beside which a process with the old one looks whether vectors are of no use any longer."""

    def __init__(self, path: Path, now: "itertools.count[float]") -> None:
        super().__init__("new", 30)
        self._old = SqliteRows(path)
        self._old.open()
        self._now = now
        self.removed = 0

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        now = next(self._now)
        assert self._old.use_vector_space(VectorSpace("old", 26, 0.1, 0.4), now, begins=False)
        self.removed += self._old.remove_unused_vectors(now)
        return super().encode(texts)

    def close(self) -> None:
        self._old.close()


def recaller_of(path: Path, encoder: Letters) -> Recaller:
    return Recaller(path, RecallSettings(), zone=UTC, encoder=lambda: encoder)


async def test_nobody_removes_vectors_that_are_being_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "index.sqlite"
    now = itertools.count(1_000_000.0, 100.0)
    monkeypatch.setattr("recall.background._READ_AT_ONCE", 16)
    monkeypatch.setattr("recall.background.time.time", lambda: next(now))
    old = recaller_of(path, Letters("old"))
    await old.open()
    entries = [Entry(id=f"i{number}", text=f"line {number}", at=1.0) for number in range(LINES)]
    await old.replace_file("owner", "MEMORY.md", None, entries)
    await old.embedded()
    encoder = Watched(path, now)
    new = recaller_of(path, encoder)
    await new.open()
    await new.embedded()
    assert (encoder.removed, encoder.made) == (0, LINES)
    assert (await new.vectors()).missing == (await old.vectors()).missing == 0
    await new.close()
    await old.close()


async def test_after_a_restart_with_another_encoder_the_search_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    for encoder in (Letters("old"), Letters("new", 40)):
        recaller = recaller_of(path, encoder)
        await recaller.open()
        await recaller.replace_file("owner", "MEMORY.md", None, [Entry(id="1", text="the blue boat", at=1.0)])
        await recaller.embedded()
        assert encoder.made == 1
        found = await recaller.search(
            SearchRequest(scope="owner", query="a boat", limit=1, min_score=0, by_rank=True, now=2.0),
            timeout_seconds=None,
        )
        assert (found.outcome, found.semantic) == ("full", True)
        assert (await recaller.vectors()).encoder == encoder.name
        await recaller.close()
