"""The items of an import, the JSON that they are read from, and the conversations that become episodes."""

import json
import math
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Final, Literal

from extractor import answered, asked_secrets, clean, spoken
from gateway_memory.edge.content import well_formed
from gateway_memory.ground import MARK, json_of, text_in
from gateway_memory.store.journal.episodes import Episode
from gateway_memory.store.markdown import one_line
from gateway_memory.store.memory_record import MemoryRecord
from gateway_memory.store.reviewed import Review
from gateway_memory.store.summaries import SessionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sourced:
    """What an item has in common: where it stands in the source, and its scope; "" for the scope of the import.

    unknown: what its row holds that is not known here, in words.
    """

    place: str
    scope: str = ""
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryItem(_Sourced):
    """A memory to import. curated: it was in MEMORY.md.

    record: its id is "" if the source gives no id of our form. Its time is 0 if it is unknown.
    dated: the source itself says when it was stated; otherwise the record has the time of its file.
    foreign: another program has found it, so a person should look at it.
    superseded: it no longer holds at the source, and belongs into the history. by: the text that took its place, or "".
    """

    record: MemoryRecord
    dated: bool = True
    curated: bool = False
    foreign: bool = False
    superseded: bool = False
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewItem(_Sourced):
    """A candidate that waits for a person, or that was refused for good. Its scope is that of the item."""

    review: Review


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryItem(_Sourced):
    """The record of a session."""

    record: SessionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteItem(_Sourced):
    """Prose: a file below memory/ that is searched and never written to."""

    file: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeItem(_Sourced):
    """What was said in one turn. The episode's turn is 0, and its scope is that of the item."""

    episode: Episode


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A line that can't be imported. place: "file:line". ends: whether nothing behind it could be read."""

    place: str
    reason: str
    ends: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    """A line that is neither a memory nor a summary, such as an event, or that was deleted at the source.

    kind: event, deleted; group: a conversation of a group whose scope is unknown; machine: one without a person;
    index: a file that only says what others are.
    """

    place: str
    kind: str = "event"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A file of which nothing was read. copy: a sync has made it of another file, which was."""

    place: str
    copy: bool = False


Item = MemoryItem | ReviewItem | SummaryItem | NoteItem | EpisodeItem | Problem | Ignored | LeftOut


# Read JSON lines and large arrays of JSON without holding the file in memory.

LONGEST_LINE: Final = 1 << 20
_LONGEST_HISTORY_LINE: Final = 1 << 26
"""An agent's transcript has outputs of tools and images in its lines."""
_PIECE: Final = 1 << 20
_LONGEST_OBJECT: Final = 1 << 28


def text_of_file(path: Path) -> str:
    """Return the text of a file in one of the encodings that are read; of another, what is UTF-8 in it.

    Raises:
        OSError: it can't be read.
    """
    content = path.read_bytes()
    text = text_in(content)
    return (content.decode("utf-8", "replace") if text is None else text).replace("\r\n", "\n").lstrip(MARK)


def numbered_lines(path: Path, longest: int = LONGEST_LINE) -> Iterator[tuple[int, bytes | None]]:
    """Yield a file's lines with their numbers from 1; None instead of a line that is too long."""
    with _as_utf8(path) as stream:
        number = 0
        while line := stream.readline(longest + 1):
            number += 1
            if len(line) > longest:
                while line and not line.endswith(b"\n"):
                    line = stream.readline(longest)
                yield number, None
            elif line.strip():
                yield number, line


def _as_utf8(path: Path) -> IO[bytes]:
    """Open a file, one in UTF-16 as if it were UTF-8: PowerShell writes such files."""
    stream = path.open("rb")
    if stream.read(2) in (BOM_UTF16_LE, BOM_UTF16_BE):
        stream.close()
        return BytesIO(text_of_file(path).encode("utf-8", "replace"))
    stream.seek(0)
    return stream


