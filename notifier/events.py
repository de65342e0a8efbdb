"""What sessions are told: the changes of a batch, and their JSON."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Final, Literal


class NotifierError(Exception):
    """An event could not be read or sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryChange:
    """One memory that was added or removed.

    at: epoch seconds. text: "" of one that was removed. source: the key of the session that caused it, "" for none.
    replaces: the id of the memory that
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
