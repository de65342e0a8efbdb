"""The notifier's own values."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Change", "Event", "NotifierError"]


class NotifierError(Exception):
    """An event could not be read or sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One memory that was added or removed.

    `source` is the key of the session that caused it ("" for none); `at` is in epoch seconds.
    """

    id: str
    text: str
    at: float
    source: str = ""
    action: Literal["added", "removed"] = "added"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The changes of one batch in one scope, as they are announced together."""

    scope: str
    at: float
    changes: tuple[Change, ...]
