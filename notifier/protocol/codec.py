"""Events as JSON, for the journal."""

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Final

from notifier.types import Event, MemoryChange, NotifierError

__all__ = ["MAX_CHANGES", "decode", "encode", "split"]

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
