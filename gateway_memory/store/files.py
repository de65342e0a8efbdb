"""Reading and writing the Markdown files: one writer at a time in the workspace, and never half a file.

Everything blocking runs in the store's own threads, so that a hung disk holds up neither the event loop nor the host's
executor.
"""

import asyncio
import hashlib
import os
import re
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from filelock import FileLock, Timeout

from gateway_memory.errors import StoreError
from gateway_memory.store import markdown, replacing
from gateway_memory.store.patch import Patch, patch_of, taken_back
from recall import Stamp

__all__ = ["MEMORY_FILE", "FileEdit", "MarkdownFiles", "Stamps", "day_file", "is_day_file", "is_writable"]

T = TypeVar("T")

Stamps = dict[str, tuple[int, int]]
"""When each Markdown file of a scope was saved (mtime in ns) and its size in bytes, by name within its folder."""

MEMORY_FILE: Final = "MEMORY.md"
_DAY_FILE: Final = re.compile(r"^memory/(\d{4}-\d{2}-\d{2})\.md$")
_LOCK_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 1.2
_LAST_LOOK_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEdit:
    """Lines to add to and to remove from one file of a scope's folder."""

    file: str
    add: tuple[markdown.Addition, ...] = ()
    remove: tuple[str, ...] = ()
    restore: Patch | None = None
    """An earlier edit that is taken back as it was made; where somebody edited since, lines are added and removed."""


def day_file(day: str) -> str:
    """Return the name of a day's log: `day` is YYYY-MM-DD."""
    return f"memory/{day}.md"


def is_day_file(file: str) -> bool:
    """Return whether the file is a day's log, which we write, and not another note beside it, which we only read."""
    return bool(_DAY_FILE.match(file))


def is_writable(file: str) -> bool:
    """Return whether lines of the file may be changed: MEMORY.md and the days' logs, no other note."""
    return file == MEMORY_FILE or is_day_file(file)


class MarkdownFiles:
    """The Markdown files below one workspace. `folder` is a scope's folder, relative to it ("" for the owner's)."""

    def __init__(self, workspace: Path, state: Path) -> None:
        self._workspace = workspace
        self._lock = asyncio.Lock()
        self._file_lock = FileLock(state / "write.lock", timeout=_LOCK_SECONDS, poll_interval=0.005, thread_local=False)
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="gateway-memory-files")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="gateway-memory-write")
        self._looking: asyncio.TimerHandle | None = None

    def close(self) -> None:
        """Let the threads go; a hung one is not waited for."""
        if self._looking:
            self._looking.cancel()
        wait([self._writer.submit(replacing.look, closing=True)], timeout=_LAST_LOOK_SECONDS)
        self._reader.shutdown(wait=False, cancel_futures=True)
        self._writer.shutdown(wait=False, cancel_futures=True)

    def path(self, folder: str, file: str) -> Path:
        """Return where a file of a scope's folder lies."""
        return self._workspace / folder / file

    async def sweep(self) -> None:
        """Clean up what processes that died have left."""

        def find() -> list[Path]:
            folders = ("memory", "people/*", "people/*/memory", "rooms/*", "rooms/*/memory")
            found = [self._workspace, *(path for folder in folders for path in self._workspace.glob(folder))]
            return [path for path in found if replacing.has_leftovers(path)]

        def work() -> None:
            for path in left:
                replacing.sweep(path)

        left = await self._write(find)
        if left:
            async with self.writing():
                await self._write(work)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Be the only writer of the workspace: in this process by an asyncio lock, among processes by a file lock.

        Raises:
            StoreError: another process held the lock for longer than half a minute.
        """
        async with self._lock:
            acquiring = asyncio.ensure_future(self._write(self._file_lock.acquire))
            try:
                await asyncio.shield(acquiring)
            except asyncio.CancelledError:  # the thread may still get the lock: it must not keep it
                acquiring.add_done_callback(self._let_go)
                raise
            except Timeout:
                message = f"{self._file_lock.lock_file}: another process has held the lock for {_LOCK_SECONDS:.0f} s"
                raise StoreError(message) from None
            try:
                yield
            finally:
                await asyncio.shield(self._write(self._file_lock.release))

    def _let_go(self, acquiring: asyncio.Future[Any]) -> None:
        if not acquiring.cancelled() and acquiring.exception() is None:
            self._file_lock.release()

    async def scan(self, folder: str) -> Stamps:
        """Return the stamps of a scope's files as they are now."""

        def work() -> Stamps:
            replacing.look()  # what others have written into a file that was replaced belongs to what is there
            return _scan(self._workspace / folder)

        return await self._read(work)

    async def read(self, folder: str, file: str) -> tuple[str, Stamp] | None:
        """Return a file's text and stamp, or None where there is no such file."""
        return await self._read(lambda: _read(self._workspace / folder / file))

    async def edit(self, folder: str, edits: Sequence[FileEdit]) -> tuple[Patch, ...]:
        """Apply the edits, each file at once and whole; return how to take them back. Call it only within `writing`.

        Raises:
            OSError: the file can't be written; the old one stands untouched.
        """

        def work() -> tuple[Patch, ...]:
            return tuple(_edit(self._workspace / folder, change) for change in edits)

        try:
            return await self._write(work)
        finally:
            self._look_later()

    async def rewrite(self, folder: str, file: str, change: Callable[[bytes | None], bytes | None]) -> None:
        """Replace a file that is no Markdown, by `replacing.rewrite`. Call it only within `writing`.

        Raises:
            OSError: it can't be written; the old one stands untouched.
        """
        try:
            await self._write(lambda: replacing.rewrite(self._workspace / folder / file, change))
        finally:
            self._look_later()

    async def create(self, folder: str, file: str, text: str) -> None:
        """Write a new file of somebody else's prose, whole. Call it only within `writing`, where there is none.

        Raises:
            OSError: it can't be written.
        """

        def work() -> None:
            replacing.rewrite(self._workspace / folder / file, lambda _: text.encode("utf-8", "replace"))

        await self._write(work)

    def _look(self) -> None:
        """Look at what was replaced until nothing more can come into it, also where no message makes us look."""
        self._looking = None
        if replacing.is_looked_for():
            self._writer.submit(replacing.look)
            self._look_later()

    def _look_later(self) -> None:
        if self._looking is None:
            self._looking = asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._look)

    async def _read(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._reader, work)

    async def _write(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._writer, work)


