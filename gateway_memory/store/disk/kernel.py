"""System calls for files that Python does not expose, with fallbacks for kernels without them."""

import ctypes
import errno
import fcntl
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

__all__ = ["is_anothers", "is_unwritten", "persist", "rename"]

_NO_SUCH_CALL: Final = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM})


def is_unwritten(descriptor: int) -> bool | None:
    """Return whether no process has a file open for writing; None if the kernel can't tell."""
    if sys.platform != "linux":
        return None
    try:
        # The kernel grants a read lease only if there is no writer. If a process opens the file in this moment, the
        # kernel sends a signal. SIGURG is ignored by default, while the kernel's default signal would end the process.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return False if error.errno in (errno.EAGAIN, errno.EBUSY) else None
    return True


def rename(source: Path, target: Path, *, exchange: bool) -> None:
    """Exchange two files, or rename one to a free name; atomically if the file system supports it."""
    call = _SYSTEM.exchange if exchange else _SYSTEM.rename_new
    problem = call(os.fsencode(source), os.fsencode(target))
    if problem == 0:
        return
    if problem not in _NO_SUCH_CALL:
        raise OSError(problem, os.strerror(problem), str(target))
    if not exchange:
        target.hardlink_to(source)
        source.unlink()
        return
    spare = source.with_name(f".{os.getpid():x}-0.tmp")
    with suppress(OSError):  # without links the old file can't be kept
        spare.hardlink_to(target)
    source.replace(target)
    with suppress(FileNotFoundError):
        spare.rename(source)


class _System:
    """The rename system calls that Python does not expose. Each returns an error number, or 0."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None, use_errno=True)
        self._call: Any = None
        if sys.platform == "darwin":
            self._call = getattr(library, "renamex_np", None)
            self._flags = (4, 2)
        else:
            self._call = getattr(library, "renameat2", None)
            self._flags = (1, 2)

    def rename_new(self, source: bytes, target: bytes) -> int:
        return self._rename(source, target, self._flags[0])

    def exchange(self, source: bytes, target: bytes) -> int:
        return self._rename(source, target, self._flags[1])

    def _rename(self, source: bytes, target: bytes, flag: int) -> int:
        if self._call is None:
            return errno.ENOSYS
        here = -100  # AT_FDCWD: unused, since these paths are absolute
        arguments = (source, target, flag) if sys.platform == "darwin" else (here, source, here, target, flag)
        return ctypes.get_errno() if self._call(*arguments) else 0


_SYSTEM: Final = _System()


def persist(folder: Path) -> None:
    """Flush the directory entries of a folder to disk. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_anothers(number: str | None) -> bool:
    """Return whether a process is alive and not this one. number: its id in hexadecimal, None if unknown."""
    if number is None or int(number, 16) == os.getpid():
        return False
    try:
        os.kill(int(number, 16), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
