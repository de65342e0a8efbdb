"""A checksum beside a database that nobody has open: SQLite itself notices few of the bytes that flip on a disk.

A file without a seal (its process was killed, or it is very large) is taken as it is.
"""

import fcntl
import zlib
from contextlib import suppress
from pathlib import Path

__all__ = ["break_seal", "put_seal", "seal_of"]

_LARGEST = 256_000_000  # reads in about a quarter of a second
_AT_ONCE = 1 << 20


def seal_of(path: Path) -> Path:
    """Return where the seal of a database lies."""
    return Path(f"{path}.seal")


def put_seal(path: Path) -> None:
    """Seal a database, unless somebody has it open, or is opening it, or there is no room."""
    with suppress(OSError), Path(f"{path}.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_open(path) and path.stat().st_size <= _LARGEST:
            seal_of(path).write_text(_checksum(path), "ascii")


def break_seal(path: Path) -> bool:
    """Remove the seal; False if the file is not what was sealed. Call it under the lock of who opens.

    Raises OSError.
    """
    seal, sealed = seal_of(path), b""
    with suppress(FileNotFoundError):
        sealed = seal.read_bytes()
        seal.unlink()
    # It is empty where the disk was full.
    return not sealed or _is_open(path) or not path.exists() or sealed == _checksum(path).encode()


def _is_open(path: Path) -> bool:
    """Whether a connection has the file open, or one was killed.

    Then it is not to be read past SQLite: whoever closes a file lets go of the locks that its process has on it.
    """
    return Path(f"{path}-wal").exists()


def _checksum(path: Path) -> str:
    found = size = 0
    with path.open("rb") as file:
        while part := file.read(_AT_ONCE):
            found = zlib.crc32(part, found)
            size += len(part)
    return f"{found:08x} {size}"
