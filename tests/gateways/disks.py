"""What befalls the disk of a memory: no room on it, and a lock that somebody holds."""

import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """Give a folder a disk of its own that a test can fill, where this user may."""
    folder.mkdir(parents=True, exist_ok=True)
    if os.geteuid():
        yield
        return
    subprocess.run(["/bin/mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["/bin/umount", "--lazy", str(folder)], check=True)


@contextmanager
def full(folder: Path) -> Iterator[None]:
    """Leave no room on a small disk until the block ends."""
    if not folder.is_mount():
        pytest.skip("only root can give a folder a disk of its own")
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (65536, 512, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    try:
        yield
    finally:
        filler.unlink()


@contextmanager
def hung(memory: Path) -> Iterator[None]:
    """Hold the memory's journal until the block ends, so that its calls hang."""
    with closing(sqlite3.connect(memory / "journal.sqlite", isolation_level=None)) as journal:
        journal.execute("BEGIN EXCLUSIVE")
        yield
        journal.execute("ROLLBACK")
