"""The slot of a process in a workspace: a number that the process leases by a lock file while it lives.

Accepted work carries the number of its process. When the process dies, the kernel releases the lock. The next process
that takes the slot, or that notices the free lock, continues the work. The work of a living process is never taken,
however slow the process is.
"""

import contextlib
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from gateway_memory.errors import StoreError, UsageError
from gateway_memory.ground.threads import compute
from gateway_memory.store.disk.workspace import FILE_MODE, STATE_FOLDER, locked, private_folder

MAX_SLOTS: Final = 1024
_START_SECONDS: Final = 60.0


class NoSlot:
    """The slot of a store in memory, which only one process can use."""

    number = 0

    def is_alone(self) -> bool:
        """Return True."""
        return True

    async def living(self, numbers: Collection[int]) -> frozenset[int]:
        """Return this process's slot if it is one of them."""
        return frozenset({self.number}.intersection(numbers))

    def orphan(self, number: int) -> None:
        """Return None."""


class Slot:
    """The numbered slot of this process, from 0: the lowest free one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._starting = _lock(folder / "starting.lock", seconds=_START_SECONDS)
        self._lock: FileLock | None = None
        self._released = False
        self.number = -1

    def take(self) -> int:
        """Take the lowest free slot, and return its number. Until `started`, no other process can start.

        Raises:
            StoreError: all slots are held, or another process has been starting for a minute.
        """
        private_folder(self._folder)
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
                if self._released:  # the caller has given up meanwhile
                    self.release()
                return number
        self._starting.release()
        raise StoreError(f"{self._folder}: all {MAX_SLOTS} slots are held by other processes")

    def started(self) -> None:
        """Allow other processes to start."""
        self._starting.release()

    def is_alone(self) -> bool:
        """Return whether no other process has the workspace open. Until `started`, this stays true."""
        for path in self._folder.glob("slot-*.lock"):
            if path.name != f"slot-{self.number}.lock":
                lock = _lock(path)
                try:
                    lock.acquire()
                except Timeout:
                    return False
                lock.release()
        return True

    async def living(self, numbers: Collection[int]) -> frozenset[int]:
        """Return which of these slots a living process holds."""
        return frozenset(await compute(lambda: [number for number in numbers if self._is_held(number)]))

    def _is_held(self, number: int) -> bool:
        if number == self.number:
            return True
        orphan = self.orphan(number)
        if orphan is None:
            return True
        with orphan:
            return False

    def orphan(self, number: int) -> AbstractContextManager[object] | None:
        """Return a context that holds the slot of a dead process, or None while that process lives."""
        if number == self.number:
            return None
        try:
            return _lock(self._folder / f"slot-{number}.lock").acquire()
        except Timeout:
            return None

    def release(self) -> None:
        """Release the slot."""
        self._released = True
        self._starting.release()
        if self._lock:
            self._lock.release()
            self._lock = None


@contextlib.contextmanager
def alone(workspace: Path) -> Iterator[None]:
    """Hold a workspace that nobody has open, and in which nobody writes.

    Raises:
        UsageError: another process has it open, or writes in it.
        OSError: a lock can't be made.
    """
    with contextlib.ExitStack() as stack:
        if not stack.enter_context(all_slots(workspace / STATE_FOLDER / "slots")):
            raise UsageError(f"{workspace}: another process has this memory open; end it first")
        try:
            stack.enter_context(locked(workspace))
        except TimeoutError:
            raise UsageError(f"{workspace}: another program writes in it; try again in a moment") from None
        yield


@contextlib.contextmanager
def all_slots(folder: Path) -> Iterator[bool]:
    """Try to hold every slot, and yield whether that succeeded. No other process can then have the workspace open."""
    private_folder(folder)
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
    return FileLock(path, timeout=seconds, mode=FILE_MODE, thread_local=False, is_singleton=False)
