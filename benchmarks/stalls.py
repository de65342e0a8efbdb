"""How long the event loop did not turn, and how much of that time the machine gave to nobody here."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

__all__ = ["Stall", "Stalls"]

_WAKES_EVERY = 0.001
_LATE = 0.002


class Stall(NamedTuple):
    """The longest stall, in milliseconds.

    own_ms: of all stalls the longest after that time is taken off in which a process that does nothing, one on each
    processor, was not woken either. So much is ours at least: Python's lock and our own turns. Our computing threads
    keep such a process waiting too, some milliseconds, so what is ours lies between the two.
    """

    longest_ms: float
    own_ms: float


class Stalls:
    """The times in which the event loop did not turn; `with` starts and ends the processes that do nothing beside it.

    Looking every millisecond takes turns away from what is measured, so replies are timed while nobody looks, and
    watched in a pass of their own.
    """

    def __init__(self) -> None:
        self._seen: list[tuple[float, float]] = []
        self._looking = asyncio.Event()
        self._looking.set()

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory()
        self._idle = [
            subprocess.Popen(  # noqa: S603 - our own arguments
                [sys.executable, __file__, str(processor), self._late(processor)]
            )
            for processor in range(os.cpu_count() or 1)
        ]
        while not all(Path(self._late(processor)).exists() for processor in range(len(self._idle))):
            if any(process.poll() is not None for process in self._idle):
                raise RuntimeError("a process that was to do nothing has ended")
            time.sleep(_WAKES_EVERY)  # they start; nothing is measured yet
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._idle:
            process.kill()
            process.wait()
        self._folder.cleanup()

    def _late(self, processor: int) -> str:
        return str(Path(self._folder.name) / str(processor))

    async def watch(self) -> None:
        """Look until cancelled."""
        while True:
            await self._looking.wait()
            due = time.perf_counter() + _WAKES_EVERY
            await asyncio.sleep(_WAKES_EVERY)
            woken = time.perf_counter()
            if woken - due > _LATE / 2:
                self._seen.append((due, woken))

    @contextmanager
    def off(self) -> Iterator[None]:
        """Look at nothing within, and let the idle processes sleep."""
        self._looking.clear()
        for process in self._idle:
            process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            for process in self._idle:
                process.send_signal(signal.SIGCONT)
            self._looking.set()

    def take(self) -> Stall:
        """Return the longest stall since the last call."""
        seen, self._seen = self._seen, []
        late = self._nobody_woke()
        longest = own = 0.0
        for start, end in seen:
            longest = max(longest, end - start)
            if end - start > own:
                lost = sum(
                    min(end, until) - max(start, since) for since, until in late if since < end and until > start
                )
                own = max(own, end - start - lost)
        return Stall(1000 * longest, 1000 * own)

    def _nobody_woke(self) -> list[tuple[float, float]]:
        """When one of the idle processes was not woken, as intervals that don't overlap."""
        late: list[tuple[float, float]] = []
        found = []
        for processor in range(len(self._idle)):
            with suppress(FileNotFoundError):
                lines = Path(self._late(processor)).read_text("ascii").splitlines(keepends=True)
                found += [tuple(map(float, line.split())) for line in lines if line.endswith("\n")]
        for since, until in sorted(found):
            if late and since <= late[-1][1]:
                late[-1] = (late[-1][0], max(until, late[-1][1]))
            else:
                late.append((since, until))
        return late


def idle(processor: int, late: Path) -> None:
    """Do nothing, and write down when that took longer than it should, by the clock that all processes share."""
    if hasattr(os, "sched_setaffinity"):
        with suppress(OSError):
            os.sched_setaffinity(0, {processor})
    parent = os.getppid()
    with late.open("w", buffering=1, encoding="ascii") as lines:
        while os.getppid() == parent:
            due = time.perf_counter() + _WAKES_EVERY
            time.sleep(_WAKES_EVERY)
            woken = time.perf_counter()
            if woken - due > _LATE:
                lines.write(f"{due} {woken}\n")


if __name__ == "__main__":
    idle(int(sys.argv[1]), Path(sys.argv[2]))
