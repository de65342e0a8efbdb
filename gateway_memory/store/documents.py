"""The names of a scope's documents, and the result of an edit. Pure functions over text."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from gateway_memory.store import markdown
from gateway_memory.store.patch import Patch, patch_of, taken_back

__all__ = ["MEMORY_FILE", "FileEdit", "day_file", "edited", "edited_all", "is_day_file", "is_document", "is_writable"]

MEMORY_FILE: Final = "MEMORY.md"
_NOTE: Final = re.compile(r"memory/(?!\.)[^/\\\x00-\x1f\x7f]+\.md")
_LONGEST_NAME: Final = 255
"""In bytes: what file systems take."""
_DAY_FILE: Final = re.compile(r"^memory/(\d{4}-\d{2}-\d{2})\.md$")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEdit:
    """Lines to add to and to remove from one document of a scope."""

    file: str
    add: tuple[markdown.Addition, ...] = ()
    remove: tuple[str, ...] = ()
    restore: Patch | None = None
    """An earlier edit to revert exactly. If the document was edited since, lines are added and removed instead."""


def day_file(day: str) -> str:
    """Return the name of a day's log. `day` is YYYY-MM-DD."""
    return f"memory/{day}.md"


def is_document(name: str) -> bool:
    """Return whether this can be the name of a document: MEMORY.md, or a Markdown file directly below memory/."""
    if name == MEMORY_FILE:
        return True
    try:
        length = len(name.removeprefix("memory/").encode())
    except UnicodeEncodeError:
        return False
    return _NOTE.fullmatch(name) is not None and length <= _LONGEST_NAME


def is_day_file(file: str) -> bool:
    """Return whether the document is a day's log, which we write, and not another note, which we only read."""
    return bool(_DAY_FILE.match(file))


def is_writable(file: str) -> bool:
    """Return whether lines of the document may be changed: MEMORY.md and the days' logs, no other note."""
    return file == MEMORY_FILE or is_day_file(file)


def edited(content: bytes | None, change: FileEdit, *, title: str) -> tuple[bytes | None, Patch]:
    """Return the content of a document after an edit, or None to delete it, and the patch that reverts the edit.

    content: None if the document does not exist.
    title: the heading for an empty document.
    """
    before = (content or b"").decode("utf-8", "surrogateescape")
    after = taken_back(before, change.restore) if change.restore else None
    if after is None:
        after = markdown.edit(before, add=change.add, remove=change.remove, file=change.file, title=title)
    patch = patch_of(change.file, before, after, made=content is None)
    gone = after == "" and ((change.restore is not None and change.restore.made) or content is None)
    return None if gone else after.encode("utf-8", "surrogateescape"), patch


def edited_all(
    contents: Mapping[str, bytes | None], edits: Sequence[FileEdit]
) -> tuple[dict[str, bytes | None], tuple[Patch, ...]]:
    """Apply edits in order, and return the documents after them, and the patch that reverts each edit.

    contents: of each document that is edited, None if it does not exist.
    """
    after = dict(contents)
    patches = []
    for change in edits:
        title = "Memory" if change.file == MEMORY_FILE else PurePosixPath(change.file).stem
        after[change.file], patch = edited(after[change.file], change, title=title)
        patches.append(patch)
    return after, tuple(patches)
