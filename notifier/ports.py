"""What the notifier needs of the process that runs it, and its status."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol

from notifier.events import Event

State = Literal["connecting", "connected", "waiting"]


class EventLog(Protocol):
    """Events on disk, by origin and number. Only ready events are sent: those whose plan is completed.

    One that is not ready holds up those behind it.
    """

    async def sent(self) -> dict[str, int]:
        """Return the last number that was sent, by origin of this journal."""

    async def mark_sent(self, origin: str, upto: int) -> None:
        """Note that an origin's events up to a number have been sent."""

    async def ready(self, origin: str, after: int, limit: int) -> list[Event]:
        """Return an origin's ready events after a number, in order and without a gap, at most `limit`."""

    async def oldest(self, origin: str) -> int:
        """Return the lowest number of an origin that is still stored; the last number plus one where none is."""

    async def received_upto(self) -> dict[str, int]:
        """Return the last number that this process has received, by origin."""

    async def commit_received(self, events: Sequence[Event], received_upto: Mapping[str, int], now: float) -> None:
        """Store events of other journals, and the last received numbers, in one transaction. now: epoch seconds."""

    def acquire_origin(self, origin: str) -> AbstractContextManager[object] | None:
        """Return the lock to hold while sending for an origin; None where another living process sends for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """What the notifier calls in the process that runs it.

    publish: delivers an event of another process to the sessions of this one. follow: updates the index from a scope's
    files, which another process of this workspace has changed. clock: returns epoch seconds. on_error: counts a failure
    by its place.
    """

    publish: Callable[[Event], None]
    follow: Callable[[str], Awaitable[None]]
    clock: Callable[[], float]
    on_error: Callable[[str, BaseException], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifierStatus:
    """The state of the connection to a broker, since when (epoch seconds) and why, and counts since the start."""

    state: State
    since: float
    reason: str = ""
    sent: int = 0
    received: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    broker: str = "MQTT"
