"""Server-sent events: the changes at `GET /v1/changes`, and the signal by which an open page renews itself."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Final, Literal, TypeAlias

from gateway_memory.runtime.runtime import Metrics
from gateway_memory.serving.errors import ServiceError
from notifier import Event

Kind: TypeAlias = Literal["client", "page"]

_MOST_WAITING: Final = 1000
_ALIVE_SECONDS: Final = 15.0


class Listener:
    """Events that one client has not taken yet. When there are too many, the oldest are dropped and counted."""

    def __init__(self, most: int = _MOST_WAITING) -> None:
        self._waiting: deque[Event] = deque(maxlen=most)
        self._came = asyncio.Event()
        self._closed = False
        self._lost = 0

    def put(self, event: Event) -> None:
        """Queue an event."""
        self._lost += len(self._waiting) == self._waiting.maxlen
        self._waiting.append(event)
        self._came.set()

    def close(self) -> None:
        """End the stream once the queue is empty."""
        self._closed = True
        self._came.set()

    async def stream(self, alive_seconds: float = _ALIVE_SECONDS) -> AsyncIterator[bytes]:
        """Yield the events in the form of server-sent events, and a comment from time to time."""
        yield b": listening\n\n"
        while not (self._closed and not self._waiting):
            if self._lost:
                lost, self._lost = self._lost, 0
                yield f"event: lost\ndata: {json.dumps({'lost': lost})}\n\n".encode()
            elif self._waiting:
                yield _sent(self._waiting.popleft())
            else:
                self._came.clear()
                try:
                    async with asyncio.timeout(alive_seconds):
                        await self._came.wait()
                except TimeoutError:
                    yield b": alive\n\n"


class ChangeFeed:
    """The notifier's channel to the listeners of one agent. most: the maximum number of listeners of each kind."""

    name = "http"
    early = False

    def __init__(self, most: int) -> None:
        self._most = most
        self._listeners: dict[Listener, Kind] = {}
        self._closed = False

    def announce(self, event: Event) -> None:
        """Hand an event to every listener."""
        for listener in self._listeners:
            listener.put(event)

    def add(self, kind: Kind) -> Listener:
        """Add a listener. Open pages take no place of clients, and clients none of pages.

        Raises:
            ServiceError: there are too many, or the service is stopping.
        """
        if self._closed:
            raise ServiceError("closing", "the service is stopping; listen again in some seconds")
        if list(self._listeners.values()).count(kind) >= self._most:
            raise ServiceError("busy", f"{self._most} {kind}s are listening already (serve.limits.listeners)")
        listener = Listener()
        self._listeners[listener] = kind
        return listener

    def remove(self, listener: Listener) -> None:
        """Remove a listener."""
        self._listeners.pop(listener, None)

    def close(self) -> None:
        """End all streams."""
        self._closed = True
        for listener in self._listeners:
            listener.close()


def _sent(event: Event) -> bytes:
    data = {"scope": event.scope, "at": event.at, "changes": [asdict(change) for change in event.changes]}
    identity = f"id: {event.origin}:{event.number}\n" if event.number else ""
    text = f"{identity}event: change\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
    return text.encode("utf-8", "replace")


# The stream that tells an open page when there is something new, as server-sent events without any text.

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
