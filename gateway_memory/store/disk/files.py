"""Markdown documents as files: one writer at a time in the workspace, and atomic replacement.

All blocking work runs in the store's own threads, so that a hung disk blocks neither the event loop nor the host's
executor.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import wait
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from filelock import FileLock, Timeout

from gateway_memory.errors import StoreError, store_failed
from gateway_memory.ground.threads import Threads
from gateway_memory.scope import OWNER_SCOPE, Scope, folders_in
from gateway_memory.store.disk import replacing
from gateway_memory.store.disk.own import NotOwnError, Owned, open_own, scan_own, writable
from gateway_memory.store.disk.workspace import FILE_MODE
from gateway_memory.store.document_store import Change, Documents, Stamps
from gateway_memory.store.documents import text_of
from recall import Stamp

T = TypeVar("T")

_LOCK_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 1.2
_LAST_LOOK_SECONDS: Final = 1.0
_NOTHING: Final = b"\0 \t\r\n"


class MarkdownFiles(Documents):
    """In the folder of one workspace."""

    def __init__(self, workspace: Path, state: Path, report: Callable[[NotOwnError], None] = lambda _: None) -> None:
        self.folder = workspace
        self._owned = Owned(workspace)
        self._report = report
        self._refused: set[str] = set()
        self._lock = asyncio.Lock()
        self._file_lock = FileLock(
            state / "write.lock", timeout=_LOCK_SECONDS, mode=FILE_MODE, poll_interval=0.005, thread_local=False
        )
        self._reader = Threads(1, "gateway-memory-files")
        self._writer = Threads(1, "gateway-memory-write")
        self._looking: asyncio.TimerHandle | None = None

    def close(self) -> None:
        """Shut the threads down without waiting for one that hangs."""
        if self._looking:
            self._looking.cancel()
        wait([self._writer.submit(replacing.settle, closing=True)], timeout=_LAST_LOOK_SECONDS)
        self._reader.shutdown(wait=False, cancel_futures=True)
        self._writer.shutdown(wait=False, cancel_futures=True)

    @asynccontextmanager
    async def writing(self, scope: Scope) -> AsyncIterator[None]:  # noqa: ARG002 - one lock for all scopes
        async with self._lock:
            acquiring = asyncio.ensure_future(self._write(self._file_lock.acquire))
            try:
                await asyncio.shield(acquiring)
            except asyncio.CancelledError:  # the thread may still acquire the lock, and must then release it
                acquiring.add_done_callback(self._let_go)
                raise
            except Timeout:
                message = f"{self._file_lock.lock_file}: another process has held the lock for {_LOCK_SECONDS:.0f} s"
                raise StoreError(message) from None
            try:
                yield
            finally:
                self._look_later()
                await asyncio.shield(self._write(self._file_lock.release))

    def _let_go(self, acquiring: asyncio.Future[Any]) -> None:
        if not acquiring.cancelled() and acquiring.exception() is None:
            self._file_lock.release()

    async def scan(self, scope: Scope) -> Stamps:

        def work() -> Stamps:
            replacing.settle()  # include late writes of others to a file that was replaced
            stamps, refused = scan_own(self._owned, scope.folder)
            for error in refused:
                self._refuse(error)
            return stamps

        return await self._read(work)

    def _refuse(self, error: NotOwnError) -> None:
        """Report a file that is not read, once."""
        if str(error) not in self._refused:
            self._refused.add(str(error))
            self._report(error)

    async def read(self, scope: Scope, name: str) -> tuple[str, Stamp] | None:
        def work() -> tuple[str, Stamp] | None:
            try:
                return _read(self._owned, f"{scope.folder}/{name}".lstrip("/"))
            except NotOwnError as error:
                self._refuse(error)
                return None

        return await self._read(work)

    async def is_open(self, scope: Scope, name: str) -> bool:
        def work() -> bool:
            try:
                with open_own(self._owned, f"{scope.folder}/{name}".lstrip("/")) as stream:
                    return replacing.is_unwritten(stream.fileno()) is False
            except (FileNotFoundError, NotOwnError):
                return False

        return await self._read(work)

    async def _set_aside(self, scope: Scope, name: str) -> str:
        def work() -> str:
            place = writable(self._owned, f"{scope.folder}/{name}".lstrip("/"))
            content = replacing.read(place)
            return replacing.keep_damaged(place, content).name if content and content.strip(_NOTHING) else ""

        return await self._write(work)

    async def _rewrite(self, scope: Scope, names: Sequence[str], change: Change) -> None:
        def work() -> None:
            for name in names:
                place = writable(self._owned, f"{scope.folder}/{name}".lstrip("/"))
                replacing.rewrite(place, partial(change, name))

        await self._write(work)

    async def folders(self) -> list[str]:
        return await self._read(lambda: folders_in(self._owned.workspace)[1:])

    async def sweep(self) -> None:

        def find() -> list[Path]:
            folders = (
                self._owned.workspace / folder / below
                for folder in folders_in(self._owned.workspace)
                for below in ("", "memory")
            )
            return [path for path in folders if replacing.has_leftovers(path)]

        def work() -> None:
            for path in leftovers:
                replacing.sweep(path)

        leftovers = await self._write(find)
        if leftovers:
            async with self.writing(OWNER_SCOPE):
                await self._write(work)

    def _look(self) -> None:
        """Check replaced files until they can receive no more writes, even if no message triggers a check."""
        self._looking = None
        self._writer.submit(replacing.settle)
        self._look_later()

    def _look_later(self) -> None:
        if self._looking is None and replacing.has_replaced():
            self._looking = asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._look)

    async def _read(self, work: Callable[[], T]) -> T:
        return await self._in_thread(self._reader, work)

    async def _write(self, work: Callable[[], T]) -> T:
        return await self._in_thread(self._writer, work)

    async def _in_thread(self, executor: Threads, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(executor, work)
        except Timeout:
            raise
        except OSError as error:
            raise store_failed(self.folder, error) from error


def _read(owned: Owned, file: str) -> tuple[str, Stamp] | None:
    try:
        with open_own(owned, file) as stream:
            state = os.fstat(stream.fileno())
            raw = stream.read()
    except FileNotFoundError:
        return None
    return text_of(raw, state.st_mtime_ns)
