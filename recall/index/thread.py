"""The index in its own thread: jobs by priority, a damaged file replaced, a locked one tried again."""

import asyncio
import sqlite3
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from recall.log import get_logger
from recall.threads.worker import SEARCH, WRITE, Worker, settle
from recall.types import RecallError

if TYPE_CHECKING:
    from collections.abc import Callable

    from recall.index.index import Index

__all__ = ["LOCK_RETRY_SECONDS", "IndexThread", "is_locked"]

_log = get_logger(__name__)

T = TypeVar("T")

_BUSY, _LOCKED, _ERROR, _CORRUPT, _NOT_A_DATABASE = 5, 6, 1, 11, 26
# What a job raises where a table has lost its name, or a row holds what nobody has put there: SQLite checks neither.
_DAMAGED = (sqlite3.DatabaseError, ValueError, TypeError, LookupError, OverflowError, MemoryError)
# A write that finds another process writing tries again after so long, so that searches go between; in all so long.
LOCK_RETRY_SECONDS = 0.05
_LOCK_PATIENCE_SECONDS = 30.0
_OPEN_PATIENCE_SECONDS = 5.0
_CLOSE_SECONDS = 1.0


class IndexThread:
    """Owns SQLite and numpy's arrays: one job at a time. numpy is imported in its thread, never on the event loop."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._worker = Worker("recall-index")
        self._index: Index | None = None

    @property
    def busy(self) -> bool:
        """Whether a job runs or waits."""
        return self._worker.busy

    @property
    def generation(self) -> int:
        """How often the index was replaced since it was opened."""
        return 0 if self._index is None else self._index.generation

    @property
    def replaced(self) -> int:
        """How often the index was found damaged since this was made, at its opening or later."""
        return 0 if self._index is None else self._index.damaged

    async def open(self) -> bool:
        """Start the thread and open the index; True if it was made anew. Raises RecallError if that can't be.

        One that another process has locked is tried again for some seconds.
        """

        def job() -> bool:
            index = _make_index(self._path)
            made = index.open()
            self._index = index
            return made

        self._worker.start()
        patience = time.monotonic() + _OPEN_PATIENCE_SECONDS
        while True:
            try:
                return await self._worker.submit(job)
            except (OSError, sqlite3.Error) as error:
                if not is_locked(error) or time.monotonic() > patience:
                    self._worker.stop()
                    raise RecallError(f"the index {self._path} cannot be opened: {error}") from error
            await asyncio.sleep(LOCK_RETRY_SECONDS)

    async def close(self) -> None:
        """Close the index and end the thread. One that hangs is left behind after a second."""
        index, self._index = self._index, None
        if index is None:
            return
        await asyncio.wait({self._worker.submit(index.close)}, timeout=_CLOSE_SECONDS)
        thread = self._worker.stop()
        if thread is not None:
            await asyncio.to_thread(thread.join, _CLOSE_SECONDS)

    def run(self, job: "Callable[[Index], T]", priority: int = WRITE) -> "asyncio.Future[T]":
        """Run a job in the thread. A file that turns out to be damaged is replaced, and the job done again."""
        return self._worker.submit(partial(_guarded, job, self._opened()), priority=priority)

    def give(
        self, job: "Callable[[Index], T]", future: "asyncio.Future[T]", priority: int, *, here: bool = False
    ) -> None:
        """`run` from any thread, with the future that gets the answer; cancelled where the index was closed.

        here: see `Worker.give`.
        """
        index = self._index  # read once: it may be closed meanwhile
        if index is None:
            settle(future.get_loop(), future, None, asyncio.CancelledError())
        else:
            self._worker.give(partial(_guarded, job, index), future, priority, here=here)

    def _opened(self) -> "Index":
        if self._index is None:
            raise RecallError("recall is not open")
        return self._index

    def load(self, scope: str) -> None:
        """Begin to load a scope that rests, while a message's vector is being made."""
        if not self._opened().holds(scope):
            loading = self.run(partial(_load, scope), SEARCH)
            loading.add_done_callback(_seen)

    async def write(self, job: "Callable[[Index], T]", priority: int = WRITE) -> T:
        """A job that writes; while another process writes it is put off, and searches go on meanwhile.

        Raises RecallError if it cannot be written at all.
        """
        patience = time.monotonic() + _LOCK_PATIENCE_SECONDS
        while True:
            try:
                return await self.run(job, priority)
            except sqlite3.Error as error:
                if not is_locked(error) or time.monotonic() > patience:
                    raise RecallError(f"the index cannot be written: {error}") from error
            await asyncio.sleep(LOCK_RETRY_SECONDS)


def _guarded(job: "Callable[[Index], T]", index: "Index") -> T:
    try:
        return job(index)
    except _DAMAGED as error:
        if not _is_damage(error):
            raise
        found: Exception = error
    if not isinstance(found, sqlite3.Error):  # another process may just have changed what the rows hold: its encoder
        try:
            index.follow()
            return job(index)
        except _DAMAGED as error:
            if not _is_damage(error):
                raise
            found = error
    _log.error("recall.index_damaged", error=type(found).__name__)
    index.replace()
    return job(index)


def _is_damage(error: Exception) -> bool:
    """Whether an error may come of a damaged file, and of nothing that passes."""
    if not isinstance(error, sqlite3.Error):
        return True
    # A text that is no UTF-8 has no code at all; nor has the use of a closed file, which is no damage.
    codes = (0, _ERROR, _CORRUPT, _NOT_A_DATABASE)
    return not isinstance(error, sqlite3.ProgrammingError) and _code(error) in codes


def _load(scope: str, index: "Index") -> None:
    index.scope(scope)


def _seen(future: "asyncio.Future[None]") -> None:
    """Take note of an error: whoever searches meets it again."""
    if not future.cancelled():
        future.exception()


def is_locked(error: BaseException) -> bool:
    """Whether another process has what was asked for, and may soon let go of it."""
    return isinstance(error, BlockingIOError) or (isinstance(error, sqlite3.Error) and _code(error) in (_BUSY, _LOCKED))


def _code(error: sqlite3.Error) -> int:
    """SQLite's primary result code."""
    return int(getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF


def _make_index(path: Path) -> "Index":
    from recall.index.index import Index

    return Index(path)
