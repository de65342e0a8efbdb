"""What a command answers, and the small forms that all answers share: ids, times, what was typed."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Final

from gateway_memory.edge.content import as_query
from gateway_memory.edge.phrases import say
from gateway_memory.ground.times import local_time
from gateway_memory.sessions.session import Session

_SHOWN: Final = 80
"""Characters of typed text that an answer repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """text: what is shown. done: whether the command did what was asked; it decides a shell command's exit code."""

    text: str
    done: bool = True


class NotDone(Exception):  # noqa: N818 - an answer, no error
    """Raised with the text to show when a command can't do what was asked, for example for an unknown id."""


def phrase(session: Session, name: str, /, **values: object) -> str:
    """Return a phrase in the session's language; `{memory:undo}` in it is how that command is called here."""
    return say(session.language, name, memory=session.commands_as, **values)


def ids_in(text: str) -> list[str]:
    """Return the ids in a text, as `as_id` does, each once: they stand between spaces or commas."""
    return list(dict.fromkeys(filter(None, map(as_id, re.split(r"[\s,，、;；]+", text)))))


async def for_each(identities: Sequence[str], answer: Callable[[str], Awaitable[str]]) -> str:
    """Return the answers for several ids, one below the other.

    Raises:
        NotDone: one of them, or more, could not be done. The text has all answers.
    """
    lines, done = [], True
    for identity in identities:
        try:
            lines.append(await answer(identity))
        except NotDone as problem:
            lines.append(str(problem))
            done = False
    if not done:
        raise NotDone("\n".join(lines))
    return "\n".join(lines)


def as_id(text: str) -> str:
    """Return an id without the brackets, quotes and spaces that people paste with it."""
    return text.strip().strip("()[]`").lower()


def shown(typed: str) -> str:
    """Return the beginning of typed text as one line, without secrets, to be repeated in an answer."""
    line = " ".join(as_query(typed).text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def iso_time(at: float, zone: tzinfo | None) -> str:
    """Return an instant (epoch seconds) as ISO 8601 with the zone's offset, for programs."""
    return local_time(at, zone).isoformat(timespec="seconds")


def readable_time(iso: str) -> str:
    """Return an ISO 8601 time as people read it: without the offset, since it is in their own zone."""
    return iso[:19].replace("T", " ")
