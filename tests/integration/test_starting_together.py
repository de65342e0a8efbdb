"""Several processes that make the journal at the same moment: SQLite tells some of them that it is locked."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gateway_memory.store.journal.opening import open_database
from gateway_memory.store.journal.sqlite import STEPS, open_journal

pytestmark = pytest.mark.slow

ROUNDS = 20
TOGETHER = 4
NAMES = list(STEPS.read())


async def test_gateways_that_make_the_journal_together_all_open_it(tmp_path: Path) -> None:
    for number in range(ROUNDS):
        path = tmp_path / f"{number}.sqlite"
        connections = await asyncio.gather(*(open_database(path, is_alone=lambda: False) for _ in range(TOGETHER)))
        for connection in connections:
            assert [row[0] for row in await connection.rows("SELECT name FROM migrations ORDER BY rowid")] == NAMES
            assert (await connection.rows("PRAGMA journal_mode"))[0][0] == "wal"
            await connection.close()


def test_hooks_that_make_the_journal_together_all_open_it(tmp_path: Path) -> None:
    for number in range(ROUNDS):
        workspace = tmp_path / str(number)
        workspace.mkdir()
        barrier = threading.Barrier(TOGETHER)

        def names(workspace: Path = workspace, barrier: threading.Barrier = barrier) -> list[str]:
            barrier.wait()
            connection = open_journal(workspace)
            try:
                return [name for (name,) in connection.execute("SELECT name FROM migrations ORDER BY rowid")]
            finally:
                connection.close()

        with ThreadPoolExecutor(TOGETHER) as threads:
            for future in [threads.submit(names) for _ in range(TOGETHER)]:
                assert future.result() == NAMES
