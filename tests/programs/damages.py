"""What breaks a file by itself: a power loss, a full disk, a backup that is put back, a client that syncs folders.

Each takes the file, and the content that it had some lines ago.
"""

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Final

__all__ = [
    "OF_ANY_FILE",
    "OF_TEXT",
    "Damage",
    "empty",
    "ends_in_nuls",
    "garbage",
    "gone",
    "half",
    "last_line_cut",
    "nuls",
    "older",
    "two_copies",
]

Damage = Callable[[Path, bytes], None]
_PAGE: Final = 4096
_SECTOR: Final = 512


def half(path: Path, _: bytes) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def empty(path: Path, _: bytes) -> None:
    path.write_bytes(b"")


def gone(path: Path, _: bytes) -> None:
    path.unlink()


def nuls(path: Path, _: bytes) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def garbage(path: Path, _: bytes) -> None:
    path.write_bytes(random.Random(46).randbytes(path.stat().st_size))  # noqa: S311


def last_line_cut(path: Path, _: bytes) -> None:
    """Of a database: the end of its last page."""
    path.write_bytes(path.read_bytes().rstrip()[:-30])


def older(path: Path, before: bytes) -> None:
    path.write_bytes(before)


def two_copies(path: Path, before: bytes) -> None:
    """Two machines have written it: the client puts the older one in its place, and the newer one beside it."""
    path.with_name(f"{path.stem} (Eva's conflicted copy 2026-11-21){path.suffix}").write_bytes(path.read_bytes())
    other = path.with_name("downloaded")
    other.write_bytes(before)
    other.replace(path)


def bad_page(path: Path, _: bytes) -> None:
    """A block in the midst of it is NULs: a page of a database, a sector of a text."""
    size = path.stat().st_size
    block = _PAGE if size > 4 * _PAGE else min(_SECTOR, size // 2)
    with path.open("r+b") as stream:
        stream.seek(size // 2 // block * block)
        stream.write(bytes(block))


def ends_in_nuls(path: Path, _: bytes) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-200] + bytes(200))


def comment_cut(path: Path, _: bytes) -> None:
    path.write_bytes(path.read_bytes().rstrip()[:-6])


def older_with_its_time(path: Path, before: bytes) -> None:
    path.write_bytes(before)
    os.utime(path, (1_700_000_000, 1_700_000_000))


OF_ANY_FILE: Final = [half, empty, gone, nuls, garbage, last_line_cut, older, two_copies, bad_page]
OF_TEXT: Final = [*OF_ANY_FILE, ends_in_nuls, comment_cut, older_with_its_time]
