"""A disk that fails at one call, and what of a recorded one outlives a power loss. `disk.c` sees the calls."""

import ctypes
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

KINDS = ("write", "fsync", "rename", "ftruncate")
"""Calls that can fail, in the order of `disk.c`."""
_RECORD = struct.Struct("=QQIIc7x")


def library(folder: Path) -> Path:
    """Build the library; skip the test where nothing can build it, or load it into a process."""
    compiler, built = shutil.which("gcc") or shutil.which("cc"), folder / "disk.so"
    if compiler is None or os.uname().sysname != "Linux":
        pytest.skip("needs Linux and a compiler of C")
    source = Path(__file__).with_name("disk.c")
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", built, source, "-ldl", "-lpthread"], check=True)
    return built


def environment(built: Path, under: Path, log: Path | None = None) -> dict[str, str]:
    """Return the environment of a process whose calls on files below a folder are seen, and recorded in a log."""
    seen = {"LD_PRELOAD": str(built), "DISK_UNDER": str(under)}
    return {**os.environ, **seen, **({"DISK_LOG": str(log)} if log else {})}


class Disk:
    """The disk of this process, which was started in that environment."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)

    def fail(self, kind: str, error: int, *, at: int, times: int = 1) -> None:
        """Let calls of a kind fail, from the one with this number on, counted from now."""
        self._library.disk_fail(KINDS.index(kind), error, at, times)

    def work(self) -> int:
        """Let nothing fail any more; return how many calls have failed."""
        failures = int(self._library.disk_failures())
        self._library.disk_fail(-1, 0, 0, 0)
        return failures

    def calls(self) -> int:
        """Return how many calls of the kind there were since `fail`."""
        return int(self._library.disk_calls())

    def note(self, number: int) -> None:
        """Write into the log that something was acknowledged."""
        self._library.disk_note(number)


@dataclass(slots=True)
class _File:
    now: bytearray = field(default_factory=bytearray)
    synced: bytes = b""


class Recorded:
    """A folder as it becomes by the calls of a log, and what a power loss leaves of it.

    noted: what was acknowledged until now.
    """

    def __init__(self) -> None:
        self._names: dict[str, _File] = {}
        self._synced_names: dict[str, _File] = {}
        self._files: dict[int, _File] = {}
        self.noted: list[int] = []

    def apply(self, operation: str, inode: int, at: int, first: bytes, second: bytes) -> None:
        """Do what a record of the log says."""
        if operation in ("W", "T"):
            self._change(self._files[inode].now, at, first, is_cut=operation == "T")
        elif operation == "S":
            if inode in self._files:
                self._files[inode].synced = bytes(self._files[inode].now)
        elif operation == "N":
            self.noted.append(at)
        else:
            self._name(operation, inode, os.fsdecode(first), os.fsdecode(second))

    @staticmethod
    def _change(now: bytearray, at: int, content: bytes, *, is_cut: bool) -> None:
        now.extend(bytes(max(0, at - len(now))))
        now[at : None if is_cut else at + len(content)] = content

    def _name(self, operation: str, inode: int, path: str, other: str) -> None:
        names = self._names
        match operation:
            case "C":
                names[path] = self._files[inode] = _File()
            case "D":  # the folder is synced
                synced = {name: file for name, file in self._synced_names.items() if str(Path(name).parent) != path}
                self._synced_names = synced | {name: names[name] for name in names if str(Path(name).parent) == path}
            case "R":
                names[other] = names.pop(path)
            case "X":
                names[path], names[other] = names[other], names[path]
            case "L":
                names[other] = names[path]
            case "U":
                names.pop(path, None)
            case _:
                raise AssertionError(operation)

    def leave(self, source: Path, target: Path, *, names: str) -> None:
        """Write what a power loss leaves into a folder. names: whether those not synced are "kept" or "lost"."""
        left = self._names if names == "kept" else self._synced_names
        for name, file in left.items():
            if name.endswith("-shm"):  # is mapped, and made anew
                continue
            path = target / Path(name).relative_to(source)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.synced)


def records(log: Path) -> Iterator[tuple[str, int, int, bytes, bytes]]:
    """Yield the records of a log, as `Recorded.apply` takes them."""
    content, place = log.read_bytes(), 0
    while place < len(content):
        inode, at, first, second, operation = _RECORD.unpack_from(content, place)
        place += _RECORD.size
        yield operation.decode(), inode, at, content[place : place + first], content[place + first :][:second]
        place += first + second
