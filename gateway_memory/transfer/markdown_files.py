"""Read a Markdown file of another memory, or of our own export: its list items as memories, its prose as a note."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import Final

from extractor import clean
from gateway_memory.runtime.clock import noon_of
from gateway_memory.store.annotations import importance_of, noted, project_of
from gateway_memory.store.documents import MEMORY_FILE, is_day_file
from gateway_memory.store.markdown import Block, parse
from gateway_memory.store.record import MemoryRecord
from gateway_memory.transfer.items import Item, MemoryItem, NoteItem, Problem
from gateway_memory.transfer.lines import LONGEST_LINE

__all__ = ["USER_FILE", "note_file", "prose_of", "read_markdown", "time_of"]

_MARK: Final = re.compile(
    r"<!--(\s{0,8}gm:[a-z0-9]{6,12}(?:[ \t]+[^\s<>]{1,12}){0,8}\s{0,8}-->[ \t\r]*)$", re.MULTILINE
)
_KEPT_MARK: Final = "\ue000"
"""Replaces the start of our comment while a file is cleaned. Cleaning removes such comments as echoes in a message."""
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
USER_FILE: Final = "USER.md"
"""OpenClaw's file about its user: a comment stands before each line, with its day and whether it holds."""
_OBSERVED: Final = re.compile(r"[ \t]*<!--\s*(observed:[^<>\n|]{1,40}\|\s*status:\s*(?:active|superseded))\s*-->\s*")
_LINE: Final = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])[ \t]+\S")
_IMPORTANT: Final = 0.7
"""From this importance on, a memory counts as important here."""


def read_markdown(path: Path, file: str, zone: tzinfo | None, *, scope: str = "") -> Iterator[Item]:
    """Yield the items of a file.

    file: its place in a workspace. scope: that of its items; "" for the scope of the import, and for the project that a
    line names.

    Raises:
        OSError: it can't be read.
    """
    lines: list[str] = []
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        if len(line) > LONGEST_LINE:
            yield Problem(place=f"{path}:{number}", reason=f"longer than {LONGEST_LINE >> 20} MiB")
        else:
            lines.append(line.decode("utf-8", "replace"))
    if path.name == USER_FILE:
        lines = _observed(lines)
    marked = _MARK.sub(rf"{_KEPT_MARK}\1", "\n".join(lines).replace(_KEPT_MARK, ""))
    text = clean(marked).text.replace(_KEPT_MARK, "<!--")
    at = time_of(path, zone) if is_day_file(file) else path.stat().st_mtime
    own = file == MEMORY_FILE or is_day_file(file)
    blocks = parse(text, file=file, memories=own)
    items = [block for block in blocks if block.kind == "item"]
    for number, block in enumerate(items):
        day, _, status = noted(block.annotations).get("observed", "").partition("|")
        observed = noon_of(day.strip(), zone)
        if day and observed is None:  # the example of an empty form
            continue
        weight = importance_of(block.annotations)
        important = file == MEMORY_FILE if weight is None else weight >= _IMPORTANT
        record = MemoryRecord(
            id=block.id if block.marked else "",
            text=block.text,
            file=file,
            at=at if observed is None else observed,
            importance="high" if important else "normal",
            type="B" if day and not block.marked else block.type,
            confidence=block.confidence,
            annotations=block.annotations,
        )
        superseded = status.endswith("superseded")
        yield MemoryItem(
            place=f"{path}:{block.first + 1}",
            record=record,
            scope=scope or (f"project:{project}" if (project := project_of(block.annotations)) else ""),
            curated=file == MEMORY_FILE,
            superseded=superseded,
            by=_successor(items[number + 1 :], block) if superseded else "",
        )
    prose = prose_of(blocks) if own else text
    if prose.strip():
        yield NoteItem(
            place=str(path), scope=scope, file=note_file(f"{path.stem}-notes" if own else path.stem), text=prose
        )


def _observed(lines: Sequence[str]) -> list[str]:
    """Return the lines of USER.md with each comment at the end of the line that it is about."""
    found: list[str] = []
    waiting = ""
    for line in lines:
        if comment := _OBSERVED.fullmatch(line):
            waiting = comment[1]
            found.append("")
        elif waiting and _LINE.match(line):
            found.append(f"{line.rstrip()} <!-- {waiting} -->")
            waiting = ""
        else:
            waiting = waiting if not line.strip() else ""
            found.append(line)
    return found


def _successor(later: Sequence[Block], block: Block) -> str:
    """Return the text of the line that took a line's place: the next one below its heading that holds, or ""."""
    held = (
        each.text
        for each in later
        if each.heading == block.heading and not noted(each.annotations).get("observed", "").endswith("superseded")
    )
    return next(held, "")


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


def time_of(path: Path, zone: tzinfo | None) -> float:
    """Return noon of the day in a file's name, else its modification time."""
    noon = noon_of(path.stem, zone)
    return path.stat().st_mtime if noon is None else noon
