"""The transcripts of agents that keep one file a session: Claude Code and nanobot."""

import re
from collections.abc import Iterator, Mapping
from datetime import tzinfo
from pathlib import Path
from typing import Any, Final

from gateway_memory.transfer.conversation import Conversation, Kind, Message, text_of_parts, time_of
from gateway_memory.transfer.items import Problem
from gateway_memory.transfer.lines import first_object, objects_of_lines

__all__ = ["claude_code", "is_claude_code", "is_nanobot", "nanobot", "spoken"]

_NOT_SAID: Final = ("isMeta", "isSidechain", "isCompactSummary", "isApiErrorMessage")
"""Claude Code's marks of entries that nobody said: its notes, its subagents, its compactions, its errors."""
_INTERRUPTED: Final = re.compile(r"\[Request interrupted by user[^\]]*\]")
_RUNTIME: Final = re.compile(
    r"\n*\[Runtime Context — metadata only, not instructions\].*?(?:\[/Runtime Context\]|\Z)", re.DOTALL
)
"""What nanobot adds to a user's words."""
_MACHINES: Final = ("cron", "heartbeat", "system", "subagent")


def claude_code(path: Path, zone: tzinfo | None) -> Iterator[Conversation | Problem]:
    """Yield the sessions of a project's folder, of all projects (~/.claude or its projects/), or of one file."""
    for file in _files(path, "*.jsonl", "*/*.jsonl", "projects/*/*.jsonl"):
        problems: list[Problem] = []
        by_session: dict[str, list[Message]] = {}
        for entry in objects_of_lines(file):
            if isinstance(entry, Problem):
                problems.append(entry)
            elif message := _entry(entry, zone):
                by_session.setdefault(_text(entry.get("sessionId")) or file.stem, []).append(message)
        yield from problems
        for session, messages in by_session.items():
            yield Conversation(
                source="claude-code", id=session, place=str(file), messages=messages, at=file.stat().st_mtime
            )


def is_claude_code(path: Path) -> bool:
    """Return whether a file is a transcript of Claude Code."""
    return any(
        isinstance(entry, dict) and "sessionId" in entry and "type" in entry
        for entry, _ in zip(objects_of_lines(path), range(20), strict=False)
    )


def _entry(entry: Mapping[str, Any], zone: tzinfo | None) -> Message | None:
    message = entry.get("message")
    if entry.get("type") not in ("user", "assistant") or any(entry.get(mark) for mark in _NOT_SAID):
        return None
    found = spoken(message, entry.get("timestamp"), zone)
    return found and Message(role=found.role, text=_INTERRUPTED.sub("", found.text), at=found.at)


def spoken(message: Any, at: Any, zone: tzinfo | None) -> Message | None:
    """Return a message of the user or the assistant; None for one of a tool or without text. at: its time."""
    if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
        return None
    text = text_of_parts(message.get("content"))
    return Message(role=message["role"], text=text, at=time_of(at, zone)) if text.strip() else None


def nanobot(path: Path, zone: tzinfo | None) -> Iterator[Conversation | Problem]:
    """Yield the sessions of nanobot: a workspace or home with sessions/, that folder, or one file."""
    for file in _files(path, "sessions/*.jsonl", "workspace/sessions/*.jsonl", "*.jsonl"):
        head: dict[str, Any] = {}
        messages: list[Message] = []
        for entry in objects_of_lines(file):
            if isinstance(entry, Problem):
                yield entry
            elif entry.get("_type") == "metadata":
                head = entry
            elif "_type" not in entry and not (entry.get("_command") or entry.get("injected_event")):
                message = spoken(_public(entry), entry.get("timestamp"), zone)
                messages += [message] if message else []
        key = _text(head.get("key")) or file.stem.replace("_", ":", 1)
        yield Conversation(
            source="nanobot",
            id=key,
            place=str(file),
            messages=messages,
            kind=_kind(key),
            at=time_of(head.get("created_at"), zone) or file.stat().st_mtime,
        )


def is_nanobot(path: Path) -> bool:
    """Return whether a file is a session of nanobot."""
    return first_object(path).get("_type") == "metadata"


def _kind(key: str) -> Kind:
    """Return who takes part, as far as a key (channel:chat) tells: groups of Telegram have negative numbers."""
    channel, _, chat = key.partition(":")
    if channel in _MACHINES:
        return "machine"
    is_group = (channel == "telegram" and chat.startswith("-")) or chat.endswith(("@g.us", "@chatroom"))
    return "group" if is_group else "direct"


def _public(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message without the context that nanobot has added to it."""
    content, added = entry.get("content"), entry.get("_runtime_context")
    if isinstance(content, str):
        suffix = added.get("suffix") if isinstance(added, dict) else None
        content = content.removesuffix(suffix) if isinstance(suffix, str) else content
        content = _RUNTIME.sub("", content)
    elif isinstance(content, list) and isinstance(added, dict) and isinstance(added.get("blocks"), list):
        content = [part for part in content if part not in added["blocks"]]
    return {"role": entry.get("role"), "content": content}


def _files(path: Path, *patterns: str) -> list[Path]:
    if path.is_file():
        return [path]
    found = (file for pattern in patterns for file in sorted(path.glob(pattern)) if file.is_file())
    return [*dict.fromkeys(found)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
