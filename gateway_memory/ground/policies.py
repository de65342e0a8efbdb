"""What is done about calls that fail: they are tried again, and a server that keeps failing is left alone."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from tenacity import AsyncRetrying, RetryCallState

T = TypeVar("T")

SERVER_BACKOFF_SECONDS: Final = 1.0
"""How long a database server that did not answer is left alone."""
_MOST_DOUBLINGS: Final = 30


async def retry(
    work: Callable[[], Awaitable[T]],
    pause: Callable[[Exception, int], float | None],
    *,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> T:
    """Do work again and again until it succeeds, and return its result.

    pause: is called with each failure and its number, from 1 on. It returns the seconds to wait, or None to raise it.
    """
    try:
        return await work()
    except Exception as error:  # noqa: BLE001 - the first failure; nearly all calls succeed, and need no more than this
        failed = [error]
    seconds: list[float] = []

    def is_tried_again(state: RetryCallState) -> bool:
        error = state.outcome.exception() if state.outcome else None
        wanted = pause(error, state.attempt_number) if isinstance(error, Exception) else None
        seconds[:] = [] if wanted is None else [wanted]
        return wanted is not None

    async def attempt() -> T:
        if failed:
            raise failed.pop()
        return await work()

    async def paused(seconds: float) -> None:
        await sleep(seconds)

    trying = AsyncRetrying(retry=is_tried_again, wait=lambda _: seconds[0], sleep=paused, reraise=True)
    return await trying(attempt)


def backoff(attempt: int, *, longest: float, first: float = 0.5, least: float = 0.0) -> float:
    """Return random seconds to wait after a failure: up to `first`, and up to twice as long after each one more.

    least: the part of that which is waited at least, 0..1.
    """
    seconds: float = min(longest, first * 2 ** min(attempt - 1, _MOST_DOUBLINGS))
    return seconds * random.uniform(least, 1)  # noqa: S311 - jitter, no secret


def is_logged(attempt: int) -> bool:
    """Return whether a failure is told in the log: numbers 1, 2, 4, 8, ..."""
    return attempt & (attempt - 1) == 0


class Breaker:
    """A circuit breaker: a server that keeps failing is not called for a while.

    It opens after some failures in a row. After `open_seconds` it lets one call through, which closes or reopens it.
    clock: monotonic, in seconds.
    """

    def __init__(
        self, *, failures: int = 3, open_seconds: float = 300.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._failures = failures
        self._open_seconds = open_seconds
        self._clock = clock
        self._failed = 0
        self._tried_at = 0.0

    @property
    def is_open(self) -> bool:
        """Whether the server is not called for a while."""
        return self._failed >= self._failures

    def allows(self) -> bool:
        """Return whether a call may be made now. While the breaker is open, only one may in each `open_seconds`."""
        if not self.is_open:
            return True
        now = self._clock()
        if now - self._tried_at < self._open_seconds:
            return False
        self._tried_at = now
        return True

    @contextmanager
    def guard(self, refusal: Callable[[], Exception], is_failure: Callable[[Exception], bool]) -> Iterator[None]:
        """Make a call, its retries included, in a block. Raises `refusal()` while the server is left alone.

        is_failure: whether an error of the block says that the server fails; one that answers is alive.
        """
        if not self.allows():
            raise refusal()
        try:
            yield
        except Exception as error:
            if is_failure(error):
                self._failed += 1
                self._tried_at = self._clock()
            raise
        self._failed = 0
