"""The transcripts of coding agents, of which each session is a file: Claude Code, Cursor and Codex."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import tzinfo
from pathlib import Path
from typing import Any, Final

from gateway_memory.edge.transcript import EditorExchange, TranscriptReader
from gateway_memory.transfer import conversations, facts, items, reading

_Read = Iterator[conversations.Conversation | items.Item]

CLAUDE_CODE: Final = ("projects/*/*.jsonl", "*.jsonl", "*/*.jsonl")
"""Where the sessions of a folder are: of all projects, of one, of several."""
CURSOR: Final = (
    "projects/*/agent-transcripts/**/*.jsonl",
    "agent-transcripts/**/*.jsonl",
    "*/agent-transcripts/**/*.jsonl",
    "*.jsonl",
    "*/*.jsonl",
)
CODEX: Final = ("sessions/**/rollout-*.jsonl", "archived_sessions/**/rollout-*.jsonl", "**/rollout-*.jsonl")
_MACHINES: Final = ("subagent", "exec_review")
"""Sources of a rollout of Codex in which nobody takes part."""


def files_of(path: Path, *patterns: str) -> list[Path]:
    """Return the files of a folder, or the one that is named."""
    if path.is_file():
        return [path]
    return [*dict.fromkeys(file for pattern in patterns for file in sorted(path.glob(pattern)) if file.is_file())]


def claude_code(path: Path, zone: tzinfo | None) -> _Read:
    """Yield the sessions and the memory of a project's folder, of all projects (~/.claude), or of one file."""
    if path.is_dir() or path.suffix == ".md":
        yield from facts.topics(path, zone)
    yield from _read_sessions("claude-code", files_of(path, *CLAUDE_CODE) if path.suffix != ".md" else [])


def cursor(path: Path, _: tzinfo | None) -> _Read:
    """Yield the sessions of Cursor: of its home (~/.cursor), of a project's folder, or of one file."""
    return _read_sessions("cursor", files_of(path, *CURSOR))


def _read_sessions(source: str, files: list[Path]) -> _Read:
    """Yield the sessions of transcripts, each exchange once: a branch begins with a copy of what it comes from."""
    known: set[str] = set()
    for file in files:
        reader = TranscriptReader(file.stem, parts=False)
        for entry in reading.objects_of_lines(file):
            if isinstance(entry, items.Problem):
                yield entry
            else:
                reader.take(entry)
        by_session: dict[str, list[EditorExchange]] = {}
        for each in reader.exchanges:
            if each.id not in known:
                by_session.setdefault(each.session, []).append(each)
        known.update(each.id for each in reader.exchanges)
        for session, exchanges in by_session.items() or ([("", [])] if reader.exchanges else []):
            yield conversations.Conversation(
                source=source,
                id=session,
                place=str(file),
                messages=[message for each in exchanges for message in _messages(each)],
                at=file.stat().st_mtime,
            )


def _messages(exchange: EditorExchange) -> Iterator[conversations.ChatMessage]:
    at = exchange.at or 0.0
    yield conversations.ChatMessage(role="user", text=exchange.user, at=at)
    if exchange.reply:
        yield conversations.ChatMessage(role="assistant", text=exchange.reply, at=at)


def codex(path: Path, zone: tzinfo | None) -> _Read:
    """Yield the sessions of Codex: of its home (~/.codex), of a folder of rollouts, or of one file.

    A rollout that goes on from another one begins with a copy of it, which is left out where the other one is read.
    """
    said: dict[str, list[conversations.ChatMessage]] = {}
    for file in files_of(path, *CODEX):
        head: dict[str, Any] = {}
        messages: list[conversations.ChatMessage] = []
        for entry in reading.objects_of_lines(file):
            if isinstance(entry, items.Problem):
                yield entry
                continue
            payload = entry.get("payload")
            body = payload if isinstance(payload, dict) else entry
            if not head and (entry.get("type") == "session_meta" or "id" in entry):  # older ones have it bare
                head = body
            elif message := _message(entry, body, zone):
                messages.append(message)
        session = str(head.get("id") or file.stem)
        said[session] = messages
        before = said.get(str(head.get("forked_from_id") or ""), [])
        source = head.get("source")
        yield conversations.Conversation(
            source="codex",
            id=session,
            place=str(file),
            messages=_without_copies(messages, before),
            kind="machine" if source in _MACHINES or (isinstance(source, dict) and "subagent" in source) else "direct",
            at=conversations.time_of(head.get("timestamp"), zone) or file.stat().st_mtime,
        )


def _message(
    entry: Mapping[str, Any], body: Mapping[str, Any], zone: tzinfo | None
) -> conversations.ChatMessage | None:
    if entry.get("type") not in ("response_item", "message") or body.get("type") != "message":
        return None
    return conversations.message_of(body, entry.get("timestamp"), zone)


def _without_copies(
    messages: list[conversations.ChatMessage], before: list[conversations.ChatMessage]
) -> list[conversations.ChatMessage]:
    copied = Counter((each.role, each.text) for each in before)
    start = 0
    while start < len(messages) and copied[key := (messages[start].role, messages[start].text)] > 0:
        copied[key] -= 1
        start += 1
    return messages[start:]
