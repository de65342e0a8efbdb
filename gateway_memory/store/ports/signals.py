"""The port through which the hosts that share a store wake each other."""

from typing import Protocol

__all__ = ["Signals"]


class Signals(Protocol):
    """A signal says only that something may be new: it can be lost, and whoever waits looks from time to time."""

    async def wait(self, seconds: float) -> None:
        """Return when another host, or this one, has signalled since the last call, at the latest after `seconds`."""
