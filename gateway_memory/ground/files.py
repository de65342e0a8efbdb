"""Files that this user alone can read."""

import contextlib
import os
from pathlib import Path


def private_file(path: Path) -> None:
    """Make an empty file that this user alone can read, unless it is there. Raises OSError.

    A library then opens it by its name. SQLite gives its write-ahead log the mode of the database.
    """
    if not path.exists():  # to close a file ends every lock that this process has on it, SQLite's too
        with contextlib.suppress(FileExistsError):  # made meanwhile
            os.close(os.open(path.resolve(), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def replace_private(path: Path, content: bytes) -> None:
    """Put a file that this user alone can read in the place of another, wholly or not at all. Raises OSError."""
    draft = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
