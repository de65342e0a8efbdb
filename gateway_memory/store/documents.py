"""The documents of a memory: how they are named, which of them are written, and their text."""

import hashlib
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from gateway_memory.ground.texts import text_in

if TYPE_CHECKING:  # hooks need none of these
    from recall import Stamp

MEMORY_FILE: Final = "MEMORY.md"
_NOTE: Final = re.compile(r"memory/(?:(?!\.)[^/\\\x00-\x1f\x7f]+/){0,8}(?!\.)[^/\\\x00-\x1f\x7f]+\.md")
_LONGEST_NAME: Final = 255
"""In bytes: what file systems take."""
_COPY: Final = re.compile(
    r"(.+?)(?:\.sync-conflict-[\w-]+| \((?:\d+|[^()]*(?:conflict|copy|冲突)[^()]*)\)| [2-9])\.md", re.IGNORECASE
)
"""How synced folders name a second copy of a file: Syncthing, iCloud, Dropbox, Nextcloud, OneDrive."""
_DAY_FILE: Final = re.compile(r"^memory/(\d{4}-\d{2}-\d{2})\.md$")


def day_file(day: str) -> str:
    """Return the name of a day's log. `day` is YYYY-MM-DD."""
    return f"memory/{day}.md"


def is_document(name: str) -> bool:
    """Return whether this can be the name of a document: MEMORY.md, or a Markdown file in memory/ or a folder in it."""
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


def title_of(file: str) -> str:
    """Return the heading of a document that is written anew."""
    return "Memory" if file == MEMORY_FILE else PurePosixPath(file).stem


def text_from(content: bytes) -> str:
    """Return the text of a document: see `text_in`. Undecodable bytes of another encoding are surrogate escapes.

    A document that is no UTF-8 becomes one when it is written.
    """
    text = text_in(content)
    return content.decode("utf-8", "surrogateescape") if text is None else text


def original_of(name: str) -> str | None:
    """Return the name of the document of which this is a copy, as synced folders name copies; None if it is none."""
    match = _COPY.fullmatch(name)
    return f"{match[1]}.md" if match else None


def text_of(content: bytes, saved: int) -> "tuple[str, Stamp]":
    """Return the text and stamp of a document. saved: its modification time, in ns since the epoch."""
    from recall import Stamp  # hooks need none

    digest = hashlib.blake2b(content, digest_size=16).hexdigest()
    return text_from(content), Stamp(mtime_ns=saved, size=len(content), digest=digest)
