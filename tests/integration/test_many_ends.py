"""Sessions that end in every way, of two processes at a time that are killed now and then."""

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ending import CONFIG
from inside import journal_rows
from patience import seconds
from thorough import amount

from gateway_memory import GatewayMemory
from gateway_memory.store.summaries import read_records

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).parents[1] / "programs" / "ending_gateway.py"
SESSIONS = amount(60, 1000)
_IN_ONE_LIFE = 10


def live(workspace: Path, seed: int) -> list[dict[str, Any]]:
    """Run one process to its death by SIGKILL; return what it said of its sessions."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(workspace), str(seed), str(_IN_ONE_LIFE)],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        timeout=seconds(120),
    )
    assert done.returncode == -9, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.splitlines()]


async def test_every_session_worth_saving_has_one_record_whatever_ended_it(tmp_path: Path) -> None:
    told: list[dict[str, Any]] = []
    for seed in range(0, -(-SESSIONS // _IN_ONE_LIFE), 2):
        both = await asyncio.gather(*(asyncio.to_thread(live, tmp_path, seed + more) for more in (0, 1)))
        told += [row for rows in both for row in rows]
    later = datetime.now().astimezone() + timedelta(days=2)  # what nobody ended has been silent for long by then
    async with GatewayMemory(CONFIG, tmp_path, clock=lambda: later) as memory:
        counts = await memory.session_counts()
        open_ones = await journal_rows(memory, "SELECT count(*) FROM sessions WHERE ended_at IS NULL")
        saved = await journal_rows(memory, "SELECT session_id FROM saved_sessions")
    assert open_ones == [(0,)]
    found, damaged = read_records(tmp_path / "sessions.jsonl")
    assert damaged == []
    assert len(told) >= SESSIONS
    assert max(Counter(record["session_id"] for record in found).values()) == 1
    assert {row[0] for row in saved} == {row["session"] for row in told if row["worth"]}
    assert [row for row in told if row["asked"] != row["due"]] == [], "asked exactly where the predicate holds"
    share = counts["followups"] / len(told)
    print(f"{len(told)} sessions, {counts}, follow-ups {share:.1%}")  # noqa: T201 - shown by -rP
