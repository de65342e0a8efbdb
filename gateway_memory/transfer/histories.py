"""The formats by name, and which one a path has."""

from collections.abc import Callable, Iterator, Mapping
from datetime import tzinfo
from pathlib import Path
from typing import Final

from gateway_memory.errors import UsageError
from gateway_memory.transfer.agent_databases import has_table, hermes, openclaw
from gateway_memory.transfer.agent_files import claude_code, is_claude_code, is_nanobot, nanobot
from gateway_memory.transfer.chat_exports import chatgpt, claude, conversation_files
from gateway_memory.transfer.conversation import Conversation, episodes_of
from gateway_memory.transfer.items import Item, Problem
from gateway_memory.transfer.lines import first_object, objects_of_array

__all__ = ["HISTORIES", "detected", "read_history"]

_Reader = Callable[[Path, tzinfo | None], Iterator[Conversation | Problem]]

HISTORIES: Final[Mapping[str, _Reader]] = {
    "openclaw": openclaw,
    "nanobot": nanobot,
    "hermes": hermes,
    "claude-code": claude_code,
    "chatgpt": chatgpt,
    "claude": claude,
}


def read_history(name: str, path: Path, zone: tzinfo | None, *, groups: bool) -> Iterator[Item]:
    """Yield what was said in a program's conversations, as episodes.

    zone: of times that name none; None is the host's. groups: whether conversations of groups are wanted.

    Raises:
        UsageError: the path contains no conversation of that program.
        OSError: a file can't be read.
    """
    found = False
    for each in HISTORIES[name](path, zone):
        found = True
        if isinstance(each, Problem):
            yield each
        else:
            yield from episodes_of(each, groups=groups)
    if not found:
        raise UsageError(f"{path}: there are no conversations of {name} here")


def detected(path: Path) -> str:
    """Return the name of the format that a path has, or ""."""
    if path.is_dir():
        return _of_folder(path)
    if not path.is_file():
        return ""
    if has_table(path, "transcript_events"):
        return "openclaw"
    if has_table(path, "messages"):
        return "hermes"
    if path.suffix == ".jsonl":
        return _of_lines(path)
    return _of_export(path)


def _of_folder(path: Path) -> str:
    if any(path.glob("agents/*/agent/openclaw-agent.sqlite")) or any(path.glob("agents/*/sessions/*.jsonl")):
        return "openclaw"
    if (path / "state.db").is_file():
        return "hermes"
    if any(path.glob("conversations*.json")):
        return _of_export(path)
    for pattern in ("projects/*/*.jsonl", "sessions/*.jsonl", "workspace/sessions/*.jsonl", "*.jsonl", "*/*.jsonl"):
        if file := next(iter(sorted(path.glob(pattern))), None):
            return _of_lines(file)
    return ""


def _of_lines(path: Path) -> str:
    if is_nanobot(path):
        return "nanobot"
    first = first_object(path)
    if first.get("type") == "session":
        return "openclaw"
    if is_claude_code(path):
        return "claude-code"
    return "hermes" if "role" in first else ""


def _of_export(path: Path) -> str:
    for name, opened in conversation_files(path):
        with opened() as stream:
            for found in objects_of_array(stream, name):
                keys = {} if isinstance(found, Problem) else found[1]
                return "chatgpt" if "mapping" in keys else "claude" if "chat_messages" in keys else ""
    return ""