def objects_of_lines(path: Path) -> Iterator[dict[str, Any] | Problem]:
    """Yield the objects of a transcript's lines, and a problem for each line that is none."""
    for number, line in numbered_lines(path, _LONGEST_HISTORY_LINE):
        place = f"{path}:{number}"
        try:
            entry = None if line is None else json_of(line)
        except (ValueError, RecursionError):
            yield Problem(place=place, reason="no JSON")
            continue
        if isinstance(entry, dict):
            yield entry
        else:
            yield Problem(place=place, reason="expected an object")


def objects_of_array(stream: IO[str], place: str) -> Iterator[tuple[int, dict[str, Any]] | Problem]:
    """Yield the objects of an array with their numbers from 1, one at a time."""
    decoder, waiting, number, started = json.JSONDecoder(), "", 0, False
    size = _PIECE
    while piece := stream.read(size):
        waiting += piece if started else piece.lstrip(MARK)
        if not started:
            waiting = waiting.lstrip()
            if waiting and waiting[0] != "[":
                yield Problem(place=place, reason="expected an array of conversations")
                return
            started, waiting = bool(waiting), waiting[1:]
        while waiting := waiting.lstrip(" \t\r\n,"):
            if waiting[0] == "]":
                return
            try:
                element, end = decoder.raw_decode(waiting)
            except (ValueError, RecursionError):  # the rest of it is still to be read
                break
            number += 1
            waiting = waiting[end:]
            if isinstance(element, dict):
                yield number, element
            else:
                yield Problem(place=f"{place}: conversation {number}", reason="expected an object")
        size = max(_PIECE, len(waiting))  # an object of many pieces is not decoded again for each
        if len(waiting) > _LONGEST_OBJECT:
            break
    if waiting or not started:
        yield Problem(place=f"{place}: conversation {number + 1}", reason="no JSON, or cut off")


# A conversation of another program, and the episodes that it becomes.

Kind = Literal["direct", "group", "machine"]

_LONGEST_NAME: Final = 200
_TEXT_TYPES: Final = ("text", "input_text", "output_text")
"""The types of the parts of a message that are text."""
_MILLISECONDS: Final = 1e11
"""Epoch seconds stay below this for three thousand years; milliseconds are above it since 1973."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
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
    messages: Iterable[Message] = field(default=())
    kind: Kind = "direct"
    at: float = 0.0


def episodes_of(conversation: Conversation, *, groups: bool) -> Iterator[Item]:
    """Yield the turns of a conversation: each message of the user with the replies to it, cleaned as a turn is.

    The time, the conversation and the words identify a turn, so that a newer copy of it adds only what is new.

    groups: whether the scope of a group is known. Otherwise groups are left out, and counted.
    """
    if conversation.kind == "machine" or (conversation.kind == "group" and not groups):
        yield Ignored(place=conversation.place, kind=conversation.kind)
        return
    user: Message | None = None
    replies: list[Message] = []
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
    conversation: Conversation, user: Message | None, replies: list[Message], before: float, asked: Sequence[str]
) -> Iterator[Item]:
    """Yield the turn of a message and its replies.

    before: when what stands before it was said, or 0. asked: the secrets for which the last reply has asked.
    """
    reply = "\n\n".join(text for each in replies if (text := answered(each.text)).strip())
    said = spoken(well_formed(user.text), replies[-1].text if replies else "") if user else ""
    if user and user.text.strip() and not said:  # the host has woken its model
        return
    message, reply = _cleaned(said, asked), _cleaned(reply)
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


def _cleaned(text: str, asked: Sequence[str] = ()) -> str:
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


def message_of(message: Any, at: Any, zone: tzinfo | None) -> Message | None:
    """Return a message of the user or the assistant; None for one of a tool or without text. at: its time."""
    if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
        return None
    text = text_of_parts(message.get("content"))
    return Message(role=message["role"], text=text, at=time_of(at, zone)) if text.strip() else None


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
