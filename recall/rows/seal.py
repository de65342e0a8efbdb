"""A checksum beside a closed database, since SQLite itself notices few flipped bytes.

A file without a seal (its process was killed, or it is very large) is accepted as it is.
"""

import fcntl
import zlib
from contextlib import suppress
from pathlib import Path
from typing import IO

from gateway_memory.ground.files import private_file

_LARGEST = 256_000_000  # reads in about a quarter of a second
_AT_ONCE = 1 << 20


def opening_lock(path: Path) -> IO[bytes]:
    """Return the file whose lock a process holds while it opens or closes a database."""
    lock = Path(f"{path}.lock")
    private_file(lock)
    return lock.open("r+b")


def seal_of(path: Path) -> Path:
    """Return the path of a database's seal."""
    return Path(f"{path}.seal")


def put_seal(path: Path) -> None:
    """Seal a database, unless another process has it open or is opening it, or the disk is full."""
    with suppress(OSError), opening_lock(path) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_open(path) and path.stat().st_size <= _LARGEST:
            private_file(seal_of(path))
            seal_of(path).write_text(_checksum(path), "ascii")


def break_seal(path: Path) -> bool:
    """Remove the seal; return False if the file has changed since it was sealed. Call it under the opening lock.

    Raises:
        OSError: it cannot be read or removed.
    """
    seal, sealed = seal_of(path), b""
    with suppress(FileNotFoundError):
        sealed = seal.read_bytes()
        seal.unlink()
    # An empty seal was written on a full disk.
    return not sealed or _is_open(path) or not path.exists() or sealed == _checksum(path).encode()


def _is_open(path: Path) -> bool:
    """Return whether a connection has the file open, or a process with it open was killed.

    Such a file must not be read directly: closing a file releases all POSIX locks that the process holds on it.
    """
    return Path(f"{path}-wal").exists()


def _checksum(path: Path) -> str:
    checksum = size = 0
    with path.open("rb") as file:
        while part := file.read(_AT_ONCE):
            checksum = zlib.crc32(part, checksum)
            size += len(part)
    return f"{checksum:08x} {size}"
