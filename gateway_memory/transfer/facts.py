"""What other assistants remember, without the conversations: in files of topics, in entries, in objects of JSON."""

import re
import zipfile
from collections.abc import Iterator
from datetime import tzinfo
from pathlib import Path
from typing import Any, Final

from extractor import clean
from gateway_memory.errors import UsageError
from gateway_memory.ground.texts import json_of, text_in
from gateway_memory.ground.times import noon_of
from gateway_memory.store.documents import MEMORY_FILE
from gateway_memory.store.markdown import MAX_TEXT_LENGTH, one_line, parse
from gateway_memory.store.memory_record import MemoryRecord
from gateway_memory.transfer import conversations, items, reading

_FRONT: Final = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD: Final = re.compile(r"^(name|description):[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_ENTRY_END: Final = re.compile(r"^[ \t]*§[ \t]*$", re.MULTILINE)
_TOPICS: Final = ("projects/*/memory/*.md", "*/memory/*.md", "memory/*.md", "*.md")
_INDEX: Final = re.compile(r"\s*[-*+][ \t]+\[[^\]\n]*\]\(([^)\s]+)\)")
CLAUDE_MEMORIES: Final = "memories.json"
_CLAUDE_MEMORIES: Final = re.compile(r"(?:^|/)(?:memories\.json|memories/[^/]+\.json)$")
_BOLD: Final = re.compile(r"^\*\*([^*\n]+)\*\*[:：]?[ \t]*$", re.MULTILINE)
_TIMES: Final = ("updated_at", "created_at", "timestamp", "date")
_TEXTS: Final = ("memory", "text", "content", "data")


def memory_of(text: str, place: str, at: float, *, scope: str = "", dated: bool = True) -> items.MemoryItem:
    """Return a memory that another assistant has. at: epoch seconds; dated: whether the source itself says it."""
    record = MemoryRecord(id="", text=one_line(clean(text).text), file=MEMORY_FILE, at=at, importance="high")
    return items.MemoryItem(place=place, scope=scope, record=record, dated=dated, curated=True)


def is_topic(path: Path) -> bool:
    """Return whether a Markdown file begins with the fields of a topic."""
    front = _FRONT.match(reading.text_of_file(path))
    return bool(front and _FIELD.search(front[1]))


def topics(path: Path, _: tzinfo | None) -> Iterator[items.Item]:
    """Yield what a project's memory says: the text of each topic, and of the index what no topic's file says."""
    for file in [path] if path.is_file() else sorted({each for pattern in _TOPICS for each in path.glob(pattern)}):
        text = reading.text_of_file(file)
        front = _FRONT.match(text)
        if front is None and not (path.is_file() or file.parent.name == "memory" or (path / MEMORY_FILE).is_file()):
            continue
        if front is None:
            yield items.Ignored(place=str(file), kind="index")
            lines = (line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#"))
            for line in lines:
                link = _INDEX.match(line)
                if not (link and (file.parent / link[1]).is_file()):
                    yield memory_of(line.lstrip("-*+ "), str(file), file.stat().st_mtime, dated=False)
            continue
        fields = dict(_FIELD.findall(front[1]))
        body = text[front.end() :].strip()
        said = body or fields.get("description", "").strip("\"'")
        if len(said) <= MAX_TEXT_LENGTH // 2:
            yield memory_of(said, str(file), file.stat().st_mtime, dated=False)
        else:
            yield items.NoteItem(place=str(file), file=f"memory/{_name(file.stem)}.md", text=clean(said).text)


def _name(stem: str) -> str:
    return re.sub(r"[^\w.-]+", "-", stem).strip(".-")[:80] or "note"


def has_entries(text: str) -> bool:
    """Return whether a text is entries with § between them."""
    return bool(_ENTRY_END.search(text))


def entries(path: Path, *, scope: str = "") -> Iterator[items.Item]:
    """Yield the entries of a file of Hermes."""
    for number, entry in enumerate(_ENTRY_END.split(reading.text_of_file(path)), 1):
        if entry.strip():
            yield memory_of(entry, f"{path}:{number}", path.stat().st_mtime, scope=scope, dated=False)


def mem0(path: Path, zone: tzinfo | None) -> Iterator[items.Item]:
    """Yield the memories of mem0: an array of objects with `memory`, alone, or below `results` or `memories`.

    Where they are several people's, by `user_id`, each one's are its own.

    Raises:
        UsageError: it is no such file.
    """
    rows = rows_of(path)
    if rows is None:
        raise UsageError(f"{path}: expected a file of JSON with a list of objects that have `memory`")
    people = {row.get("user_id") for row in rows if isinstance(row, dict) and row.get("user_id")}
    for number, each in enumerate(rows, 1):
        place = f"{path}: row {number}"
        row = each if isinstance(each, dict) else {}
        text = next((row[name] for name in _TEXTS if isinstance(row.get(name), str)), "")
        if not text.strip():
            yield items.Problem(place=place, reason="expected an object with `memory`")
            continue
        at = next(filter(None, (conversations.time_of(row.get(name), zone) for name in _TIMES)), 0.0)
        scope = f"user:{row['user_id']}" if len(people) > 1 and isinstance(row.get("user_id"), str) else ""
        yield memory_of(text, place, at or path.stat().st_mtime, scope=scope, dated=bool(at))


def rows_of(path: Path) -> list[Any] | None:
    """Return the list of a file of JSON, or None if it has none."""
    return _rows(path.read_bytes())


def _rows(content: bytes) -> list[Any] | None:
    try:
        document = json_of(text_in(content) or "")
    except (ValueError, RecursionError):
        return None
    if isinstance(document, dict) and "conversations_memory" in document:
        document = [document]
    if isinstance(document, dict):
        document = next(
            (document[name] for name in ("results", "memories") if isinstance(document.get(name), list)), None
        )
    return document if isinstance(document, list) else None


def has_memories(path: Path) -> bool:
    """Return whether a file is a list of objects with `memory`."""
    rows = rows_of(path) or [None]
    return isinstance(rows[0], dict) and isinstance(rows[0].get("memory"), str)


def claude_memories(path: Path) -> Iterator[items.Item]:
    """Yield what Claude remembers, of memories.json in an export: each paragraph below its heading, of all projects."""
    if path.is_file() and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if _CLAUDE_MEMORIES.search(name)]
            contents = [(f"{path}/{name}", archive.read(name)) for name in names]
    else:
        files = [path] if path.is_file() else [path / CLAUDE_MEMORIES, *sorted(path.glob("memories/*.json"))]
        files = [file for file in files if _CLAUDE_MEMORIES.search(file.as_posix()) and file.is_file()]
        contents = [(str(file), file.read_bytes()) for file in files]
    for place, content in contents:
        for number, row in enumerate(_rows(content) or [], 1):
            projects = row.get("project_memories") if isinstance(row, dict) else None
            texts = [row.get("conversations_memory")] if isinstance(row, dict) else []
            texts += list(projects.values()) if isinstance(projects, dict) else []
            for said in (said for text in texts if isinstance(text, str) for said in _paragraphs(text)):
                yield memory_of(said, f"{place}:{number}", path.stat().st_mtime, dated=False)


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs and list items of a text, each with its heading, which may be a bold line."""
    lines = (_BOLD.sub(r"## \1", line) for line in text.split("\n"))
    for block in parse("\n".join(lines), file=MEMORY_FILE):
        shown = block.heading and block.kind == "paragraph"
        yield f"{block.heading}: {block.text}" if shown else block.text


NANOBOT: Final = ("memory/MEMORY.md", "workspace/memory/MEMORY.md", "memory/HISTORY.md")


def remembered(folder: Path, zone: tzinfo | None) -> Iterator[items.Item]:
    """Yield what the memory folder of nanobot says: its memories, and its history as a note."""
    file, history = folder / MEMORY_FILE, folder / "HISTORY.md"
    if file.is_file():
        at = file.stat().st_mtime
        for block in parse(clean(reading.text_of_file(file)).text, file=MEMORY_FILE):
            noon = noon_of(block.day, zone)
            text = f"{block.heading}: {block.text}" if block.heading and block.kind == "paragraph" else block.text
            yield memory_of(text, f"{file}:{block.first + 1}", at if noon is None else noon, dated=noon is not None)
    if history.is_file():
        text = clean(reading.text_of_file(history)).text
        yield items.NoteItem(place=str(history), file="memory/HISTORY.md", text=text)
