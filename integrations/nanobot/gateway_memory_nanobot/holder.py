"""The open memory of this process, and its calls from nanobot's event loop."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from loguru import logger

from gateway_memory.connect.in_process import Opening

__all__ = ["Holder", "held"]

T = TypeVar("T")
_held: dict[Path, "Holder"] = {}


class Holder:
    """The memory of one workspace."""

    def __init__(self, workspace: Path, config: str | None) -> None:
        self._opening = Opening(workspace, config, lambda why: logger.error("gateway-memory: {}", why))

    @property
    def is_away(self) -> bool:
        """Whether the memory did not answer in time just now, so that no reply waits for it."""
        return self._opening.is_away

    def late(self) -> None:
        """Note that something took too long."""
        self._opening.late()

    async def call(self, work: Callable[[Any], Coroutine[Any, Any, T]], seconds: float) -> T:
        """Run a call on the memory's loop.

        Raises:
            AwayError: the memory is not open.
            TimeoutError: the call takes longer.
        """
        opening = self._opening
        try:
            async with asyncio.timeout(seconds):
                if opening.is_trying:
                    await asyncio.to_thread(opening.wait, seconds)
                return await asyncio.wrap_future(opening.submit(work))
        except TimeoutError:
            opening.late()
            raise


def held(workspace: Path, config: str | None) -> Holder:
    """Return the memory of a workspace: the same one for every agent of the process."""
    if workspace not in _held:
        _held[workspace] = Holder(workspace, config)
    return _held[workspace]
