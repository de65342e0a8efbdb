"""Where documents are kept, and edits of them: merged, undone exactly, or line by line."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from gateway_memory.store import markdown
from gateway_memory.store.documents import text_from, title_of
from gateway_memory.store.patches import Patch, patch_of, taken_back

if TYPE_CHECKING:  # hooks need none of these
    from gateway_memory.scope import Scope
    from recall import Stamp

Change: TypeAlias = Callable[[str, bytes | None], bytes | None]
Stamps = dict[str, tuple[int, int]]
"""The modification time (ns since the epoch) and the size (bytes) of each document of a scope, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEdit:
    """Lines to add to and to remove from one document of a scope."""

    file: str
    add: tuple[markdown.Addition, ...] = ()
    remove: tuple[str, ...] = ()
    restore: Patch | None = None
    """An earlier edit to revert exactly. If the document was edited since, lines are added and removed instead."""


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
