"""What a command answers: a text to show, and whether it did what was asked."""

from dataclasses import dataclass

from gateway_memory.phrases import say
from gateway_memory.session import Session

__all__ = ["Answer", "NotDone", "phrase"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """text: what is shown. done: whether what was asked is done; a shell's exit code tells it."""

    text: str
    done: bool = True


class NotDone(Exception):  # noqa: N818 - an answer, no error
    """Raised with the text to show where a command can't do what was asked: there is no such memory, say."""


def phrase(session: Session, name: str, /, **values: object) -> str:
    """Return a phrase as a session reads it: in its language, with commands called as they are where it is read."""
    return say(session.language, name, memory=session.commands_as, **values)