def _scan(folder: Path) -> Stamps:
    found: Stamps = {}
    at = f"{folder}{os.sep}"  # joining paths takes longer than asking the disk
    with suppress(FileNotFoundError):
        state = os.stat(at + MEMORY_FILE)  # noqa: PTH116
        found[MEMORY_FILE] = (state.st_mtime_ns, state.st_size)
    with suppress(FileNotFoundError), os.scandir(f"{at}memory") as entries:
        for entry in entries:
            name = entry.name
            if name.endswith(".md") and not name.startswith(".") and entry.is_file():
                state = entry.stat()
                found[f"memory/{name}"] = (state.st_mtime_ns, state.st_size)
    return found


def _read(path: Path) -> tuple[str, Stamp] | None:
    try:
        with path.open("rb") as stream:
            state = os.fstat(stream.fileno())
            raw = stream.read()
    except FileNotFoundError:
        return None
    digest = hashlib.blake2b(raw, digest_size=16).hexdigest()
    return raw.decode("utf-8", "surrogateescape"), Stamp(mtime_ns=state.st_mtime_ns, size=state.st_size, digest=digest)


def _edit(folder: Path, change: FileEdit) -> Patch:
    path = (folder / change.file).resolve()  # a link stays a link: the file that it names is replaced
    made = False
    patch = patch_of(change.file, "", "", made=False)

    def changed(content: bytes | None) -> bytes | type[replacing.Gone] | None:
        nonlocal made, patch
        made = made or content is None
        before = (content or b"").decode("utf-8", "surrogateescape")
        title = "Memory" if change.file == MEMORY_FILE else path.stem
        after = taken_back(before, change.restore) if change.restore else None
        if after is None:
            after = markdown.edit(before, add=change.add, remove=change.remove, file=change.file, title=title)
        patch = patch_of(change.file, before, after, made=made)
        if after == "" and change.restore and change.restore.made:
            return replacing.Gone
        return None if after == before else after.encode("utf-8", "surrogateescape")

    replacing.rewrite(path, changed)
    return patch
