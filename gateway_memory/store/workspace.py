"""What lies in a workspace, and its lock: without an event loop."""

import contextlib
import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gateway_memory.store.journal.sqlite import migrate, use_write_ahead_log

__all__ = ["ENCODER_TABLES", "STATE_FOLDER", "locked", "open_journal"]

STATE_FOLDER: Final = ".gateway-memory"


ENCODER_TABLES: Final = "encoder.tables"


_BUSY_SECONDS: Final = 2.0


_LOCK_SECONDS: Final = 3.0


def open_journal(workspace: Path) -> sqlite3.Connection:
    """Open the journal, made or brought up to date where it is not. The caller begins and ends transactions.

    Raises:
        SchemaFromFutureError: a newer version wrote it.
        sqlite3.Error: it is damaged, or locked for too long. It is left as it is.
    """
    (workspace / STATE_FOLDER).mkdir(parents=True, exist_ok=True)
    path = workspace / "journal.sqlite"
    fresh = not path.exists()
    connection = sqlite3.connect(path, isolation_level=None, timeout=_BUSY_SECONDS)
    try:
        if fresh:
            path.chmod(0o600)
        use_write_ahead_log(connection, seconds=_BUSY_SECONDS)
        connection.execute("PRAGMA synchronous = FULL")
        migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def locked(workspace: Path) -> Iterator[None]:
    """Be the workspace's only writer: the lock that `MarkdownFiles.writing` takes, by the same kernel call.

    Raises:
        TimeoutError: another process held it for three seconds.
    """
    path = workspace / STATE_FOLDER / "write.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
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
