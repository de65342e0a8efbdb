"""How long the event loop did not turn."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Stalls"]


class Stalls:
    """The longest time that the event loop did not turn, in seconds.

    Looking every millisecond takes turns away from what is measured, so replies are timed while nobody looks, and
    watched in a pass of their own.
    """

    def __init__(self) -> None:
        self.longest = 0.0
        self._looking = asyncio.Event()
        self._looking.set()

    async def watch(self) -> None:
        """Measure until cancelled."""
        while True:
            await self._looking.wait()
            started = time.perf_counter()
            await asyncio.sleep(0.001)
            self.longest = max(self.longest, time.perf_counter() - started - 0.001)

    @contextmanager
    def off(self) -> Iterator[None]:
        """Look at nothing within."""
        self._looking.clear()
        try:
            yield
        finally:
            self._looking.set()

    def take(self) -> float:
        """Return the longest stall since the last call, in milliseconds."""
        longest, self.longest = self.longest, 0.0
        return 1000 * longest
