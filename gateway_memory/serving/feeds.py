"""Changes as server-sent events: for clients, and for an open page."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Final, Literal, TypeAlias

from gateway_memory.errors import ClosedError, StoreError
from gateway_memory.ground.metrics import Metrics
from gateway_memory.memory import GatewayMemory
from gateway_memory.serving.errors import ServiceError
from notifier import Event, Stream

ListenerKind: TypeAlias = Literal["client", "page"]

_MOST_WAITING: Final = 1000
_ALIVE_SECONDS: Final = 15.0


class Listener(Stream[Event]):
    """Events that one client has not taken yet. When there are too many, the oldest are dropped and counted."""

    def __init__(self, most: int = _MOST_WAITING) -> None:
        super().__init__(most)

    async def stream(self, alive_seconds: float = _ALIVE_SECONDS) -> AsyncIterator[bytes]:
        """Yield the events in the form of server-sent events, and a comment from time to time."""
        yield b": listening\n\n"
        while True:
            try:
                async with asyncio.timeout(alive_seconds):
                    event = await anext(self)
            except TimeoutError:
                yield b": alive\n\n"
                continue
            except StopAsyncIteration:
                return
            lost, self.dropped = self.dropped, 0
            if lost:
                yield f"event: lost\ndata: {json.dumps({'lost': lost})}\n\n".encode()
            yield _sent(event)


class ChangeFeed:
    """The notifier's channel to the listeners of one agent. most: the maximum number of listeners of each kind."""

    name = "http"
    early = False

    def __init__(self, most: int) -> None:
        self._most = most
        self._listeners: dict[Listener, ListenerKind] = {}
        self._closed = False

    def announce(self, event: Event) -> None:
        """Hand an event to every listener."""
        for listener in self._listeners:
            listener.put(event)

    def add(self, kind: ListenerKind) -> Listener:
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


_LOOK_SECONDS: Final = 1.0
_OTHERS_LOOKS: Final = 3
_ALIVE_LOOKS: Final = 15
_PAGE_COUNTERS: Final = ("turns.", "extraction.", "sessions.", "feedback.", "failures.", "model.")
"""The counters that change with what the page shows; looking at the page changes none of them."""


async def news(listener: Listener, memory: GatewayMemory) -> AsyncIterator[bytes]:
    """Yield an event whenever something has changed, at most once a second, until the listener is closed.

    What other processes have changed, or failed to do, is looked for in the journal every three seconds.
    """
    yield b"retry: 2000\n\n"
    before, mark, quiet, looks = _state(memory.metrics), await _mark(memory), 0, 0
    async for sent in listener.stream(_LOOK_SECONDS):
        now, elsewhere = _state(memory.metrics), mark
        quiet, looks = quiet + 1, looks + 1
        if looks % _OTHERS_LOOKS == 0:
            elsewhere = await _mark(memory) or mark
        if now != before or elsewhere != mark or sent.startswith((b"id:", b"event:")):
            before, mark, quiet = now, elsewhere, 0
            yield b"event: news\ndata:\n\n"
        elif quiet >= _ALIVE_LOOKS:
            quiet = 0
            yield b": alive\n\n"


async def _mark(memory: GatewayMemory) -> str:
    """Return the state of the other processes; "" where it can't be read now."""
    try:
        return await memory.browsing.mark()
    except (StoreError, ClosedError):
        return ""


def _state(metrics: Metrics) -> int:
    return sum(number for name, number in metrics.counts.items() if name.startswith(_PAGE_COUNTERS))
