"""The index in its own thread: jobs by priority, a damaged file replaced, a locked one tried again."""

import asyncio
import sqlite3
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from recall.log import get_logger
from recall.threads.priority import WRITE, PriorityThread
from recall.types import RecallError

if TYPE_CHECKING:
    from collections.abc import Callable

    from recall.index.index import Index

__all__ = ["IndexThread"]

_log = get_logger(__name__)

T = TypeVar("T")

_BUSY, _LOCKED, _ERROR, _CORRUPT, _NOT_A_DATABASE = 5, 6, 1, 11, 26
# What a job raises where a table has lost its name, or a row holds unexpected values: SQLite checks neither.
_DAMAGED = (sqlite3.DatabaseError, ValueError, TypeError, LookupError, OverflowError, MemoryError)
# A job that finds another process writing tries again after so long, so that searches go between.
_LOCK_RETRY_SECONDS = 0.05
_LOCK_PATIENCE_SECONDS = 30.0
_OPEN_PATIENCE_SECONDS = 5.0


class IndexThread:
    """Owns SQLite and numpy's arrays: one job at a time. numpy is imported in its thread, never on the event loop."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = PriorityThread("recall-index")
        self._index: Index | None = None

    @property
    def generation(self) -> int:
        """How often the index was replaced since it was opened."""
        return 0 if self._index is None else self._index.generation

    @property
    def replaced(self) -> int:
        """How often the index was found damaged since this was made, when it was opened or later."""
        return 0 if self._index is None else self._index.damaged

    async def open(self) -> bool:
        """Start the thread and open the index; return True if it was made anew.

        Raises:
            RecallError: it cannot be opened, or another process has it locked for some seconds.
        """

        def job() -> "tuple[Index, bool]":
            from recall.index.index import Index

            index = Index(self._path)
            return index, index.open()

        self._thread.start()
        patience = time.monotonic() + _OPEN_PATIENCE_SECONDS
        while True:
            try:
                self._index, made = await self._thread.submit(job, WRITE)
            except (OSError, sqlite3.Error) as error:
                if not _is_locked(error) or time.monotonic() > patience:
                    await self._thread.close()
                    raise RecallError(f"the index {self._path} cannot be opened: {error}") from error
            else:
                return made
            await asyncio.sleep(_LOCK_RETRY_SECONDS)

    async def close(self) -> None:
        """Close the index and end the thread; what waits raises RecallError."""
        index, self._index = self._index, None
        if index is not None:
            await self._thread.close(index.close)

    def opened(self) -> "Index":
        """Return the index. Raises RecallError where it is not open."""
        if self._index is None:
            raise RecallError("recall is not open")
        return self._index

    async def run(
        self, job: "Callable[[Index], T]", priority: int = WRITE, *, patience_seconds: float = _LOCK_PATIENCE_SECONDS
    ) -> T:
        """Run a job in the thread. A damaged file is replaced, and the job done again.

        While another process has the file locked, the job is tried again; others go between.

        Raises:
            RecallError: the index is not open, cannot be read or written, or was locked for `patience_seconds`.
        """
        until = time.monotonic() + patience_seconds
        while True:
            try:
                return await self._thread.submit(partial(_guarded, job, self.opened()), priority)
            except sqlite3.Error as error:
                if not _is_locked(error) or time.monotonic() >= until:
                    raise RecallError(f"the index cannot be read or written: {error}") from error
            await asyncio.sleep(_LOCK_RETRY_SECONDS)


def _guarded(job: "Callable[[Index], T]", index: "Index") -> T:
    try:
        return job(index)
    except _DAMAGED as error:
        if not _is_damage(error):
            raise
        found: Exception = error
    if not isinstance(found, sqlite3.Error):  # another process may just have changed the rows' encoder
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
    """Return whether an error may come of a damaged file, and not of something that passes."""
    if not isinstance(error, sqlite3.Error):
        return True
    # A text that is no UTF-8 has no code at all; nor has the use of a closed file, which is no damage.
    codes = (0, _ERROR, _CORRUPT, _NOT_A_DATABASE)
    return not isinstance(error, sqlite3.ProgrammingError) and _code(error) in codes


def _is_locked(error: BaseException) -> bool:
    """Return whether another process holds a lock, which it may soon release."""
    return isinstance(error, BlockingIOError) or (isinstance(error, sqlite3.Error) and _code(error) in (_BUSY, _LOCKED))


def _code(error: sqlite3.Error) -> int:
    """Return SQLite's primary result code."""
    return int(getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
