"""A memory that hangs in a gateway's process costs a reply one deadline, and the next ones nothing for a while."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from patience import seconds

from gateway_memory.connect.in_process import AwayError, Opening, Pause


def test_a_pause_doubles_with_each_failure_and_ends_with_an_answer() -> None:
    pause, now, lasted = Pause(), 100.0, []
    for _ in range(9):
        assert not pause.holds(now)
        pause.failed(now)
        pause.failed(now)  # beside the first one
        start = now
        while pause.holds(now):
            now += 0.5
        lasted.append(now - start)
    assert lasted == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    pause.failed(now)
    pause.succeeded()
    assert not pause.holds(now)
    pause.failed(now)
    assert pause.holds(now + 0.9)
    assert not pause.holds(now + 1)


@pytest.fixture
def opening(tmp_path: Path) -> Iterator[Opening]:
    found = Opening(tmp_path / "memory", None, lambda _: None)
    found.wait(seconds(60))
    yield found
    memory = found._memory  # a gateway leaves it open until its process ends
    assert memory is not None
    memory.close()


async def _hangs(_: Any) -> None:
    await asyncio.Event().wait()


async def _answers(_: Any) -> str:
    return "yes"


def test_a_call_that_hangs_is_not_waited_for_again_until_the_memory_answers(opening: Opening) -> None:
    assert opening.call(_answers, seconds(10)) == "yes"
    away = [opening.is_away]
    start = time.monotonic()
    with pytest.raises(TimeoutError):
        opening.call(_hangs, 0.2)
    assert time.monotonic() - start < seconds(5)
    away.append(opening.is_away)
    assert opening.call(_answers, seconds(10)) == "yes", "who asks all the same is answered"
    away.append(opening.is_away)
    assert away == [False, True, False]


def test_a_memory_that_cannot_be_opened_says_so_at_once(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("no folder", "utf-8")
    failures: list[str] = []
    opening = Opening(tmp_path / "memory", None, failures.append)
    opening.wait(seconds(60))
    with pytest.raises(AwayError):
        opening.call(_answers, seconds(10))
    assert failures
