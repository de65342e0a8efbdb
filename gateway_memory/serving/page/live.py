"""The stream that tells an open page when there is something new, as server-sent events without any text."""

from collections.abc import AsyncIterator
from typing import Final

from gateway_memory.observability.metrics import Metrics
from gateway_memory.serving.changes import Listener

__all__ = ["news"]

_LOOK_SECONDS: Final = 1.0
_ALIVE_LOOKS: Final = 15
_TELLS: Final = ("turns.", "extraction.", "sessions.", "feedback.", "failures.", "model.")
"""The counters that change with what the page shows; looking at the page changes none of them."""


async def news(listener: Listener, metrics: Metrics) -> AsyncIterator[bytes]:
    """Yield an event whenever something has changed, at most once a second, until the listener is closed."""
    yield b"retry: 2000\n\n"
    seen, quiet = _state(metrics), 0
    async for sent in listener.stream(_LOOK_SECONDS):
        now = _state(metrics)
        quiet += 1
        if now != seen or sent.startswith((b"id:", b"event:")):
            seen, quiet = now, 0
            yield b"event: news\ndata:\n\n"
        elif quiet >= _ALIVE_LOOKS:
            quiet = 0
            yield b": alive\n\n"


def _state(metrics: Metrics) -> int:
    return sum(number for name, number in metrics.counts.items() if name.startswith(_TELLS))
