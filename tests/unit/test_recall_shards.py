"""Rows in several places: which one has a scope, and that one which fails concerns nobody else."""

from collections import Counter
from datetime import UTC
from pathlib import Path

import pytest

from recall import EmbedderSettings, Entry, Recaller, RecallError, RecallSettings, Vectors, shard_of
from recall.rows.sqlite import SqliteRows
from recall.rows.tables import Poll

SCOPES = [f"user:{number}" for number in range(4000)]


@pytest.mark.parametrize("places", [1, 2, 3, 8])
def test_one_place_more_takes_its_share_and_no_other_scope_moves(places: int) -> None:
    before = [shard_of(scope, places) for scope in SCOPES]
    after = [shard_of(scope, places + 1) for scope in SCOPES]
    moved = [now for was, now in zip(before, after, strict=True) if was != now]
    assert set(moved) == {places}
    share = len(SCOPES) / (places + 1)
    assert all(abs(number - share) < 0.2 * share for number in Counter(after).values())


class Failing(SqliteRows):
    fails = False

    def poll(self) -> Poll:
        if self.fails:
            raise RecallError("it is away")
        return super().poll()

    def is_current(self) -> bool:
        return not self.fails


async def test_a_place_that_fails_is_missed_by_its_scopes_alone(tmp_path: Path) -> None:
    rows = [SqliteRows(tmp_path / "one"), failing := Failing(tmp_path / "two")]
    recaller = Recaller(rows, RecallSettings(embedder=EmbedderSettings(provider="none")), zone=UTC)
    assert await recaller.open()
    here, there = (next(scope for scope in SCOPES if shard_of(scope, 2) == place) for place in (0, 1))
    for scope in (here, there):
        await recaller.replace_file(scope, "MEMORY.md", None, [Entry(id="i", text=f"the bell of {scope}", at=1.0)])
    assert (await recaller.vectors(), recaller.away) == (Vectors(rows=2, missing=2), 0)
    failing.fails = True
    assert [row.entry.text for row in await recaller.newest(here, 9)] == [f"the bell of {here}"]
    with pytest.raises(RecallError, match="it is away"):
        await recaller.newest(there, 9)
    assert (await recaller.vectors(), recaller.away) == (Vectors(rows=1, missing=1), 1)
    await recaller.close()
