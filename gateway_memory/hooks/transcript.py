"""Read an editor's transcript from the last offset, and store turns, tool calls and errors as observations."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from extractor import clean
from gateway_memory.capture.observations import observed
from gateway_memory.edge.content import well_formed
from gateway_memory.store.journal.in_place import JournalInPlace
from gateway_memory.store.ports.sessions import Observation

__all__ = ["observations_of", "read_last_message", "read_transcript"]

LONGEST_READ: Final = 2_000_000
"""The maximum number of bytes that one hook reads: the newest ones of a longer rest."""
_LONGEST_TEXT: Final = 20_000
_NOT_SAID: Final = ("isMeta", "isSidechain", "isCompactSummary")
"""Claude Code's marks of entries that nobody said in this session: its notes, its subagents, its compactions."""
_QUERY: Final = re.compile(r"<user_query>\n?(.*?)(?:</user_query>|\Z)", re.DOTALL)
"""Cursor's markup of a user's words, next to the time and attachments."""
_ADDED: Final = re.compile(
    r"<(system-reminder|command-(?:name|message|args|contents)|local-command-(?:stdout|stderr|caveat))>.*?(?:</\1>|\Z)",
    re.DOTALL,
)
"""The markup that Claude Code adds to a user's words."""


def read_transcript(journal: JournalInPlace, session_id: str, path: Path, at: float) -> int:
    """Store the new part of a transcript, and return the number of observations.

    The new offset is stored in the same transaction, so that nothing is stored twice. An incomplete last line is left
    for the next hook.

    Raises:
        OSError, StoreError: the transcript can't be read, or the observations can't be stored.
    """
    return len(journal.read_on(session_id, at, lambda position: _read(path, position)))


def _read(path: Path, position: int) -> tuple[list[Observation], int]:
    """Return the observations of a transcript from a byte on, and the offset after its last whole line."""
    with path.open("rb") as stream:
        end = stream.seek(0, 2)
        if end < position:  # the file was replaced
            position = 0
        stream.seek(max(position, end - LONGEST_READ))
        content = stream.read(LONGEST_READ)
        start = stream.tell() - len(content)
    whole = content.rfind(b"\n") + 1
    lines = content[:whole].split(b"\n")
    if start > position:
        lines = lines[1:]  # the rest of a line whose start was skipped
    return observations_of(lines), start + whole


def read_last_message(journal: JournalInPlace, session_id: str, given: dict[str, Any], at: float) -> None:
    """Store the reply in Claude Code's `Stop` event if there is no transcript to read."""
    text = given.get("last_assistant_message")
    if isinstance(text, str) and text.strip():
        journal.observe(session_id, _kept("assistant", "", text), at)


def observations_of(lines: Sequence[bytes]) -> list[Observation]:
    """Return the observations of a transcript's lines, in Cursor's form or Claude Code's, of this session only.

    A tool call is stored with its result, or alone if the result is missing.
    """
    seen: list[Observation] = []
    calls: dict[str, tuple[str, dict[str, Any]]] = {}
    for role, part in (each for line in lines for each in _parts(line)):
        kind, content = part.get("type", "text"), part.get("content", "")
        if kind == "text" and isinstance(part.get("text"), str):
            seen += _kept(role, "", _said(part["text"]) if role == "user" else part["text"])
        elif kind == "tool_use":
            given = part.get("input")
            calls[str(part.get("id") or f"{len(seen)} {len(calls)}")] = (
                well_formed(str(part.get("name", ""))),
                given if isinstance(given, dict) else {"input": given},
            )
        elif kind == "tool_result":
            text = content if isinstance(content, str) else _text_of(content)
            call = calls.pop(str(part.get("tool_use_id") or next(iter(calls), "")), None)
            if call:
                seen += _called(*call, output=text)
            if part.get("is_error"):
                seen += _kept("error", "", text)
    return [*seen, *(each for call in calls.values() for each in _called(*call))]


def _parts(line: bytes) -> list[tuple[str, dict[str, Any]]]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return []
    if not isinstance(entry, dict):
        return []
    message = entry.get("message", entry)
    if isinstance(message, str):
        message = {"content": message}
    if not isinstance(message, dict):
        return []
    role = message.get("role") or entry.get("role") or entry.get("type")
    if role not in ("user", "assistant") or any(entry.get(mark) for mark in _NOT_SAID):
        return []
    content = message.get("content", message.get("text", ""))
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    return [(str(role), part) for part in parts if isinstance(part, dict)]


def _called(tool: str, given: dict[str, Any], *, output: str | None = None) -> list[Observation]:
    known = given if output is None else {**given, "output": clean(output).text[:_LONGEST_TEXT]}
    return _kept("tool", tool, json.dumps(known, ensure_ascii=False))


def _text_of(content: Any) -> str:
    parts = content if isinstance(content, list) else []
    texts = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
    return "\n".join(texts) if texts else json.dumps(content, ensure_ascii=False)


def _said(text: str) -> str:
    """Return the user's own words of a message to which the editor has added text."""
    return "\n".join(_QUERY.findall(text)) if "<user_query>" in text else _ADDED.sub("", text)


def _kept(kind: str, tool: str, text: str) -> list[Observation]:
    seen = observed(kind, text, tool)
    return [seen] if seen.content.strip() else []
