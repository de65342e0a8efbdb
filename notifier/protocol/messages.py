"""What gateways say to each other, as it is read from the wire."""

from collections.abc import Mapping
from dataclasses import dataclass

from notifier.types import Event, NotifierError

__all__ = ["Ask", "Changed", "DroppedError", "Gone", "Hello", "Message"]


class DroppedError(NotifierError):
    """A message that is not believed or not understood; `reason` is a word, and nothing of what the message said."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """An event of `origin`, or only that there is one.

    `event` is None where the message tells no text, where its text is not to be believed, or where it is `stale`.
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
    """How far each origin of the sender's journal has come; `want`: the sender would like to hear the same."""

    sender: str
    heads: Mapping[str, int]
    want: bool
    trusted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """The sender misses the events `first` to `last` of an origin."""

    sender: str
    origin: str
    first: int
    last: int
    trusted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """The origin's events up to a number are kept no longer: nobody shall wait for them."""

    sender: str
    origin: str
    upto: int
    trusted: bool


Message = Changed | Hello | Ask | Gone
