"""The notifier's own values."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Change", "Event", "NotifierError", "journal_of"]


class NotifierError(Exception):
    """An event could not be read or sent."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or self.__doc__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One memory that was added or removed.

    `source` is the key of the session that caused it ("" for none); `at` is in epoch seconds. `replaces` is the id of
    the memory whose place it takes, "" for none. `by_hand`: a person or a tool edited the file.
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
    """The changes of one batch in one scope, as they are announced together; `at` is in epoch seconds.

    `origin` is the instance that it comes from and `number` its place among that instance's events, from 1; "" and 0
    where it is kept nowhere.
    """

    scope: str
    at: float
    changes: tuple[Change, ...]
    origin: str = ""
    number: int = 0


def journal_of(instance: str) -> str:
    """Return the journal's part of an instance's id, "<journal>.<slot>": processes of one workspace share it."""
    return instance.partition(".")[0]
