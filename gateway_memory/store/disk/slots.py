"""A process's place in a workspace: a number that it holds by a lock file for as long as it lives.

What a process has accepted carries its number. When it dies, the kernel frees the lock, and whoever takes the number
next, or notices that nobody holds it, goes on with that work. So a living process's work is never taken, however slow
it is.
"""

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from gateway_memory.errors import StoreError

__all__ = ["NoSlot", "Slot", "all_slots"]

MAX_SLOTS: Final = 1024
_START_SECONDS: Final = 60.0


class NoSlot:
    """The place of the only process that there can be: of a store in memory."""

    number = 0

    def is_alone(self) -> bool:
        """Return True."""
        return True

    def orphan(self, number: int) -> None:
        """Return None."""


class Slot:
    """The numbered slot of this process, from 0; the lowest one that is free."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._starting = _lock(folder / "starting.lock", seconds=_START_SECONDS)
        self._lock: FileLock | None = None
        self._released = False
        self.number = -1

    def take(self) -> int:
        """Hold the lowest free slot, and return its number; until `started`, no other process starts.

        Raises:
            StoreError: more than a thousand processes hold one, or another one has been starting for a minute.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            self._starting.acquire()
        except Timeout:
            message = f"{self._folder.parent.parent}: another process has been starting, or deleting, for a minute"
            raise StoreError(message) from None
        for number in range(MAX_SLOTS):
            lock = _lock(self._folder / f"slot-{number}.lock")
            with contextlib.suppress(Timeout):
                lock.acquire()
                self._lock, self.number = lock, number
                if self._released:  # whoever waited for this has given up meanwhile
                    self.release()
                return number
        self._starting.release()
        raise StoreError(f"{self._folder}: all {MAX_SLOTS} slots are held by other processes")

    def started(self) -> None:
        """Let other processes start."""
        self._starting.release()

    def is_alone(self) -> bool:
        """Return whether no other process has the workspace open; until `started`, that stays so."""
        for path in self._folder.glob("slot-*.lock"):
            if path.name != f"slot-{self.number}.lock":
                lock = _lock(path)
                try:
                    lock.acquire()
                except Timeout:
                    return False
                lock.release()
        return True

    def orphan(self, number: int) -> AbstractContextManager[object] | None:
        """Hold the slot of a process that is gone, until the context ends; None while it lives."""
        if number == self.number:
            return None
        try:
            return _lock(self._folder / f"slot-{number}.lock").acquire()
        except Timeout:
            return None

    def release(self) -> None:
        """Let the slot go."""
        self._released = True
        self._starting.release()
        if self._lock:
            self._lock.release()
            self._lock = None


@contextlib.contextmanager
def all_slots(folder: Path) -> Iterator[bool]:
    """Hold every slot, so that no process can have the workspace open; whether that is so is what it yields."""
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        for path in dict.fromkeys((folder / "starting.lock", *sorted(folder.glob("slot-*.lock")))):
            lock = _lock(path)
            try:
                lock.acquire()
            except Timeout:
                yield False
                return
            stack.callback(lock.release)
        yield True


def _lock(path: Path, *, seconds: float = 0.0) -> FileLock:
    return FileLock(path, timeout=seconds, thread_local=False, is_singleton=False)
