"""Files and folders of which nobody but this user can read a byte, from their first moment and whatever the umask."""

import os
from pathlib import Path
from typing import Final

__all__ = ["FILE_MODE", "private_file", "private_folder", "write_private"]

FILE_MODE: Final = 0o600
_FOLDER_MODE: Final = 0o700


def private_folder(path: Path) -> None:
    """Make a folder, and those above it that are missing. One that is there keeps its mode. Raises OSError."""
    missing = []
    for folder in (path, *path.parents):
        if folder.is_dir():
            break
        missing.append(folder)
    for folder in reversed(missing):
        folder.mkdir(mode=_FOLDER_MODE, exist_ok=True)


def private_file(path: Path) -> None:
    """Make an empty file, unless it is there, before a library opens it by its name. Raises OSError.

    SQLite gives its write-ahead log the mode of the database.
    """
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE))


def write_private(path: Path, content: bytes) -> None:
    """Write a file, which replaces what it held. Raises OSError."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE_MODE), "wb") as file:
        file.write(content)
