"""Keeps many callers at once from holding the event loop for all of them together."""

import asyncio

__all__ = ["Pace"]


class Pace:
    """Lets so many callers on in each turn of the event loop, in the order in which they came."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._passed = 0

    async def turn(self) -> None:
        """Wait for a turn of the loop that has room; the first few of each don't wait at all."""
        while self._passed >= self._most:  # noqa: ASYNC110 - turns of the loop are what is waited for
            await asyncio.sleep(0)
        if not self._passed:
            asyncio.get_running_loop().call_soon(self._next)
        self._passed += 1

    def _next(self) -> None:
        self._passed = 0
