"""The transcripts of Claude Code and Cursor, read into exchanges: by the editors' hooks and by an import.

Claude Code's lines have a `uuid` and a `timestamp`, and each content part of a reply is a line of its own. Cursor's
have neither: a user's text begins with its time, to the minute, and `turn_ended` follows a whole reply.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Final

from extractor import clean, spoken
from gateway_memory.edge.content import well_formed
from gateway_memory.ground.texts import object_of

Part = tuple[str, dict[str, Any]]
"""The role, "user" or "assistant", and the content part."""

LONGEST_READ: Final = 64_000_000
"""The maximum number of bytes that one hook reads: the newest ones of a longer file."""
_SHORT: Final = 2
"""So many parts tell whether anything follows the user's message."""
_LONGEST_ID: Final = 200
_COMPARED: Final = 1_000
"""The number of first characters by which messages without an id are told apart."""
_NOTE_MARKS: Final = ("isMeta", "isSidechain", "isCompactSummary", "isApiErrorMessage")
"""Claude Code's marks of entries that nobody said in this session: notes, subagents, compactions, errors."""
_LAST: Final = ("end_turn", "stop_sequence", "max_tokens", "refusal")
"""The reasons for which a reply is whole."""
_INTERRUPTED: Final = "[Request interrupted by user"
_OURS: Final = ("[Session Save]", "[Memory Flush]")
"""The first words of our own prompts, which Cursor submits in the user's name."""
_REDACTED: Final = re.compile(r"\s*\[REDACTED\]\s*\Z")
"""What Cursor leaves of a reply's reasoning."""
_TIME: Final = re.compile(
    r"<timestamp>\w+, (\w{3})\w* (\d{1,2}), (\d{4}), (\d{1,2}):(\d\d) ([AP])M"
    r"(?: \(UTC(?:([+-])(\d{1,2})(?::(\d\d))?)?\))?</timestamp>"
)
_MONTHS: Final = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


@dataclass(slots=True, kw_only=True)
class EditorExchange:
    """A user's message and the final reply to it, without tool calls.

    id: that of the user's message. session: the one in which it was said first. at: epoch seconds, None if unknown.
    before: the reply that it follows. ended: whether nothing more follows. finished: whether the reply says that it is
    whole.
    parts: all content parts in order, tool calls and their results too.
    """

    id: str
    session: str
    at: float | None
    user: str
    before: str = ""
    reply: str = ""
    ended: bool = False
    finished: bool = False
    parts: list[Part] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether the reply is whole."""
        return self.ended or (self.finished and bool(self.reply))

    def add(self, role: str, part: dict[str, Any], *, keep: bool = True) -> None:
        """Take the next content part, from the user's message on. keep: whether it stays among the parts."""
        if keep:
            self.parts.append((role, part))
        kind, text = part.get("type", "text"), part.get("text")
        if kind in ("tool_use", "tool_result"):  # what was said before was not final
            self.reply, self.finished = "", False
        elif role == "assistant" and kind == "text" and isinstance(text, str):
            self.reply = f"{self.reply}\n\n{well_formed(_REDACTED.sub('', text))}".strip()


def read_exchanges(path: Path, session_id: str) -> list[EditorExchange]:
    """Return the exchanges of a transcript, oldest first. Only the last one may not be complete.

    Raises:
        OSError: the transcript can't be read.
    """
    with path.open("rb") as stream:
        start = max(0, stream.seek(0, 2) - LONGEST_READ)
        stream.seek(start)
        if start:
            stream.readline()  # the rest of a line whose start was skipped
        return exchanges_of(stream, session_id)


def exchanges_of(lines: Iterable[bytes], session_id: str) -> list[EditorExchange]:
    """Return the exchanges of a transcript's lines, oldest first.

    A message has the same id wherever it stands: in its transcript, when that is rewritten, and in a copy.
    """
    reader = TranscriptReader(session_id)
    for line in lines:
        if entry := object_of(line):
            reader.take(entry)
    return reader.exchanges


class TranscriptReader:
    """Makes exchanges of the entries of a transcript.

    session_id: of entries that name none. parts: whether exchanges keep their content parts.
    """

    def __init__(self, session_id: str, *, parts: bool = True) -> None:
        self.exchanges: list[EditorExchange] = []
        self._keeps_parts = parts
        self._current: EditorExchange | None = None
        self._session_id = session_id
        self._equal: Counter[tuple[str, str]] = Counter()
        """How many messages without an id have this time, or this session, and these words."""

    def take(self, entry: dict[str, Any]) -> None:
        """Take the next entry. What nobody said in this session is left out."""
        if not _is_said(entry):
            return
        parts = _parts(entry)
        message = "\n".join(part["text"] for role, part in parts if role == "user" and "text" in part).strip()
        if _ends(entry) or message.startswith(_INTERRUPTED):
            self._end()
        elif message.startswith(_OURS):
            self._end()
            self._current = None  # what follows belongs to no exchange
        elif message:
            if self._is_repeated(entry, message):
                return
            self._end()
            before = self._current.reply if self._current else ""
            session = _session(entry) or self._session_id
            self._current = EditorExchange(
                id=self._id(entry, message), session=session, at=_time(entry), user=message, before=before
            )
            self.exchanges.append(self._current)
        if self._current and not self._current.ended:
            for role, part in parts:
                self._current.add(role, part, keep=self._keeps_parts or len(self._current.parts) < _SHORT)
            self._current.finished = self._current.finished or _is_last(entry)

    def _end(self) -> None:
        if self._current:
            self._current.ended = True

    def _is_repeated(self, entry: dict[str, Any], message: str) -> bool:
        """Return whether an entry is Cursor's second line of the message that waits for its reply."""
        current = self._current
        if current is None or current.ended or current.parts[1:] or _known_id(entry):
            return False
        return current.user == message

    def _id(self, entry: dict[str, Any], message: str) -> str:
        """Return the id of a user's message: its own, else a digest of its time and its cleaned words.

        Without a time, it is an id of this session alone. Equal messages of one minute are counted.
        """
        known = _known_id(entry)
        if known:
            return known
        stamp = _TIME.search(_head(entry))
        key = (stamp[0] if stamp else self._session_id, clean(message[:_COMPARED]).text)
        self._equal[key] += 1
        return hashlib.blake2b("\0".join((*key, str(self._equal[key]))).encode(), digest_size=16).hexdigest()


