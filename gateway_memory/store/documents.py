"""Memory files: their names, edits and the patches that revert them, merging two edits, and where they are kept."""

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, TypeAlias

from gateway_memory.ground.texts import text_in
from gateway_memory.store import markdown

if TYPE_CHECKING:  # hooks need none of these
    from gateway_memory.scope import Scope
    from recall import Stamp
from gateway_memory.store.patches import Patch, patch_of, taken_back

MEMORY_FILE: Final = "MEMORY.md"
_NOTE: Final = re.compile(r"memory/(?:(?!\.)[^/\\\x00-\x1f\x7f]+/){0,8}(?!\.)[^/\\\x00-\x1f\x7f]+\.md")
_LONGEST_NAME: Final = 255
"""In bytes: what file systems take."""
Change: TypeAlias = Callable[[str, bytes | None], bytes | None]
Stamps = dict[str, tuple[int, int]]
"""The modification time (ns since the epoch) and the size (bytes) of each document of a scope, by name."""
_COPY: Final = re.compile(
    r"(.+?)(?:\.sync-conflict-[\w-]+| \((?:\d+|[^()]*(?:conflict|copy|冲突)[^()]*)\)| [2-9])\.md", re.IGNORECASE
)
"""How synced folders name a second copy of a file: Syncthing, iCloud, Dropbox, Nextcloud, OneDrive."""
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


def edited(content: bytes | None, change: FileEdit) -> tuple[bytes | None, Patch]:
    """Return the content of a document after an edit, or None to delete it, and the patch that reverts the edit.

    content: None if the document does not exist.
    """
    before = text_from(content or b"")
    after = taken_back(before, change.restore) if change.restore else None
    if after is None:
        title = title_of(change.file)
        after = markdown.edit(before, add=change.add, remove=change.remove, file=change.file, title=title)
    patch = patch_of(change.file, before, after, made=content is None)
    removed = after == "" and ((change.restore is not None and change.restore.made) or content is None)
    return None if removed else after.encode("utf-8", "surrogateescape"), patch


class Edits:
    """Edits of documents, in order. patches: what reverts each of them, by its place among them."""

    def __init__(self, edits: Sequence[FileEdit]) -> None:
        self.edits = edits
        self.patches: dict[int, Patch] = {}
        self._missing: set[str] = set()

    def apply(self, file: str, content: bytes | None) -> bytes | None:
        """Return the content of a document after its edits. It may be called again, for newer content."""
        if content is None:
            self._missing.add(file)
        made = file in self._missing
        for place, each in enumerate(self.edits):
            if each.file == file:
                content, patch = edited(content, each)
                self.patches[place] = replace(patch, made=made)
                made = False
        return content


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


class Documents(ABC):
    """The Markdown documents of all scopes: "MEMORY.md", "memory/2026-11-21.md", and other notes below "memory/".

    They are files (`store.disk`), in memory, or in PostgreSQL. A call that raises StoreError has changed
    nothing.

    folder: in which people and tools edit the documents as files, or None if there is no such folder.
    """

    folder: Path | None = None

    @abstractmethod
    def writing(self, scope: "Scope") -> AbstractAsyncContextManager[None]:
        """Return a context that holds the write lock of a scope, within this process and among processes.

        Raises:
            StoreError: another process has held the lock for more than half a minute.
        """

    @abstractmethod
    async def scan(self, scope: "Scope") -> Stamps:
        """Return the current stamps of a scope's documents."""

    @abstractmethod
    async def read(self, scope: "Scope", name: str) -> "tuple[str, Stamp] | None":
        """Return the text and stamp of a document, or None. Undecodable bytes are surrogate escapes."""

    async def edit(self, scope: "Scope", edits: Sequence[FileEdit]) -> tuple[Patch, ...]:
        """Apply edits in order, and return the inverse patch of each. Call it only within `writing`.

        Each document is written once, atomically.
        """
        work = Edits(edits)
        await self._rewrite(scope, list(dict.fromkeys(each.file for each in edits)), work.apply)
        return tuple(work.patches[place] for place in range(len(edits)))

    async def create(self, scope: "Scope", name: str, text: str) -> None:
        """Write a new document. Call it only within `writing`, and only if no document has this name."""
        content = text.encode("utf-8", "replace")
        await self._rewrite(scope, [name], lambda *_: content)

    async def save(self, scope: "Scope", name: str, text: str, *, was: str) -> bool:
        """Put a person's text in the place of a document that still reads `was`. Call it only within `writing`.

        was: the text from which the person began, "" for no document. Return whether it was so; else nothing changes.
        """
        after = text.encode("utf-8", "surrogateescape")
        same = False

        def change(_: str, content: bytes | None) -> bytes | None:
            nonlocal same
            same = text_from(content or b"") == was
            return after if same else content

        await self._rewrite(scope, [name], change)
        return same

    async def is_open(self, scope: "Scope", name: str) -> bool:  # noqa: ARG002 - only files are
        """Return whether a process has a document open for writing."""
        return False

    async def mend(self, scope: "Scope", name: str, change: Callable[[str | None], str]) -> str:
        """Replace a damaged document by what `change` makes of its text, None for none. Call it only within `writing`.

        Return the name under which the damaged one is kept, "" if nothing is left of it.
        """

        def mended(_: str, content: bytes | None) -> bytes:
            text = None if content is None else content.decode("utf-8", "surrogateescape")
            return change(text).encode("utf-8", "surrogateescape")

        aside = await self._set_aside(scope, name)
        await self._rewrite(scope, [name], mended)
        return aside

    async def _set_aside(self, scope: "Scope", name: str) -> str:  # noqa: ARG002 - only files are damaged
        """Copy a damaged document beside it, and return the name of the copy."""
        return ""

    @abstractmethod
    async def _rewrite(self, scope: "Scope", names: Sequence[str], change: Change) -> None:
        """Replace documents by what `change` makes of their names and contents; None stands for no document.

        It may be called again for a document that others save meanwhile. An equal content is not written.
        """

    @abstractmethod
    async def folders(self) -> list[str]:
        """Return the folders of all scopes but the owner's (`people/…`, `rooms/…`, `projects/…`), sorted."""

    async def sweep(self) -> None:  # noqa: B027 - only files can be left behind
        """Clean up files that dead processes have left."""
