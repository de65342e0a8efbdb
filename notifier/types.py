"""Changes, events, and the notifier's error."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Event", "MemoryChange", "NotifierError", "journal_of"]


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
