"""The layouts of importable data by name, and which one a path has."""

import json
from collections.abc import Iterator
from datetime import tzinfo
from pathlib import Path
from typing import Any, Final

from gateway_memory.errors import UsageError
from gateway_memory.ground.brought import brought, part_of
from gateway_memory.ground.texts import json_of
from gateway_memory.store.documents import MEMORY_FILE
from gateway_memory.store.headings import day_named
from gateway_memory.transfer.detection import detect
from gateway_memory.transfer.items import Ignored, Item, LeftOut, Problem
from gateway_memory.transfer.left_out import copied_from, files_below, with_left_out
from gateway_memory.transfer.markdown_files import USER_FILE, read_markdown, time_of
from gateway_memory.transfer.programs import HISTORIES, read_history
from gateway_memory.transfer.reading import LONGEST_LINE, numbered_lines
from gateway_memory.transfer.rows import item_of


class _Names(tuple[str, ...]):
    """Names of layouts. It contains those of other packages too, for which it looks only when they are named."""

    __slots__ = ()

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in brought("layout")

    @property
    def others(self) -> tuple[str, ...]:
        """The names of other packages."""
        return tuple(name for name in brought("layout") if not super(_Names, self).__contains__(name))


LAYOUTS: Final = _Names(dict.fromkeys(("cursor-memory", "openclaw", "jsonl", *HISTORIES, "auto")))
"""What can be named: each of ours, and "auto"."""


def layout_of(path: Path) -> str:
    """Return the name of the layout, one of ours, that a path has.

    Raises:
        UsageError: it has none that is known.
    """
    if not path.exists():
        raise UsageError(f"{path}: nothing that is known lies here, for there is no such file or folder")
    try:
        layout = detect(path)
        if not layout and path.suffix == ".jsonl" and path.is_file():
            layout = "jsonl"
        if not layout and any((path / name).exists() for name in ("daily", "facts.jsonl", "sessions.jsonl")):
            layout = "cursor-memory"
        if not layout and any((path / name).exists() for name in ("MEMORY.md", "memory.md", "memory", USER_FILE)):
            layout = "openclaw"
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    if not layout:
        raise UsageError(f"{path}: nothing that is known lies here; name the layout instead of auto")
    return layout


def read_layout(layout: str, path: Path, zone: tzinfo | None = None, *, groups: bool = False) -> Iterator[Item]:
    """Yield the items of a layout, in order.

    zone: the zone of the days of its logs, and of times without one; None is the host's.
    groups: whether to read the conversations of groups, whose scope the caller knows then.

    Raises:
        UsageError: the path contains no data of that layout, or the layout's own package failed.
    """
    try:
        yield from with_left_out(_items(layout, path, zone, groups=groups), path)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error


def _items(layout: str, path: Path, zone: tzinfo | None, *, groups: bool) -> Iterator[Item]:
    if layout not in tuple(LAYOUTS):
        yield from _read_installed(layout, path, zone)
    elif layout == "jsonl":
        if not path.is_file():
            raise UsageError(f"{path}: expected a file of JSON lines")
        yield from _json_lines(path, zone)
    elif layout in HISTORIES and (layout != "openclaw" or detect(path) == "openclaw"):
        yield from read_history(layout, path, zone, groups=groups)
    else:
        yield from _workspace(layout, path, zone)


def _workspace(layout: str, path: Path, zone: tzinfo | None) -> Iterator[Item]:
    """Yield the items of a folder of Markdown and JSON lines."""
    curated = [path / name for name in ("MEMORY.md", "memory.md") if (path / name).is_file()][:1]
    curated += [path / USER_FILE] if (path / USER_FILE).is_file() else []
    people = sorted(path.glob(f"users/*/{USER_FILE}"))
    days = [*files_below(path / "memory", ".md", within=path)]
    digests = [*files_below(path / "digest", ".md", within=path)]  # of QwenPaw
    logs = [*sorted((path / "daily").glob("*.jsonl")), path / "facts.jsonl", path / "sessions.jsonl"]
    logs = [log for log in logs if log.is_file()]
    # Links to files outside the workspace are not part of its memory.
    within = path.resolve()
    curated, people, days, logs = (
        [file for file in files if file.resolve().is_relative_to(within)] for files in (curated, people, days, logs)
    )
    if not (curated or people or days or digests or logs):
        raise UsageError(f"{path}: there is no {layout} memory here: no MEMORY.md and nothing beside it")
    for file in curated:
        yield from read_markdown(file, MEMORY_FILE, zone)
    for file in days:
        original = copied_from(file)
        if original and original.read_bytes() == file.read_bytes():
            yield LeftOut(place=str(file), copy=True)
        elif file.name == "index.md" and day_named(file.parent.name) and len([*file.parent.glob("*.md")]) > 1:
            yield Ignored(place=str(file), kind="index")  # QwenPaw's, of the notes beside it
        else:
            yield from read_markdown(file, f"memory/{(original or file).name}", zone, folder=path / "memory")
    for file in digests:
        yield from read_markdown(file, f"memory/{file.name}", zone, folder=path)
    for file in people:
        yield from read_markdown(file, MEMORY_FILE, zone, scope=f"user:{file.parent.name}")
    for log in logs:
        yield from _json_lines(log, zone)


def _read_installed(layout: str, path: Path, zone: tzinfo | None) -> Iterator[Item]:
    try:
        entry, number = part_of("layout", layout), 0
    except LookupError as error:
        raise UsageError(f"{path}: {error}") from error
    try:
        for number, row in enumerate(entry.load()(path, zone), 1):
            yield _item(row, f"{path}: row {number}", path.stat().st_mtime, zone)
    except Exception as error:  # whatever another package raises is reported with its layout
        package = entry.dist.name if entry.dist else entry.value
        reason = f"the layout {layout} of {package} failed: {type(error).__name__}: {error}"
        if not number:
            raise UsageError(f"{path}: {reason}") from error
        yield Problem(place=f"{path}: row {number + 1}", reason=f"{reason}; nothing was read from here on", ends=True)


def _json_lines(path: Path, zone: tzinfo | None) -> Iterator[Item]:
    default_at = time_of(path, zone)
    for number, line in numbered_lines(path):
        place = f"{path}:{number}"
        if line is None:
            yield Problem(place=place, reason=f"longer than {LONGEST_LINE >> 20} MiB")
            continue
        try:
            raw = json_of(line)
        except json.JSONDecodeError as error:
            yield Problem(place=place, reason=f"no JSON: {error.msg} at column {error.colno}")
        except (ValueError, RecursionError):
            yield Problem(place=place, reason="no JSON that can be read")
        else:
            yield _item(raw, place, default_at, zone)


def _item(raw: Any, place: str, default_at: float, zone: tzinfo | None) -> Item:
    """Return the item of a row, or what is wrong with it."""
    if not isinstance(raw, dict):
        return Problem(place=place, reason="expected an object")
    try:
        return item_of(raw, place, default_at, zone)
    except (ValueError, TypeError, OverflowError) as error:
        return Problem(place=place, reason=str(error))
