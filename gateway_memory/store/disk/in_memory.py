"""Documents and session records in memory: for tests of hosts, and for memories that end with their process."""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from gateway_memory.scope import Scope
from gateway_memory.store.document_store import Change, Documents, Stamps
from gateway_memory.store.documents import text_of
from gateway_memory.store.summaries import newest_of
from recall import Stamp


class DocumentsInMemory(Documents):
    """Over a dictionary: (folder of the scope, name) → (content, modification time in ns)."""

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
        document = self._contents.get((scope.folder, name))
        return None if document is None else text_of(*document)

    async def _rewrite(self, scope: Scope, names: Sequence[str], change: Change) -> None:
        for name in names:
            before, last = self._contents.get((scope.folder, name), (None, 0))
            after = change(name, before)
            if after is None:
                self._contents.pop((scope.folder, name), None)
            elif after != before:
                self._contents[scope.folder, name] = after, max(last + 1, time.time_ns())

    async def folders(self) -> list[str]:
        return sorted({folder for folder, _ in self._contents if folder})


class RecordsInMemory:
    """The session records of one scope as lines: a `RecordFile`. Only the journal's thread uses it."""

    def __init__(self) -> None:
        self._content: bytes | None = None
        self.damaged = b""

    def read(self, start: int = 0) -> bytes | None:
        return None if self._content is None else self._content[start:]

    def last(self) -> dict[str, Any] | None:
        return newest_of(self._content or b"")

    def append(self, lines: bytes) -> None:
        self._content = (self._content or b"") + lines

    def rewrite(self, change: Callable[[bytes | None], bytes | None]) -> None:
        self._content = change(self._content)

    def put_aside(self, lines: bytes) -> None:
        self.damaged += lines
