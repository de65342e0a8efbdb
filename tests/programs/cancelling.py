"""A driver for tests of cancellation: it cancels a call at each of the points where it waits, one after the other."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from typing import Any


class CancelledAt:
    """Awaits a coroutine, and cancels it when it waits for the `step`th time, counted from 1."""

    def __init__(self, call: Coroutine[Any, Any, Any], step: int) -> None:
        self._call = call
        self._step = step
        self.reached = False

    def __await__(self) -> Generator[Any, Any, Any]:
        waits = 0
        try:
            waiting = self._call.send(None)
            while True:
                waits += 1
                if waits == self._step:
                    self.reached = True
                    task = asyncio.current_task()
                    assert task is not None
                    task.cancel()
                try:
                    yield waiting
                except asyncio.CancelledError as error:
                    waiting = self._call.throw(error)
                else:
                    waiting = self._call.send(None)
        except StopIteration as done:
            return done.value


async def at_each_wait(call: Callable[[int], Awaitable[Coroutine[Any, Any, Any]]]) -> AsyncIterator[int]:
    """Cancel what `call` makes at its first wait, then a fresh one at its second, until one has no more waits.

    Yields the step after each call that was cancelled.
    """
    step = 0
    while True:
        step += 1
        driven = CancelledAt(await call(step), step)

        async def run(driven: CancelledAt = driven) -> None:
            await driven

        with suppress(asyncio.CancelledError):
            await asyncio.create_task(run())
        if not driven.reached:
            return
        yield step
