"""Read importable data from disk: memories, our own export, or the conversations of another program, by its format.

An invalid line yields a `Problem` with its place, and the import continues.
"""

import json
from collections.abc import Iterator
from datetime import tzinfo
from pathlib import Path
from typing import Final, Literal, get_args

from gateway_memory.errors import UsageError
from gateway_memory.store.documents import MEMORY_FILE
from gateway_memory.transfer.items import LONGEST_LINE, Item, Problem, numbered_lines
from gateway_memory.transfer.memories import USER_FILE, item_of, read_markdown, time_of
from gateway_memory.transfer.programs import HISTORIES, detected, read_history

Layout = Literal["cursor-memory", "openclaw", "jsonl", "nanobot", "hermes", "claude-code", "chatgpt", "claude"]
LAYOUTS: Final = get_args(Layout)


def layout_of(path: Path) -> Layout:
    """Return the layout that a path has.

    Raises:
        UsageError: it has none that is known.
    """
    if not path.exists():
        raise UsageError(f"{path}: nothing that is known lies here, for there is no such file or folder")
    try:
        found = detected(path)
        if not found and path.suffix == ".jsonl" and path.is_file():
            found = "jsonl"
        if not found and any((path / name).exists() for name in ("daily", "facts.jsonl", "sessions.jsonl")):
            found = "cursor-memory"
        if not found and any((path / name).exists() for name in ("MEMORY.md", "memory.md", "memory", USER_FILE)):
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
        curated += [path / USER_FILE] if (path / USER_FILE).is_file() else []
        people = sorted(path.glob(f"users/*/{USER_FILE}"))
        days = sorted((path / "memory").glob("*.md"))
        logs = [*sorted((path / "daily").glob("*.jsonl")), path / "facts.jsonl", path / "sessions.jsonl"]
        logs = [log for log in logs if log.is_file()]
        # Links to files outside the workspace are not part of its memory.
        within = path.resolve()
        curated, people, days, logs = (
            [file for file in files if file.resolve().is_relative_to(within)] for files in (curated, people, days, logs)
        )
        if not (curated or people or days or logs):
            raise UsageError(f"{path}: there is no {layout} memory here: no MEMORY.md and nothing beside it")
        for file in [*curated, *days]:
            yield from read_markdown(file, MEMORY_FILE if file in curated else f"memory/{file.name}", zone)
        for file in people:
            yield from read_markdown(file, MEMORY_FILE, zone, scope=f"user:{file.parent.name}")
        for log in logs:
            yield from _json_lines(log, zone)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error


# JSON lines


def _json_lines(path: Path, zone: tzinfo | None) -> Iterator[Item]:
    default_at = time_of(path, zone)
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
