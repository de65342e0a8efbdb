"""Read files of lines that other tools write to, and append to them."""

import os
import time
from pathlib import Path
from typing import Final

from gateway_memory.store.disk.private import private_folder

__all__ = ["append", "content_of", "read", "read_whole"]

_POLLS: Final = 25
_POLL_SECONDS: Final = 0.001


def append(path: Path, lines: bytes) -> None:
    """Append whole lines to a file, atomically. Raises OSError."""
    private_folder(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":  # an incomplete line
            lines = b"\n" + lines
        written = 0
        try:
            while written < len(lines):
                written += os.write(descriptor, lines[written:])
            os.fsync(descriptor)
        except OSError:
            if os.fstat(descriptor).st_size == size + written:  # never cut off what others have appended
                os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)


def content_of(descriptor: int) -> bytes:
    """Return the content of an open file."""
    parts: list[bytes] = []
    position = 0
    while part := os.pread(descriptor, 1 << 20, position):
        parts.append(part)
        position += len(part)
    return b"".join(parts)


def read(path: Path) -> bytes | None:
    """Return a file's content; None if there is no file."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def read_whole(path: Path) -> bytes | None:
    """Read a file, and wait briefly for a last line of which only a part stands there.

    A write that crosses a page of the file becomes visible in two parts.
    """
    content = read(path)
    for _ in range(_POLLS):
        if not content or content.endswith(b"\n"):
            break
        time.sleep(_POLL_SECONDS)
        content, before = read(path), content
        if content == before:
            break
    return content
