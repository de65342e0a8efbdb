"""Files and folders that only this user can read, from their creation on and whatever the umask."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

FILE_MODE: Final = 0o600
_FOLDER_MODE: Final = 0o700


def private_folder(path: Path) -> None:
    """Make a folder, and those above it that are missing, durably. One that is there keeps its mode. Raises OSError."""
    missing = []
    for folder in (path, *path.parents):
        if folder.is_dir():
            break
        missing.append(folder)
    for folder in reversed(missing):
        folder.mkdir(mode=_FOLDER_MODE, exist_ok=True)
        with contextlib.suppress(PermissionError):  # a folder above the workspace that only root may list
            persist(folder.parent)


def persist(folder: Path) -> None:
    """Flush the directory entries of a folder to disk. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_private(path: Path, content: bytes) -> None:
    """Write a file, which replaces what it held. Raises OSError."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE_MODE), "wb") as file:
        file.write(content)


STATE_FOLDER: Final = ".gateway-memory"
INDEX_FILE: Final = "index.sqlite"
_OWN_CONFIG: Final = "config.json5"
SPOOL_FILE: Final = "spool.sqlite"
"""Below the state folder: turns that wait for PostgreSQL."""
EPISODE_PAGES: Final = "episodes/"
"""In the index, the start of the names of pages of episodes. They are no files of the workspace."""
_LOCK_SECONDS: Final = 3.0


def own_config(workspace: Path) -> Path:
    """Return the file in which the page saves settings for the processes that have no other config."""
    return workspace.expanduser() / STATE_FOLDER / _OWN_CONFIG


@contextlib.contextmanager
def locked(workspace: Path) -> Iterator[None]:
    """Hold the workspace's write lock: the one of `MarkdownFiles.writing`, by the same system call.

    Raises:
        TimeoutError: another process held it for three seconds.
    """
    path = workspace / STATE_FOLDER / "write.lock"
    private_folder(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE)
    try:
        deadline = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise TimeoutError("the workspace's lock is held") from None
                time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)
