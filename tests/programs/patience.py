"""How long a test waits for an event: one scale for the whole suite, which a slow or busy machine stretches.

A test never asserts an absolute time. It waits for an event, and its bound only tells a hang from a wait. The scale is
`GATEWAY_MEMORY_PATIENCE`, a factor from 1; without it, the start of the run measures it (see `measured`).
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Final

__all__ = ["VARIABLE", "holds", "measured", "patience", "seconds", "until"]

VARIABLE: Final = "GATEWAY_MEMORY_PATIENCE"
_QUIET_SECONDS: Final = 0.5
"""What the measured work takes on a quiet machine."""
_LEAST_PATIENCE: Final = 2.0
_LONGEST_PATIENCE: Final = 30.0
_USUAL_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 0.005


def patience() -> float:
    """Return the factor by which this run's waits are stretched, from 1."""
    return max(1.0, float(os.environ.get(VARIABLE) or 1))


def seconds(quiet: float) -> float:
    """Return how long to wait for what is there well within `quiet` seconds on a quiet machine."""
    return quiet * patience()


def measured() -> float:
    """Return the factor for this machine now: how much longer than alone each core takes for half a second of work.

    A short piece of work would not do, since a scheduler favours it. The tests themselves are busy too, and the machine
    may get busier later, so it counts twice.
    """
    work = "import sys; sum(range(25_000_000))"
    started = time.monotonic()
    cores = [subprocess.Popen([sys.executable, "-I", "-c", work]) for _ in range(os.cpu_count() or 1)]
    assert not any(core.wait() for core in cores)
    return min(_LONGEST_PATIENCE, max(_LEAST_PATIENCE, 2 * (time.monotonic() - started) / _QUIET_SECONDS))


async def until(condition: Callable[[], object], what: str = "it", *, quiet: float = _USUAL_SECONDS) -> None:
    """Return when the condition holds. What is awaited happens in other tasks, threads and processes.

    what: names the event, for the failure. quiet: seconds after which a quiet machine hangs.
    """
    deadline = time.monotonic() + seconds(quiet)
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come about"
        await asyncio.sleep(_LOOK_SECONDS)


def holds(condition: Callable[[], object], what: str = "it", *, quiet: float = _USUAL_SECONDS) -> None:
    """Return when the condition holds, like `until`, without an event loop."""
    deadline = time.monotonic() + seconds(quiet)
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come about"
        time.sleep(_LOOK_SECONDS)
