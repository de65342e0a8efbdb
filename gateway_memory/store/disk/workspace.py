"""The file names in a workspace, and its lock, without an event loop."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gateway_memory.store.disk.private import FILE_MODE, private_folder

__all__ = ["EPISODE_PAGES", "INDEX_FILE", "SPOOL_FILE", "STATE_FOLDER", "locked"]

STATE_FOLDER: Final = ".gateway-memory"
INDEX_FILE: Final = "index.sqlite"
SPOOL_FILE: Final = "spool.sqlite"
"""Below the state folder: turns that wait for PostgreSQL."""
EPISODE_PAGES: Final = "episodes/"
"""In the index, the start of the names of pages of episodes. They are no files of the workspace."""
_LOCK_SECONDS: Final = 3.0


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