def _is_said(entry: dict[str, Any]) -> bool:
    """Return False for what Claude Code marks as a note, or as coming from another session or a background task."""
    if any(entry.get(mark) for mark in _NOTE_MARKS):
        return False
    queued = entry.get("attachment")
    origin = entry.get("origin") or (queued.get("origin") if isinstance(queued, dict) else None)
    return not isinstance(origin, dict) or origin.get("kind") in (None, "human")


def _parts(entry: dict[str, Any]) -> list[Part]:
    """Return the content parts of an entry; of a user's text, the user's own words."""
    queued = entry.get("attachment")
    if isinstance(queued, dict) and queued.get("type") == "queued_command":  # typed while the agent was at work
        if queued.get("commandMode", "prompt") != "prompt":
            return []
        role, content = "user", queued.get("prompt")
    else:
        message = entry.get("message", entry)
        if isinstance(message, str):
            message = {"content": message}
        if not isinstance(message, dict) or message.get("model") == "<synthetic>":
            return []
        role = str(message.get("role") or entry.get("role") or entry.get("type"))
        content = message.get("content", message.get("text", ""))
    if role not in ("user", "assistant"):
        return []
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    return [(role, _own_words(part) if role == "user" else part) for part in parts if isinstance(part, dict)]


def _own_words(part: dict[str, Any]) -> dict[str, Any]:
    text = part.get("text")
    if part.get("type", "text") != "text" or not isinstance(text, str):
        return {name: value for name, value in part.items() if name != "text"}
    ends = text.lstrip().startswith((_INTERRUPTED, *_OURS))  # which says where an exchange ends
    return {"type": "text", "text": well_formed(text if ends else spoken(text))}


def _ends(entry: dict[str, Any]) -> bool:
    """Return whether an entry says that the agent has stopped."""
    if entry.get("type") == "system":
        return entry.get("subtype") in ("turn_duration", "stop_hook_summary")
    return entry.get("type") == "turn_ended"


def _is_last(entry: dict[str, Any]) -> bool:
    message = entry.get("message")
    return isinstance(message, dict) and message.get("stop_reason") in _LAST


def _session(entry: dict[str, Any]) -> str:
    """Return the session of Claude Code's entry, that of the original for an entry of a fork; "" if it names none."""
    fork = entry.get("forkedFrom")
    known = fork.get("sessionId") if isinstance(fork, dict) else None
    known = known or entry.get("sessionId")
    return known if isinstance(known, str) else ""


def _known_id(entry: dict[str, Any]) -> str:
    """Return the id of Claude Code's entry, that of the original for an entry of a fork; "" if it has none."""
    fork = entry.get("forkedFrom")
    known = fork.get("messageUuid") if isinstance(fork, dict) else None
    known = known or entry.get("uuid")
    return known if isinstance(known, str) and known.isprintable() and len(known) <= _LONGEST_ID else ""


def _time(entry: dict[str, Any]) -> float | None:
    """Return the time of an entry in epoch seconds, or None."""
    stated = entry.get("timestamp")
    stamp = _TIME.search(_head(entry))
    try:
        if isinstance(stated, str):
            at = datetime.fromisoformat(stated)
            return None if at.tzinfo is None else at.timestamp()
        if stamp is None or stamp[1] not in _MONTHS:
            return None
        month, day, year, hour, minute, half, sign, hours, minutes = stamp.groups()
        east = timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
        day = datetime(int(year), _MONTHS.index(month) + 1, int(day), tzinfo=timezone(east) if east else UTC)
        return (day + timedelta(hours=int(hour) % 12 + 12 * (half == "P"), minutes=int(minute))).timestamp()
    except (ValueError, OverflowError):
        return None


def _head(entry: dict[str, Any]) -> str:
    """Return what Cursor puts before a user's words."""
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    texts = [part.get("text") for part in content if isinstance(part, dict)] if isinstance(content, list) else [content]
    return next((text.partition("<user_query>")[0] for text in texts if isinstance(text, str)), "")
