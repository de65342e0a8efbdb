"""Lets the system read a database before its pages are asked for one by one."""

import os
from contextlib import suppress
from pathlib import Path

__all__ = ["read_ahead"]

_DESCRIPTORS = Path("/proc/self/fd")
_LARGEST = 256_000_000
_AT_ONCE = 1 << 20  # of more in one call Linux reads only the beginning


def read_ahead(path: Path) -> None:
    """Ask for the whole of a file that SQLite has open here, where the system can (Linux), up to 256 MB.

    Rows and vectors were written in different orders, so that SQLite reads here and there: 140 MB that nobody has read
    since the machine started take six seconds, and in one go a quarter of one. SQLite's own descriptor is used: closing
    another one of the same file would let go of SQLite's locks.
    """
    with suppress(OSError, AttributeError):
        wanted = path.stat()
        if wanted.st_size > _LARGEST:
            return
        for entry in _DESCRIPTORS.iterdir():
            with suppress(OSError):
                found = os.fstat(int(entry.name))
                if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
                    for start in range(0, wanted.st_size, _AT_ONCE):
                        os.posix_fadvise(int(entry.name), start, _AT_ONCE, os.POSIX_FADV_WILLNEED)
                    return
