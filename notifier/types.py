"""Changes, events and their JSON, the notifier's error, and what the notifier needs of its host."""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from typing import Final, Literal, Protocol


class NotifierError(Exception):
    """An event could not be read or sent."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or self.__doc__)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryChange:
    """One memory that was added or removed.

    at: epoch seconds. source: the key of the session that caused it, "" for none. replaces: the id of the memory that
    it supersedes, "" for none. by_hand: a person or a tool edited the file.
    """

    id: str
    text: str
    at: float
    source: str = ""
    action: Literal["added", "removed"] = "added"
    replaces: str = ""
    by_hand: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The changes of one batch in one scope, which are announced together. at: epoch seconds.

    origin: the instance that it comes from. number: its position among that instance's events, from 1. "" and 0 for an
    event that is not stored.
    """

    scope: str
    at: float
    changes: tuple[MemoryChange, ...]
    origin: str = ""
    number: int = 0


def journal_of(instance: str) -> str:
    """Return the journal's part of an instance id "<journal>.<slot>". Processes of one workspace share it."""
    return instance.partition(".")[0]


# What the notifier needs of its host, and its status.

State = Literal["connecting", "connected", "waiting"]


class EventLog(Protocol):
    """Events on disk, by origin and number. Only `ready` events are sent; one that is not ready holds up the next."""

    async def sent(self) -> dict[str, int]:
        """Return the last number that was sent, by origin of this journal."""
        ...

    async def mark_sent(self, origin: str, upto: int) -> None:
        """Note that an origin's events up to a number have been sent."""
        ...

    async def ready(self, origin: str, after: int, limit: int) -> list[Event]:
        """Return an origin's ready events after a number, in order and without a gap, at most `limit`."""
        ...

    async def oldest(self, origin: str) -> int:
        """Return the lowest number of an origin that is still stored; the last number plus one where none is."""
        ...

    async def received_upto(self) -> dict[str, int]:
        """Return the last number that this process has received, by origin."""
        ...

    async def commit_received(self, events: Sequence[Event], received_upto: Mapping[str, int], now: float) -> None:
        """Store events of other journals, and the last received numbers, in one transaction. now: epoch seconds."""
        ...

    def acquire_origin(self, origin: str) -> AbstractContextManager[object] | None:
        """Return the lock to hold while sending for an origin; None where another living process sends for it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
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
    """The state of the connection, since when (epoch seconds) and why, and counts since the start."""

    state: State
    since: float
    reason: str = ""
    sent: int = 0
    received: int = 0
    dropped: Mapping[str, int] = field(default_factory=Counter)


# Events as JSON, for the journal.

MAX_CHANGES: Final = 16
"""The most changes of one event: with the longest memories it still fits into wire.MAX_PAYLOAD_BYTES."""


def encode(event: Event) -> str:
    """Return the event as one line of JSON, without its origin and number, which have columns of their own."""
    body = asdict(event)
    del body["origin"], body["number"]
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def decode(body: str, *, origin: str = "", number: int = 0) -> Event:
    """Return the event that `encode` wrote.

    Raises:
        NotifierError: the body is no event.
    """
    try:
        raw = json.loads(body)
        changes = tuple(MemoryChange(**change) for change in raw["changes"])
        if not isinstance(raw["scope"], str) or not all(map(_is_change, changes)):
            raise TypeError("a value of another type")  # noqa: TRY301 - every mistake ends in the same place
        return Event(scope=raw["scope"], at=float(raw["at"]), changes=changes, origin=origin, number=number)
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise NotifierError(f"no event: {type(error).__name__}") from error


def _is_change(change: MemoryChange) -> bool:
    texts = (change.id, change.text, change.source, change.replaces)
    known = change.action in ("added", "removed") and isinstance(change.at, int | float)
    return known and all(isinstance(text, str) for text in texts)


def split(event: Event) -> Iterator[Event]:
    """Yield the event in parts of at most MAX_CHANGES changes, in order; none where it has no change."""
    for start in range(0, len(event.changes), MAX_CHANGES):
        yield replace(event, changes=event.changes[start : start + MAX_CHANGES])
