"""Which program's format a path has: by what lies in a folder, the tables of a database, or the keys of a file."""

from itertools import islice
from pathlib import Path
from typing import Final

from gateway_memory.transfer import facts, reading
from gateway_memory.transfer.agent_histories import ASTRBOT, has_table
from gateway_memory.transfer.chat_exports import EXPORTS, conversation_files
from gateway_memory.transfer.transcripts import CLAUDE_CODE, CODEX, CURSOR, files_of

_LOOKED_AT: Final = 20
"""Lines of a transcript by which its program is recognised."""
_FOLDERS: Final = {
    "openclaw": ("agents/*/agent/openclaw-agent.sqlite", "agents/*/sessions/*.jsonl"),
    "hermes": ("state.db",),
    "astrbot": ASTRBOT,
}
"""Files that only one program has."""
_TABLES: Final = {"transcript_events": "openclaw", "messages": "hermes", "platform_message_history": "astrbot"}
_EXPORTS: Final = ("conversations*.json", facts.CLAUDE_MEMORIES)
_TOPICS: Final = ("projects/*/memory/*.md", "*/memory/*.md", "*.md")
_ENTRIES: Final = ("MEMORY.md", "USER.md", "memories/MEMORY.md", "memories/USER.md")
_TRANSCRIPTS: Final = (*CODEX, "sessions/*.jsonl", "workspace/sessions/*.jsonl", *CLAUDE_CODE, *CURSOR)
_KEYS: Final = {
    **{key: name for name, (key, _) in EXPORTS.items()},
    "conversations_memory": "claude",
    "project_memories": "claude",
}
"""What an object of an export has."""


def detect(path: Path) -> str:
    """Return the name of the format that a path has, or ""."""
    if path.is_dir():
        return _of_folder(path)
    if not path.is_file():
        return ""
    if name := next((name for table, name in _TABLES.items() if has_table(path, table)), ""):
        return name
    return {".jsonl": _of_lines, ".md": _of_markdown}.get(path.suffix, _of_export)(path)


def _of_folder(path: Path) -> str:
    for name, patterns in _FOLDERS.items():
        if files_of(path, *patterns):
            return name
    if files_of(path, *_EXPORTS):
        return _of_export(path)
    topics = _TOPICS if (path / "MEMORY.md").is_file() else ("memory/*.md", *_TOPICS)
    marked = (*files_of(path, *topics), *files_of(path, *_ENTRIES))
    if name := next(filter(None, map(_of_markdown, marked)), ""):
        return name
    transcripts = (file for pattern in _TRANSCRIPTS for file in sorted(path.glob(pattern)))
    if file := next(transcripts, None):
        return _of_lines(file)
    return "nanobot" if not (path / "MEMORY.md").is_file() and files_of(path, *facts.NANOBOT) else ""


def _of_markdown(path: Path) -> str:
    if facts.has_entries(reading.text_of_file(path)):
        return "hermes"
    return "claude-code" if facts.is_topic(path) else ""


def _of_lines(path: Path) -> str:
    entries = [entry for entry in islice(reading.objects_of_lines(path), _LOOKED_AT) if isinstance(entry, dict)]
    first = entries[0] if entries else {}
    forms = (
        ("nanobot", first.get("_type") == "metadata"),
        ("openclaw", first.get("type") == "session"),
        ("codex", first.get("type") == "session_meta" or {"instructions", "id"} <= first.keys()),
        ("claude-code", any("sessionId" in entry and "type" in entry for entry in entries)),
        ("cursor", any("role" in entry and isinstance(entry.get("message"), dict) for entry in entries)),
        ("hermes", any({"role", "content"} <= entry.keys() for entry in entries)),
    )
    return next((name for name, has_form in forms if has_form), "")


def _of_export(path: Path) -> str:
    for name, opened in conversation_files(path):
        with opened() as stream:
            first = next(iter(reading.objects_of_array(stream, name)), None)
        keys = first[1] if isinstance(first, tuple) else {}
        if layout := next((layout for key, layout in _KEYS.items() if key in keys), ""):
            return layout
    if path.is_dir():
        return "claude" if (path / facts.CLAUDE_MEMORIES).is_file() else ""
    return "mem0" if path.suffix == ".json" and facts.has_memories(path) else ""
