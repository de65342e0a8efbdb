"""The HTTP connections of the service: how many there may be, and how long a request may take to arrive."""

import contextlib
import json
from typing import TYPE_CHECKING, Any, Final, Literal

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from asyncio import TimerHandle


_ARRIVED: Final = (h11.DONE, h11.MUST_CLOSE, h11.CLOSED, h11.ERROR)
_GRACE_SECONDS: Final = 2.0
"""After a body's limit, which the application answers in words, the connection is cut."""


class _Connection(H11Protocol):
    """A connection that is cut when a request takes too long to arrive, or when there are too many."""

    most: int
    read_seconds: float

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        self._served = False
        """Whether a request has arrived on it."""
        self._since = 0.0
        """When it last began to be idle."""
        self._arriving: Literal["", "head", "body"] = ""
        """The part of a request that is awaited."""
        self._deadline: TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._since = self.loop.time()
        self._await("head")
        if len(self.connections) > self.most:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        if not self._arriving:
            self._await("head")
        super().data_received(data)
        if self.conn.their_state in _ARRIVED:
            self._served = True
            self._await("")
        elif self.conn.their_state is h11.SEND_BODY and self._arriving == "head":
            self._await("body")

    def connection_lost(self, exc: Exception | None) -> None:
        self._await("")
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        self._since = self.loop.time()
        super().on_response_complete()

    def shutdown(self) -> None:
        try:
            super().shutdown()
        except h11.LocalProtocolError:  # an unreadable request was refused just now
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer an unreadable request in the form of all errors."""
        content = {"error": {"code": "bad_request", "message": f"{msg.rstrip('.')} (not HTTP/1.1)", "where": ""}}
        headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
        with contextlib.suppress(h11.LocalProtocolError):  # an answer has begun
            for event in (
                h11.Response(status_code=400, headers=headers),
                h11.Data(data=json.dumps(content).encode()),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _await(self, part: Literal["", "head", "body"]) -> None:
        """Cut the connection unless the next part of a request arrives in time; "": nothing is awaited."""
        self._arriving = part
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if part:
            grace = _GRACE_SECONDS if part == "body" else 0.0
            self._deadline = self.loop.call_later(self.read_seconds + grace, self.transport.abort)

    def _make_room(self) -> None:
        """Cut the connection that is idle for longest, first among those that never sent a request."""
        idle = [each for each in self.connections if isinstance(each, _Connection) and each.is_idle]
        oldest = min(idle, key=lambda each: (each._served, each._since))  # noqa: SLF001 - one of this class
        oldest.transport.abort()
        self.connections.discard(oldest)

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        cycle: Any = self.cycle  # None before the first request
        return cycle is None or bool(cycle.response_complete)


def connection_class(most: int, read_seconds: float) -> type[H11Protocol]:
    """Return the class of connections with these limits. most: the maximum number of connections."""
    return type("Connection", (_Connection,), {"most": most, "read_seconds": read_seconds})
