"""Memory files: their names, edits and the patches that revert them, merging two edits, and where they are kept."""

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, replace
from difflib import SequenceMatcher
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, TypeAlias

from gateway_memory.ground import decoded, text_in
from gateway_memory.store import markdown

if TYPE_CHECKING:  # hooks need none of these
    from gateway_memory.scope import Scope
    from recall import Stamp

# A compact record of an edit: the changed lines, and a digest of the whole result.


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """A replaced range: from line `at` (counted from 0) of the new text, `after` replaced `before`."""

    at: int
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """An edit of one file. made: the edit created the file. digest: of the resulting text."""

    file: str
    made: bool
    digest: str
    hunks: tuple[Hunk, ...]


def patch_of(file: str, before: str, after: str, *, made: bool) -> Patch:
    """Return the patch that turns `after` back into `before`."""
    old, new = before.split("\n"), after.split("\n")
    hunks = tuple(
        Hunk(at=edit.at, before=tuple(old[edit.start : edit.end]), after=edit.lines) for edit in _edits(old, new)
    )
    return Patch(file=file, made=made, digest=digest_of(after), hunks=hunks)


def _is_pair(lines: tuple[str, str]) -> bool:
    return lines[0] == lines[1]


def taken_back(text: str, patch: Patch) -> str | None:
    """Return the text before the patch; None if the text is not the patch's result, or if the patch changed nothing."""
    if not patch.hunks or digest_of(text) != patch.digest:
        return None
    lines = text.split("\n")
    for hunk in reversed(patch.hunks):
        lines[hunk.at : hunk.at + len(hunk.after)] = hunk.before
    return "\n".join(lines)


def digest_of(text: str) -> str:
    """Return a digest of a document's text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


# Merge two edits of a text, line by line. Pure functions.


@dataclass(frozen=True, slots=True)
class Merged:
    """The text with both edits; "" if they conflict.

    conflicts: the first line of each conflict in one's own text, counted from 1.
    """

    text: str
    conflicts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Edit:
    """Lines start … end - 1 of the basis became `lines`, which begin at line `at` of the edited text."""

    start: int
    end: int
    lines: tuple[str, ...]
    at: int

    @property
    def change(self) -> tuple[int, int, tuple[str, ...]]:
        return self.start, self.end, self.lines


def merged(base: str, theirs: str, mine: str) -> Merged:
    """Return a text with the edits of both sides.

    Edits conflict if they change the same line in different ways, or insert different lines at the same place. Edits of
    neighbouring lines do not.
    """
    lines = _lines(base)
    ours, others = _edits(lines, _lines(mine)), _edits(lines, _lines(theirs))
    known = {edit.change for edit in others}
    fresh = [edit for edit in ours if edit.change not in known]
    conflicts = tuple(edit.at + 1 for edit in fresh if any(_collide(edit, other) for other in others))
    if conflicts:
        return Merged("", conflicts)
    result: list[str] = []
    upto = 0
    for edit in sorted([*others, *fresh], key=lambda edit: (edit.start, edit.end)):
        result += [*lines[upto : edit.start], *edit.lines]
        upto = edit.end
    return Merged("".join(_ended([*result, *lines[upto:]])))


def _lines(text: str) -> list[str]:
    """Return the lines of a text with their ends. Only a line feed ends a line, as in the documents."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _edits(old: Sequence[str], new: Sequence[str]) -> list[_Edit]:
    # Most edits touch a few lines of many, and comparing takes longer than finding where they are.
    head = sum(1 for _ in takewhile(_is_pair, zip(old, new, strict=False)))
    tail = sum(1 for _ in takewhile(_is_pair, zip(reversed(old[head:]), reversed(new[head:]), strict=False)))
    matcher = SequenceMatcher(a=old[head : len(old) - tail], b=new[head : len(new) - tail], autojunk=False)
    return [
        _Edit(head + start, head + end, tuple(new[head + new_start : head + new_end]), head + new_start)
        for kind, start, end, new_start, new_end in matcher.get_opcodes()
        if kind != "equal"
    ]


def _collide(one: _Edit, other: _Edit) -> bool:
    if one.start == one.end == other.start == other.end:
        return True
    return max(one.start, other.start) < min(one.end, other.end) or any(
        outer.start < inner.start == inner.end < outer.end for outer, inner in ((one, other), (other, one))
    )


def _ended(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines. A line that was the last of one side and now stands inside gets a line end."""
    last = len(lines) - 1
    for number, line in enumerate(lines):
        yield line if number == last or line.endswith("\n") else f"{line}\n"


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


# What is asked about a damaged file, as the journal keeps it: in the name of a notice.

_DAMAGED: Final = "damaged "
_FEWEST: Final = 4
"""Of so many lines and more, a loss of half of them is damage."""
FEWEST_OLDER: Final = 2
"""Of the last line alone, deleting it and putting back the version before it look the same."""


def most(lost: int, of: int) -> bool:
    """Return whether half of so many lines or more are lost."""
    return of >= _FEWEST and 2 * lost >= of


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A file that was damaged. lost: the ids of the lines that were gone, of so many. aside: where the broken file is.

    ("" where nothing was left of it.)
    """

    file: str
    lost: tuple[str, ...]
    of: int
    aside: str = ""

    @property
    def name(self) -> str:
        """The name of its notice."""
        return _DAMAGED + json.dumps(asdict(self))

    @classmethod
    def of_notice(cls, name: str) -> "Damage | None":
        """Return the damage of a notice; None if the notice is about something else."""
        if not name.startswith(_DAMAGED):
            return None
        try:
            return decoded(cls, json.loads(name.removeprefix(_DAMAGED)))
        except (ValueError, TypeError):
            return None
