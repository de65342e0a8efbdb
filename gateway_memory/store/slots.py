"""A process's place in a workspace: a number that it holds by a lock file for as long as it lives.

What a process has accepted carries its number. When it dies, the kernel frees the lock, and whoever takes the number
next, or notices that nobody holds it, goes on with that work. So a living process's work is never taken, however slow
it is.
"""

from pathlib import Path

from filelock import FileLock, Timeout

from gateway_memory.errors import StoreError

__all__ = ["Slot"]

MAX_SLOTS = 1024


class Slot:
    """The numbered slot of this process, from 0; the lowest one that is free."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock: FileLock | None = None
        self.number = -1

    def take(self) -> int:
        """Hold the lowest free slot, and return its number.

        Raises:
            StoreError: more than a thousand processes hold one.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        for number in range(MAX_SLOTS):
            lock = self._try(number)
            if lock:
                self._lock, self.number = lock, number
                return number
        raise StoreError(f"{self._folder}: all {MAX_SLOTS} slots are held by other processes")

    def orphan(self, number: int) -> FileLock | None:
        """Return the held lock of a slot whose process is gone, or None while it lives.

        Release it after taking over its work.
        """
        return None if number == self.number else self._try(number)

    def release(self) -> None:
        """Let the slot go."""
        if self._lock:
            self._lock.release()
            self._lock = None

    def _try(self, number: int) -> FileLock | None:
        lock = FileLock(self._folder / f"slot-{number}.lock", timeout=0, thread_local=False, is_singleton=False)
        try:
            lock.acquire()
        except Timeout:
            return None
        return lock
