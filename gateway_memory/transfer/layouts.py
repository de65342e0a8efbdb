"""Read importable data from disk: memories, our own export, or the conversations of another program.

An invalid line yields a `Problem` with its place, and the import continues.
"""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import tzinfo
from pathlib import Path
from typing import Final, Literal, get_args

from extractor import clean
from gateway_memory.errors import UsageError
from gateway_memory.runtime.clock import noon_of
from gateway_memory.store.documents import MEMORY_FILE, is_day_file
from gateway_memory.store.markdown import Block, parse
from gateway_memory.store.record import MemoryRecord
from gateway_memory.transfer.histories import HISTORIES, detected, read_history
from gateway_memory.transfer.item_rows import item_of
from gateway_memory.transfer.items import Item, MemoryItem, NoteItem, Problem
from gateway_memory.transfer.lines import LONGEST_LINE, numbered_lines

__all__ = ["LAYOUTS", "Layout", "layout_of", "note_file", "prose_of", "read_layout"]

Layout = Literal["cursor-memory", "openclaw", "jsonl", "nanobot", "hermes", "claude-code", "chatgpt", "claude"]
LAYOUTS: Final = get_args(Layout)

_MARK: Final = re.compile(
    r"<!--(\s{0,8}gm:[a-z0-9]{6,12}(?:[ \t]+[^\s<>]{1,12}){0,8}\s{0,8}-->[ \t\r]*)$", re.MULTILINE
)
_KEPT_MARK: Final = "\ue000"
"""Replaces the start of our comment while a file is cleaned. Cleaning removes such comments as echoes in a message."""
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


def layout_of(path: Path) -> Layout:
    """Return the layout that a path has.

    Raises:
        UsageError: it has none that is known.
    """
    if not path.exists():
        raise UsageError(f"{path}: there is no such file or folder")
    try:
        found = detected(path)
        if not found and path.suffix == ".jsonl" and path.is_file():
            found = "jsonl"
        if not found and any((path / name).exists() for name in ("daily", "facts.jsonl", "sessions.jsonl")):
            found = "cursor-memory"
        if not found and any((path / name).exists() for name in ("MEMORY.md", "memory.md", "memory")):
            found = "openclaw"
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    layout: Layout | None = next((each for each in LAYOUTS if each == found), None)
    if layout is None:
        raise UsageError(f"{path}: nothing that is known lies here; name the layout instead of auto")
    return layout


def read_layout(layout: Layout, path: Path, zone: tzinfo | None = None, *, groups: bool = False) -> Iterator[Item]:
    """Yield the items of a layout, in order.

    zone: the zone of the days of its logs, and of times without one; None is the host's.
    groups: whether to read the conversations of groups, whose scope the caller knows then.

    Raises:
        UsageError: the path contains no data of that layout.
    """
    try:
        if layout == "jsonl":
            if not path.is_file():
                raise UsageError(f"{path}: expected a file of JSON lines")
            yield from _json_lines(path, zone)
            return
        if layout in HISTORIES and (layout != "openclaw" or detected(path) == "openclaw"):
            yield from read_history(layout, path, zone, groups=groups)
            return
        curated = [path / name for name in ("MEMORY.md", "memory.md") if (path / name).is_file()][:1]
        days = sorted((path / "memory").glob("*.md"))
        logs = [*sorted((path / "daily").glob("*.jsonl")), path / "facts.jsonl", path / "sessions.jsonl"]
        logs = [log for log in logs if log.is_file()]
        # Links to files outside the workspace are not part of its memory.
        within = path.resolve()
        curated, days, logs = (
            [file for file in files if file.resolve().is_relative_to(within)] for files in (curated, days, logs)
        )
        if not (curated or days or logs):
            raise UsageError(f"{path}: there is no {layout} memory here: no MEMORY.md and nothing beside it")
        for file in [*curated, *days]:
            yield from _markdown(file, MEMORY_FILE if file in curated else f"memory/{file.name}", zone)
        for log in logs:
            yield from _json_lines(log, zone)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error


# JSON lines


def _json_lines(path: Path, zone: tzinfo | None) -> Iterator[Item]:
    default_at = _time_of(path, zone)
    for number, line in numbered_lines(path):
        place = f"{path}:{number}"
        if line is None:
            yield Problem(place=place, reason=f"longer than {LONGEST_LINE >> 20} MiB")
            continue
        try:
            raw = json.loads(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line)
            if not isinstance(raw, dict):
                raise TypeError("expected an object")  # noqa: TRY301 - every mistake ends in the same place
            yield item_of(raw, place, default_at)
        except json.JSONDecodeError as error:
            yield Problem(place=place, reason=f"no JSON: {error.msg} at column {error.colno}")
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            reason = (
                "no JSON that can be read" if isinstance(error, UnicodeDecodeError | RecursionError) else str(error)
            )
            yield Problem(place=place, reason=reason)


# Markdown


def _markdown(path: Path, file: str, zone: tzinfo | None) -> Iterator[Item]:
    lines: list[str] = []
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        if len(line) > LONGEST_LINE:
            yield Problem(place=f"{path}:{number}", reason=f"longer than {LONGEST_LINE >> 20} MiB")
        else:
            lines.append(line.decode("utf-8", "replace"))
    marked = _MARK.sub(rf"{_KEPT_MARK}\1", "\n".join(lines).replace(_KEPT_MARK, ""))
    text = clean(marked).text.replace(_KEPT_MARK, "<!--")
    at = _time_of(path, zone) if is_day_file(file) else path.stat().st_mtime
    own = file == MEMORY_FILE or is_day_file(file)
    blocks = parse(text, file=file, memories=own)
    for block in blocks:
        if block.kind == "item":
            record = MemoryRecord(
                id=block.id if block.marked else "",
                text=block.text,
                file=file,
                at=at,
                importance="high" if file == MEMORY_FILE else "normal",
                type=block.type,
                confidence=block.confidence,
            )
            yield MemoryItem(place=f"{path}:{block.first + 1}", record=record, curated=file == MEMORY_FILE)
    prose = prose_of(blocks) if own else text
    if prose.strip():
        yield NoteItem(place=str(path), file=note_file(f"{path.stem}-notes" if own else path.stem), text=prose)


def prose_of(blocks: Iterable[Block]) -> str:
    """Return the text of a file that is not in list items, under its headings."""
    prose: list[str] = []
    heading = ""
    for block in blocks:
        if block.kind == "paragraph":
            if block.heading and block.heading != heading:
                prose.append(f"## {block.heading}")
                heading = block.heading
            prose.append(block.text)
    return "\n\n".join(prose)


def note_file(stem: str) -> str:
    """Return the file name of prose: a note below memory/, never a day's log."""
    name = re.sub(r"[^\w.-]+", "-", stem).strip(".-")[:80] or "note"
    return f"memory/{name}-notes.md" if _DAY.fullmatch(name) else f"memory/{name}.md"


def _time_of(path: Path, zone: tzinfo | None) -> float:
    """Return noon of the day in a file's name, else its modification time."""
    noon = noon_of(path.stem, zone)
    return path.stat().st_mtime if noon is None else noon
