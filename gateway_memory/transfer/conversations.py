"""A conversation of another program, and the episodes that it becomes."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from extractor import answered, asked_secrets, clean, spoken
from gateway_memory.edge.content import well_formed
from gateway_memory.store.journal.episodes import Episode
from gateway_memory.store.markdown import one_line
from gateway_memory.transfer.items import EpisodeItem, Ignored, Item, Problem

ConversationKind = Literal["direct", "group", "machine"]

_LONGEST_NAME: Final = 200
_TEXT_TYPES: Final = ("text", "input_text", "output_text")
"""The types of the parts of a message that are text."""
_MILLISECONDS: Final = 1e11
"""Epoch seconds stay below this for three thousand years; milliseconds are above it since 1973."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """A message of one side. at: epoch seconds; 0 if the source gives no time."""

    role: Literal["user", "assistant"]
    text: str
    at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation in the order in which it was held.

    source: the program. id: the program's own id of it. kind: machine if no person takes part, as in a scheduled run.
    at: the time of messages that have none, in epoch seconds.
    """

    source: str
    id: str
    place: str
    messages: Iterable[ChatMessage] = field(default=())
    kind: ConversationKind = "direct"
    at: float = 0.0


Reader: TypeAlias = Callable[[Path, tzinfo | None], Iterator[Conversation | Item]]
"""Reads what lies at a path; the zone is that of times without one."""


def episodes_of(conversation: Conversation, *, groups: bool) -> Iterator[Item]:
    """Yield the turns of a conversation: each message of the user with the replies to it, cleaned as a turn is.

    The time, the conversation and the words identify a turn, so that a newer copy of it adds only what is new.

    groups: whether the scope of a group is known. Otherwise groups are left out, and counted.
    """
    if conversation.kind == "machine" or (conversation.kind == "group" and not groups):
        yield Ignored(place=conversation.place, kind=conversation.kind)
        return
    user: ChatMessage | None = None
    replies: list[ChatMessage] = []
    before, asked = 0.0, tuple[str, ...]()
    for message in conversation.messages:
        if message.role == "assistant":
            replies.append(message)
            continue
        yield from _turn(conversation, user, replies, before, asked)
        asked = asked_secrets(replies[-1].text) if replies else ()
        before = next((each.at for each in (*reversed(replies), *filter(None, [user])) if each.at), before)
        user, replies = message, []
    yield from _turn(conversation, user, replies, before, asked)


def _turn(
    conversation: Conversation,
    user: ChatMessage | None,
    replies: list[ChatMessage],
    before: float,
    asked: Sequence[str],
) -> Iterator[Item]:
    """Yield the turn of a message and its replies.

    before: when what stands before it was said, or 0. asked: the secrets for which the last reply has asked.
    """
    reply = "\n\n".join(text for each in replies if (text := answered(each.text)).strip())
    said = spoken(well_formed(user.text), replies[-1].text if replies else "") if user else ""
    if user and user.text.strip() and not said:  # the host has woken its model
        return
    message, reply = _clean(said, asked), _clean(reply)
    if not (message.strip() or reply.strip()):
        return
    at = next((each.at for each in ([user] if user else []) + replies if each.at), before or conversation.at)
    if not at:  # without it, a turn would be another one each time
        yield Problem(place=conversation.place, reason="a message has no time, and neither has the conversation")
        return
    name = one_line(clean(conversation.id).text)[:_LONGEST_NAME]
    episode = Episode(
        turn=0,
        scope="",
        session_key=f"{conversation.source}:{name}",
        session_id=name,
        user=message,
        reply=reply,
        at=at,
        unread="rules",
    )
    yield EpisodeItem(place=conversation.place, episode=episode)


def _clean(text: str, asked: Sequence[str] = ()) -> str:
    return clean(well_formed(text), asked=asked).text.strip()


def text_of_parts(content: Any) -> str:
    """Return the text of a message: a string, or the text parts of a list. The output of tools is left out."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [
        part.get("text") if isinstance(part, dict) and part.get("type", "text") in _TEXT_TYPES else part
        for part in parts
    ]
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def message_of(message: Any, at: Any, zone: tzinfo | None) -> ChatMessage | None:
    """Return a message of the user or the assistant; None for one of a tool or without text. at: its time."""
    if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
        return None
    text = text_of_parts(message.get("content"))
    return ChatMessage(role=message["role"], text=text, at=time_of(at, zone)) if text.strip() else None


def time_of(value: Any, zone: tzinfo | None) -> float:
    """Return epoch seconds of a time, which is a number or ISO 8601 (by default in `zone`); 0 if it is neither."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0:
        return float(value / 1000 if value > _MILLISECONDS else value)
    if not isinstance(value, str) or not value:
        return 0.0
    try:
        at = datetime.fromisoformat(value)
        return (at if at.tzinfo or zone is None else at.replace(tzinfo=zone)).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def path_to(last: str | None, parents: dict[str, str | None]) -> list[str]:
    """Return the ids from the root of a tree to an entry. Other branches are answers and edits that were discarded."""
    path: dict[str, None] = {}
    while last is not None and last in parents and last not in path:
        path[last] = None
        last = parents[last]
    return [*reversed(path)]
