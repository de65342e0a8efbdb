"""The kinds of messages between gateways, as they are read."""

from collections.abc import Mapping
from dataclasses import dataclass

from notifier.events import Event, NotifierError


class DroppedError(NotifierError):
    """A message that is not trusted or not understood. `reason` is one word, and no part of the message."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message of an instance (`sender`), and whether its contents are trusted."""

    sender: str
    trusted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EventMessage(Message):
    """An event of `origin`, or only the fact that there is one.

    event: None where the message holds no text, where its text is not trusted, or where it is too old (`stale`).
    """

    origin: str
    number: int
    event: Event | None = None
    stale: bool = False
    count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello(Message):
    """The last event number of each origin of the sender's journal. want: the receivers should answer with theirs."""

    heads: Mapping[str, int]
    want: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask(Message):
    """A request for the events `first` to `last` of an origin, which the sender misses."""

    origin: str
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone(Message):
    """The origin's events up to a number were deleted: receivers must not wait for them."""

    origin: str
    upto: int
