"""The exports of ChatGPT and of Claude: conversations.json, alone, in a folder or in the archive that was sent."""

import re
import zipfile
from collections.abc import Callable, Iterator
from datetime import tzinfo
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final

from gateway_memory.transfer.conversation import Conversation, Message, path_to, text_of_parts, time_of
from gateway_memory.transfer.items import Problem
from gateway_memory.transfer.lines import objects_of_array

__all__ = ["chatgpt", "claude", "conversation_files"]

_NAME: Final = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
_CITED: Final = re.compile("\ue200[^\ue201]*\ue201")
"""A reference to a source, which ChatGPT's page shows as a number."""


def conversation_files(path: Path) -> Iterator[tuple[str, Callable[[], TextIOWrapper]]]:
    """Yield the files of an export: a name, and what opens it. A large export has several, with numbers."""
    if path.is_dir():
        for file in sorted(each for each in path.glob("conversations*.json") if _NAME.fullmatch(each.name)):
            yield str(file), lambda file=file: file.open(encoding="utf-8-sig", errors="replace")  # type: ignore[misc]
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for name in sorted(each for each in archive.namelist() if _NAME.fullmatch(each)):
                yield (
                    f"{path}/{name}",
                    lambda name=name: TextIOWrapper(archive.open(name), "utf-8-sig", errors="replace"),  # type: ignore[misc]
                )
    elif path.is_file():
        yield str(path), lambda: path.open(encoding="utf-8-sig", errors="replace")


def chatgpt(path: Path, zone: tzinfo | None) -> Iterator[Conversation | Problem]:
    """Yield the conversations of ChatGPT's export. Of a tree of edits, the path that was shown last counts."""
    for found in _conversations(path):
        if isinstance(found, Problem):
            yield found
            continue
        place, raw = found
        mapping = raw.get("mapping")
        if not isinstance(mapping, dict):
            yield Problem(place=place, reason="mapping: expected an object")
            continue
        nodes = {name: node for name, node in mapping.items() if isinstance(node, dict)}
        parents = {name: _text(node.get("parent")) or None for name, node in nodes.items()}
        last = _text(raw.get("current_node")) or next(reversed(nodes), None)
        shown = [message for name in path_to(last, parents) if (message := _shown(nodes[name].get("message"), zone))]
        yield Conversation(
            source="chatgpt",
            id=_text(raw.get("conversation_id")) or _text(raw.get("id")) or _text(raw.get("title")),
            place=place,
            messages=shown,
            at=time_of(raw.get("create_time"), zone),
        )


def _shown(raw: Any, zone: tzinfo | None) -> Message | None:
    """Return a message that the user or the assistant said to the other; None for notes and calls of tools."""
    message = raw if isinstance(raw, dict) else {}
    author, content, noted = (_object(message.get(name)) for name in ("author", "content", "metadata"))
    role = author.get("role")
    hidden = noted.get("is_visually_hidden_from_conversation") or noted.get("is_user_system_message")
    if role not in ("user", "assistant") or hidden or message.get("recipient", "all") != "all":
        return None
    if content.get("content_type") not in ("text", "multimodal_text"):
        return None
    text = _CITED.sub("", text_of_parts(content.get("parts")))
    return Message(role=role, text=text, at=time_of(message.get("create_time"), zone))


def claude(path: Path, zone: tzinfo | None) -> Iterator[Conversation | Problem]:
    """Yield the conversations of Claude's export."""
    for found in _conversations(path):
        if isinstance(found, Problem):
            yield found
            continue
        place, raw = found
        messages = raw.get("chat_messages")
        if not isinstance(messages, list):
            yield Problem(place=place, reason="chat_messages: expected a list")
            continue
        yield Conversation(
            source="claude",
            id=_text(raw.get("uuid")) or _text(raw.get("name")),
            place=place,
            messages=[
                Message(
                    role="user" if message.get("sender") == "human" else "assistant",
                    text=text_of_parts(message.get("content")) or _text(message.get("text")),
                    at=time_of(message.get("created_at"), zone),
                )
                for message in messages
                if isinstance(message, dict) and message.get("sender") in ("human", "assistant")
            ],
            at=time_of(raw.get("created_at"), zone),
        )


def _conversations(path: Path) -> Iterator[tuple[str, dict[str, Any]] | Problem]:
    for name, opened in conversation_files(path):
        with opened() as stream:
            for found in objects_of_array(stream, name):
                yield found if isinstance(found, Problem) else (f"{name}: conversation {found[0]}", found[1])


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
