"""Python work beside the event loop."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from recall import short_turns

__all__ = ["compute"]

P = ParamSpec("P")
T = TypeVar("T")


async def compute(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do pure work of some milliseconds in a thread that yields to the event loop often."""

    def job() -> T:
        with short_turns():
            return work(*args, **kwargs)

    return await asyncio.to_thread(job)
