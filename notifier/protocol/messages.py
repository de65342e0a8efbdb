"""The kinds of messages between gateways, as they are read."""

from collections.abc import Mapping
from dataclasses import dataclass

from notifier.types import Event, NotifierError

__all__ = ["Ask", "DroppedError", "EventMessage", "Gone", "Hello", "Message"]


class DroppedError(NotifierError):
    """A message that is not trusted or not understood. `reason` is one word, and no part of the message."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class EventMessage:
    """An event of `origin`, or only the fact that there is one.

    event: None where the message holds no text, where its text is not trusted, or where it is too old (`stale`).
    """

    sender: str
    origin: str
    number: int
    event: Event | None
    trusted: bool
    stale: bool = False
    count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """The last event number of each origin of the sender's journal. want: the receivers should answer with theirs."""

    sender: str
    heads: Mapping[str, int]
    want: bool
    trusted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A request for the events `first` to `last` of an origin, which the sender misses."""

    sender: str
    origin: str
    first: int
    last: int
    trusted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """The origin's events up to a number were deleted: receivers must not wait for them."""

    sender: str
    origin: str
    upto: int
    trusted: bool


Message = EventMessage | Hello | Ask | Gone
