"""Events as JSON, for the outbox and for the wire."""

import json
from dataclasses import asdict

from notifier.types import Change, Event, NotifierError

__all__ = ["decode", "encode"]


def encode(event: Event) -> str:
    """Return the event as one line of JSON."""
    return json.dumps(asdict(event), ensure_ascii=False, separators=(",", ":"))


def decode(body: str) -> Event:
    """Return the event that `encode` wrote.

    Raises:
        NotifierError: the body is no event.
    """
    try:
        raw = json.loads(body)
        return Event(
            scope=raw["scope"], at=float(raw["at"]), changes=tuple(Change(**change) for change in raw["changes"])
        )
    except (ValueError, KeyError, TypeError) as error:
        raise NotifierError(f"no event: {type(error).__name__}") from error
