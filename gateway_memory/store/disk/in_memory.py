"""Documents and session records in memory: for tests of hosts, and for memories that end with their process."""

import asyncio
import hashlib
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from gateway_memory.scope import Scope
from gateway_memory.store.documents import FileEdit, Patch, edited_all
from gateway_memory.store.ports import Stamps
from gateway_memory.store.summaries import parsed
from recall import Stamp

__all__ = ["DocumentsInMemory", "RecordsInMemory"]


class DocumentsInMemory:
    """The port `Documents` over a dictionary: (folder of the scope, name) → (content, modification time in ns)."""

    folder: Path | None = None

    def __init__(self) -> None:
        self._contents: dict[tuple[str, str], tuple[bytes, int]] = {}
        self._writing: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    @asynccontextmanager
    async def writing(self, scope: Scope) -> AsyncIterator[None]:
        async with self._writing[scope.key]:
            yield

    async def scan(self, scope: Scope) -> Stamps:
        return {
            name: (saved, len(content))
            for (folder, name), (content, saved) in self._contents.items()
            if folder == scope.folder
        }

    async def read(self, scope: Scope, name: str) -> tuple[str, Stamp] | None:
        found = self._contents.get((scope.folder, name))
        if found is None:
            return None
        content, saved = found
        digest = hashlib.blake2b(content, digest_size=16).hexdigest()
        return content.decode("utf-8", "surrogateescape"), Stamp(mtime_ns=saved, size=len(content), digest=digest)

    async def edit(self, scope: Scope, edits: Sequence[FileEdit]) -> tuple[Patch, ...]:
        contents = {change.file: self._contents.get((scope.folder, change.file), (None, 0))[0] for change in edits}
        after, patches = edited_all(contents, edits)
        for file, content in after.items():
            self._put(scope, file, content)
        return patches

    async def create(self, scope: Scope, name: str, text: str) -> None:
        self._put(scope, name, text.encode("utf-8", "replace"))

    async def save(self, scope: Scope, name: str, text: str, *, was: str) -> bool:
        content, _ = self._contents.get((scope.folder, name), (b"", 0))
        if content != was.encode("utf-8", "surrogateescape"):
            return False
        self._put(scope, name, text.encode("utf-8", "surrogateescape"))
        return True

    async def folders(self) -> list[str]:
        return sorted({folder for folder, _ in self._contents if folder})

    async def sweep(self) -> None:
        """Do nothing: there are no files of dead processes."""

    def _put(self, scope: Scope, name: str, content: bytes | None) -> None:
        if content is None:
            self._contents.pop((scope.folder, name), None)
        elif self._contents.get((scope.folder, name), (None, 0))[0] != content:
            self._contents[scope.folder, name] = content, time.time_ns()


class RecordsInMemory:
    """The session records of one scope as lines: a `RecordFile`. Only the journal's thread uses it."""

    def __init__(self) -> None:
        self._content: bytes | None = None
        self.damaged = b""

    def read(self, start: int = 0) -> bytes | None:
        return None if self._content is None else self._content[start:]

    def last(self) -> dict[str, Any] | None:
        records, _ = parsed(self._content or b"")
        return next((record for record in reversed(records) if not record.get("deleted_at")), None)

    def append(self, lines: bytes) -> None:
        self._content = (self._content or b"") + lines

    def rewrite(self, change: Callable[[bytes | None], bytes | None]) -> None:
        after = change(self._content)
        self._content = self._content if after is None else after

    def put_aside(self, lines: bytes) -> None:
        self.damaged += lines
