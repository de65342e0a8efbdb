"""A process that locks a file and keeps it locked: `python locking.py shm|write|exclusive|flock FILE`.

shm: what readers of a database in WAL mode need; write: its writers' lock; exclusive: the whole database, while nobody
has it open; flock: a lock file. Prints "locked", and lets go when its input ends.
"""

import fcntl
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from patience import seconds

__all__ = ["locked"]

Kind = Literal["shm", "write", "exclusive", "flock"]


@contextmanager
def locked(kind: Kind, path: Path) -> Iterator[None]:
    """Have another process hold a lock."""
    command = [sys.executable, __file__, kind, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        said = process.stdout.readline().strip()
        assert said == "locked", said
        try:
            yield
        finally:
            process.stdin.close()
            process.wait(30)


def main(kind: Kind, path: Path) -> None:
    """Lock, say so, and wait."""
    if kind == "shm":
        with Path(f"{path}-shm").open("r+b") as stream:
            # sqlite.org/walformat.html: eight lock bytes from 120 on; 123 and those after it are the readers'.
            fcntl.lockf(stream, fcntl.LOCK_EX, 5, 123)
            _wait()
    elif kind == "flock":
        with path.open("w", encoding="utf-8") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            _wait()
    else:
        connection = sqlite3.connect(path, isolation_level=None, timeout=seconds(20))
        if kind == "exclusive":
            connection.execute("pragma locking_mode = exclusive")
        connection.execute("begin exclusive")
        _wait()
        connection.close()


def _wait() -> None:
    sys.stdout.write("locked\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))  # type: ignore[arg-type]
