"""A stream of the changes of one scope, for host code."""

import asyncio
from collections import deque

from notifier.types import MemoryChange

__all__ = ["Subscription"]


class Subscription:
    """The changes of a scope from now on: `async for change in subscription`, in one task or several.

    Holds at most `most` changes that nobody has taken yet. One more drops the oldest, and `dropped` counts it.
    Cancelling a consumer loses no change. After `close` it yields what is left, and ends.
    """

    def __init__(self, most: int) -> None:
        self._waiting: deque[MemoryChange] = deque(maxlen=most)
        self._came = asyncio.Event()
        self._closed = False
        self.dropped = 0

    def put(self, change: MemoryChange) -> None:
        """Queue a change."""
        if self._closed:
            return
        self.dropped += len(self._waiting) == self._waiting.maxlen
        self._waiting.append(change)
        self._came.set()

    def close(self) -> None:
        """Accept no more changes, and end the iteration once the queue is empty."""
        self._closed = True
        self._came.set()

    def __aiter__(self) -> "Subscription":
        return self

    async def __anext__(self) -> MemoryChange:
        while not self._waiting:
            if self._closed:
                raise StopAsyncIteration
            self._came.clear()
            await self._came.wait()
        return self._waiting.popleft()
