"""Keeps many callers at once from holding the event loop for all of them together."""

import asyncio
from collections import deque

__all__ = ["Pace"]


class Pace:
    """Lets so many callers on in each turn of the event loop, in the order in which they came.

    Whoever has waited for its time goes on whatever comes: with a slow host's turns, many would wait too long.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._passed = 0
        self._waiting: deque[tuple[float, asyncio.Future[None]]] = deque()
        """Until when each waits, by the loop's clock."""

    async def turn(self, seconds: float) -> None:
        """Wait, for so long at most, for a turn of the loop that has room; the first few of each don't wait at all."""
        loop = asyncio.get_running_loop()
        if self._passed < self._most:
            if not self._passed:
                loop.call_soon(self._next)
            self._passed += 1
            return
        waiting: asyncio.Future[None] = loop.create_future()
        self._waiting.append((loop.time() + seconds, waiting))
        await waiting

    def _next(self) -> None:
        """Let the next few on, who go on in the turn that follows."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._passed = 0
        while self._waiting and (self._passed < self._most or self._waiting[0][0] <= now):
            _, waiting = self._waiting.popleft()
            if not waiting.done():  # else it was cancelled
                waiting.set_result(None)
                self._passed += 1
        if self._passed:
            loop.call_soon(self._next)
