"""A Markdown file of another memory, or of our own export: its list items are memories, its prose is a note."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, tzinfo
from pathlib import Path
from typing import Final

from extractor import clean
from gateway_memory.ground.holds import given, holds_of, with_note
from gateway_memory.ground.texts import MARK, text_in
from gateway_memory.ground.times import local_time, noon_of
from gateway_memory.store.annotations import importance_of, noted, project_of
from gateway_memory.store.documents import MEMORY_FILE, is_day_file
from gateway_memory.store.headings import day_named
from gateway_memory.store.markdown import Block, parse, told_on
from gateway_memory.store.memory_record import MemoryRecord
from gateway_memory.transfer.facts import entries, has_entries
from gateway_memory.transfer.items import Item, MemoryItem, NoteItem, Problem
from gateway_memory.transfer.reading import LONGEST_LINE

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_MARK: Final = re.compile(
    r"<!--(\s{0,8}gm:[a-z0-9]{6,12}(?:[ \t]+[^\s<>]{1,12}){0,8}\s{0,8}-->[ \t\r]*)$", re.MULTILINE
)
_KEPT_MARK: Final = "\ue000"
"""Replaces the start of our comment while a file is cleaned. Cleaning removes such comments as echoes in a message."""
USER_FILE: Final = "USER.md"
"""OpenClaw's file about its user: a comment stands before each line, with its day and whether it holds."""
_OBSERVED: Final = re.compile(r"[ \t]*<!--\s*(observed:[^<>\n|]{1,40}\|\s*status:\s*(?:active|superseded))\s*-->\s*")
_FOOT: Final = re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,})\s*")
_LINE: Final = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])[ \t]+\S")
_OF_SESSION: Final = re.compile(r"\A---[ \t]*\n(?:[^\n]*\n){0,40}?session_id:(?:[^\n]*\n){1,40}?---[ \t]*(?:\n|\Z)")
"""Before a note of QwenPaw: from which conversation its program has made it."""
_IMPORTANT: Final = 0.7
"""From this importance on, a memory counts as important here."""


def in_time(text: str, day: date, expires: str, times: Mapping[str, str]) -> tuple[str, str]:
    """Return a line with when it holds at its end, and its last day. times: as `holds.given` takes them."""
    if any(times.values()):
        holds = given(**times)
    else:
        holds = holds_of(text, day)
        if expires and holds.last is None:
            holds = replace(holds, until=date.fromisoformat(expires), exact=False)
    return text if holds.exact else with_note(text, holds), holds.last.isoformat() if holds.last else ""


def read_markdown(
    path: Path, file: str, zone: tzinfo | None, *, scope: str = "", folder: Path | None = None
) -> Iterator[Item]:
    """Yield the items of a file.

    file: its place in a workspace. folder: below which it lies; a note has the names of the folders between. scope:
    that of its items; "" for the scope of the import, and for the project that a line names.

    Raises:
        OSError: it can't be read.
    """
    lines: list[str] = []
    content = path.read_bytes()
    decoded = text_in(content)
    if decoded is None:
        yield Problem(place=str(path), reason="no text in UTF-8, UTF-16 or GBK; what can be read of it was taken in")
    whole = content.decode("utf-8", "replace") if decoded is None else decoded.encode("utf-8", "replace").decode()
    whole = _OF_SESSION.sub("", whole.lstrip(MARK))
    if has_entries(whole):
        yield from entries(path, scope=scope)
        return
    for number, line in enumerate(whole.split("\n"), 1):
        if len(line) > LONGEST_LINE:
            yield Problem(place=f"{path}:{number}", reason=f"longer than {LONGEST_LINE >> 20} MiB")
        else:
            lines.append(line)
    if path.name == USER_FILE:
        lines = _place_comments(_without_foot(lines))
    marked = _MARK.sub(rf"{_KEPT_MARK}\1", "\n".join(lines).replace(_KEPT_MARK, ""))
    text = clean(marked).text.replace(_KEPT_MARK, "<!--")
    at, of_day = time_of(path, zone), bool(day_named(path.stem))
    own = file == MEMORY_FILE or is_day_file(file)
    blocks = parse(text, file=file, memories=own)
    items = [block for block in blocks if block.kind == "item"]
    for number, block in enumerate(items):
        day, _, status = noted(block.annotations).get("observed", "").partition("|")
        observed = noon_of(day.strip(), zone)
        if day and observed is None:  # the example of an empty form
            continue
        weight = importance_of(block.annotations)
        named = noon_of(block.day, zone) if observed is None else observed
        said = at if named is None else named
        dated = named is not None or of_day
        told, last = told_on(block, local_time(path.stat().st_mtime, zone).date()), ""
        if dated:  # else nobody knows from which day "tomorrow" counts
            told, last = in_time(told, local_time(said, zone).date(), "", {})
        important = file == MEMORY_FILE if weight is None else weight >= _IMPORTANT
        record = MemoryRecord(
            id=block.id if block.marked else "",
            text=told,
            file=file,
            at=said,
            expires=last,
            importance="high" if important else "normal",
            type="B" if day and not block.marked else block.type,
            confidence=block.confidence,
            annotations=block.annotations,
        )
        superseded = status.endswith("superseded")
        yield MemoryItem(
            place=f"{path}:{block.first + 1}",
            record=record,
            dated=dated,
            scope=scope or (f"project:{project}" if (project := project_of(block.annotations)) else ""),
            curated=file == MEMORY_FILE,
            superseded=superseded,
            by=_successor(items[number + 1 :], block) if superseded else "",
        )
    prose = prose_of(blocks) if own else text
    if prose.strip():
        below = path.relative_to(folder).with_suffix("").as_posix() if folder else path.stem
        name = note_file(f"{path.stem}-notes" if own else below)
        yield NoteItem(place=str(path), scope=scope, file=name, text=prose)


def _without_foot(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines of a form without what stands below its last rule: words for who fills it in."""
    rules = [number for number, line in enumerate(lines) if _FOOT.fullmatch(line)]
    foot = lines[rules[-1] :] if rules and rules[-1] else []
    return lines if any(_LINE.match(line) or line.startswith("#") for line in foot) else lines[: len(lines) - len(foot)]


def _place_comments(lines: Sequence[str]) -> list[str]:
    """Return the lines of USER.md with each comment at the end of the line that it is about."""
    result: list[str] = []
    waiting = ""
    for line in lines:
        if comment := _OBSERVED.fullmatch(line):
            waiting = comment[1]
            result.append("")
        elif waiting and _LINE.match(line):
            result.append(f"{line.rstrip()} <!-- {waiting} -->")
            waiting = ""
        else:
            waiting = waiting if not line.strip() else ""
            result.append(line)
    return result


def _successor(later: Sequence[Block], block: Block) -> str:
    """Return the text of the line that took a line's place: the next one below its heading that holds, or ""."""
    successors = (
        each.text
        for each in later
        if each.heading == block.heading and not noted(each.annotations).get("observed", "").endswith("superseded")
    )
    return next(successors, "")


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
    noon = noon_of(day_named(path.stem), zone)
    return path.stat().st_mtime if noon is None else noon
