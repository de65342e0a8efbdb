"""Events as JSON, for the journal."""

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Final

from notifier.types import Change, Event, NotifierError

__all__ = ["MAX_CHANGES", "decode", "encode", "split"]

MAX_CHANGES: Final = 16
"""Changes of one event: with memories of the longest kind it still fits into a message (see wire.MAX_PAYLOAD_BYTES)."""


def encode(event: Event) -> str:
    """Return the event as one line of JSON, without its origin and number, which stand beside it."""
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
        return Event(
            scope=raw["scope"],
            at=float(raw["at"]),
            changes=tuple(Change(**change) for change in raw["changes"]),
            origin=origin,
            number=number,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise NotifierError(f"no event: {type(error).__name__}") from error


def split(event: Event) -> Iterator[Event]:
    """Yield the event as events of at most MAX_CHANGES changes, in order; none where it has no change."""
    for start in range(0, len(event.changes), MAX_CHANGES):
        yield replace(event, changes=event.changes[start : start + MAX_CHANGES])
