"""Keeps many callers at once from holding the event loop for all of them together."""

import asyncio

__all__ = ["Pace"]


class Pace:
    """Lets so many callers on in each turn of the event loop, in the order in which they came.

    Whoever has waited for its time goes on whatever comes: with a slow host's turns, many would wait too long.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._passed = 0

    async def turn(self, seconds: float) -> None:
        """Wait, for so long at most, for a turn of the loop that has room; the first few of each don't wait at all."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while self._passed >= self._most and loop.time() < until:  # noqa: ASYNC110 - turns are what is waited for
            await asyncio.sleep(0)
        if not self._passed:
            loop.call_soon(self._next)
        self._passed += 1

    def _next(self) -> None:
        self._passed = 0
