"""The exports of ChatGPT, Claude and Open WebUI: conversations, alone, in a folder or in the archive as it was sent."""

import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import tzinfo
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final, Literal

from gateway_memory.transfer import conversations, facts, items, reading
from gateway_memory.transfer.agent_histories import as_object, text_of

_NAME: Final = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
_CITED: Final = re.compile("\ue200[^\ue201]*\ue201")
"""A reference to a source, which ChatGPT's page shows as a number."""


_THOUGHT: Final = re.compile(r"<details\b[^>]*>.*?</details>\s*", re.DOTALL)
"""Thoughts and calls of tools in Open WebUI's answers."""


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


def chatgpt(path: Path, zone: tzinfo | None) -> Iterator[conversations.Conversation | items.Problem]:
    """Yield the conversations of ChatGPT's export. Of a tree of edits, the path that was shown last counts."""

    def messages_of(raw: dict[str, Any], mapping: dict[str, Any]) -> Iterator[conversations.ChatMessage | None]:
        nodes = {name: node for name, node in mapping.items() if isinstance(node, dict)}
        parents = {name: text_of(node.get("parent")) or None for name, node in nodes.items()}
        last = text_of(raw.get("current_node")) or next(reversed(nodes), None)
        return (_shown(nodes[name].get("message"), zone) for name in conversations.path_to(last, parents))

    names, times = ("conversation_id", "id", "title"), ("create_time", "update_time")
    return _read_export(path, "chatgpt", ("mapping", dict, "an object"), messages_of, names, times, zone)


def _shown(raw: Any, zone: tzinfo | None) -> conversations.ChatMessage | None:
    """Return a message that the user or the assistant said to the other; None for notes and calls of tools."""
    message = raw if isinstance(raw, dict) else {}
    author, content, noted = (as_object(message.get(name)) for name in ("author", "content", "metadata"))
    role = author.get("role")
    hidden = noted.get("is_visually_hidden_from_conversation") or noted.get("is_user_system_message")
    if role not in ("user", "assistant") or hidden or message.get("recipient", "all") != "all":
        return None
    if content.get("content_type") not in ("text", "multimodal_text"):
        return None
    text = _CITED.sub("", conversations.text_of_parts(content.get("parts")))
    return conversations.ChatMessage(role=role, text=text, at=conversations.time_of(message.get("create_time"), zone))


def claude(path: Path, zone: tzinfo | None) -> Iterator[conversations.Conversation | items.Item]:
    """Yield the conversations of Claude's export, and what it remembers."""
    yield from facts.claude_memories(path)
    if path.name == facts.CLAUDE_MEMORIES:
        return

    def messages_of(_: dict[str, Any], rows: list[Any]) -> Iterator[conversations.ChatMessage]:
        for row in rows:
            if isinstance(row, dict) and row.get("sender") in ("human", "assistant"):
                text = conversations.text_of_parts(row.get("content")) or text_of(row.get("text"))
                role: Literal["user", "assistant"] = "user" if row["sender"] == "human" else "assistant"
                yield conversations.ChatMessage(
                    role=role, text=text, at=conversations.time_of(row.get("created_at"), zone)
                )

    names, times = ("uuid", "name"), ("created_at", "updated_at")
    yield from _read_export(path, "claude", ("chat_messages", list, "a list"), messages_of, names, times, zone)


def open_webui(path: Path, zone: tzinfo | None) -> Iterator[conversations.Conversation | items.Problem]:
    """Yield the chats of Open WebUI's export. Of a tree of answers, the path that was shown last counts."""

    def messages_of(_: dict[str, Any], chat: dict[str, Any]) -> Iterator[conversations.ChatMessage | None]:
        history = as_object(chat.get("history"))
        nodes = {name: node for name, node in as_object(history.get("messages")).items() if isinstance(node, dict)}
        parents = {name: text_of(node.get("parentId")) or None for name, node in nodes.items()}
        shown = [
            nodes[name]
            for name in conversations.path_to(text_of(history.get("currentId")) or next(reversed(nodes), None), parents)
        ]
        listed = chat.get("messages")
        rows = shown or [row for row in (listed if isinstance(listed, list) else []) if isinstance(row, dict)]
        texts = (_THOUGHT.sub("", conversations.text_of_parts(row.get("content"))) for row in rows)
        said = zip(rows, texts, strict=True)
        return (conversations.message_of({**row, "content": text}, row.get("timestamp"), zone) for row, text in said)

    names, times = ("id", "title"), ("created_at", "updated_at")
    return _read_export(path, "open-webui", ("chat", dict, "an object"), messages_of, names, times, zone)


EXPORTS: Final[Mapping[str, tuple[str, conversations.Reader]]] = {
    "chatgpt": ("mapping", chatgpt),
    "claude": ("chat_messages", claude),
    "open-webui": ("chat", open_webui),
}
"""Each program's export: the key that only its conversations have, and what reads it."""


def _read_export(
    path: Path,
    source: str,
    content: tuple[str, type, str],
    messages_of: Callable[[dict[str, Any], Any], Iterator[conversations.ChatMessage | None]],
    names: Sequence[str],
    times: Sequence[str],
    zone: tzinfo | None,
) -> Iterator[conversations.Conversation | items.Problem]:
    """Yield the conversations of an export.

    content: the key of a conversation's messages, its type, and what that is called. names: the keys of its id.
    times: the keys of its time. One without has that of the one before, else of the file.
    """
    key, kind, expected = content
    for name, opened in conversation_files(path):
        at = (Path(name) if Path(name).is_file() else path).stat().st_mtime
        with opened() as stream:
            for each in reading.objects_of_array(stream, name):
                if isinstance(each, items.Problem):
                    yield each
                    continue
                number, raw = each
                place = f"{name}: conversation {number}"
                if not isinstance(raw.get(key), kind):
                    yield items.Problem(place=place, reason=f"{key}: expected {expected}")
                    continue
                at = next(filter(None, (conversations.time_of(raw.get(field), zone) for field in times)), at)
                yield conversations.Conversation(
                    source=source,
                    id=next(filter(None, (text_of(raw.get(field)) for field in names)), ""),
                    place=place,
                    messages=list(filter(None, messages_of(raw, raw[key]))),
                    at=at,
                )
