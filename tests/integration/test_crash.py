"""SIGKILL anywhere from `after_reply` to the announcement: after a restart nothing is lost, nothing is doubled."""

import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import dying_gateway
import pytest
from editor import WORDS_ALONE
from inside import parts
from patience import seconds

from gateway_memory import OWNER, GatewayMemory, load_config
from gateway_memory.store.journal.turns import Queue

SCRIPT = Path(dying_gateway.__file__)


def lines(workspace: Path) -> list[str]:
    found = [line for file in sorted(workspace.rglob("*.md")) for line in file.read_text("utf-8").splitlines()]
    return [line.split(" <!--")[0] for line in found if line.startswith("- ")]


async def processed(workspace: Path) -> list[str]:
    """Start again on the workspace, as a supervisor would, and return the memories' lines."""
    async with GatewayMemory(load_config(WORDS_ALONE), workspace) as memory:
        await memory.flush()
        session = await memory.start_session("listener", user=OWNER)
        for expected in ("8443", "PostgreSQL", "peanuts", "Python"):
            assert any(expected in hit.text for hit in await memory.search(session, expected)), expected
        queue = await parts(memory).storage.turns.queue()
        assert queue == Queue()
        assert await parts(memory).storage.turns.plans() == []
    return lines(workspace)


@pytest.mark.slow
@pytest.mark.parametrize("step", dying_gateway.STEPS)
async def test_a_killed_gateway_loses_and_doubles_nothing(step: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path), step], check=False, capture_output=True, timeout=seconds(60)
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()[-2000:]
    found = Counter(await processed(tmp_path))
    assert set(found.values()) == {1}
    assert len(found) == 4
    assert not [*tmp_path.rglob("*.tmp"), *tmp_path.rglob("*.kept")]


async def test_the_next_process_takes_over_what_a_dead_one_left(tmp_path: Path) -> None:
    """The survivor was there all along, under another slot: it finds the orphan by its lock."""
    async with GatewayMemory(load_config(WORDS_ALONE), tmp_path) as survivor:
        done = subprocess.run(
            [sys.executable, str(SCRIPT), str(tmp_path), "plan written"],
            check=False,
            capture_output=True,
            timeout=seconds(60),
        )
        assert done.returncode == -signal.SIGKILL
        await parts(survivor).processor.adopt()
        await survivor.flush()
    assert len(lines(tmp_path)) == 4
