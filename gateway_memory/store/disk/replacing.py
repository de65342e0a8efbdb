"""Putting a whole new file in an old one's place, while other tools append to it or save over it.

The kernel exchanges the two in one step, so that what was taken out is known for certain. It is kept under a hidden
name beside the new one: a tool that had opened it before may write into it late. What comes late is appended to the new
file, until nobody has the old one open for writing. After a crash, whoever writes next goes on with what was kept.
"""

import errno
import hashlib
import os
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gateway_memory.observability.logger import get_logger
from gateway_memory.store.disk.kernel import content_of, is_anothers, is_unwritten, persist, rename

__all__ = ["Gone", "append", "has_leftovers", "is_looked_for", "look", "rewrite", "sweep"]

log = get_logger(__name__)

_ATTEMPTS: Final = 20
_POLLS: Final = 25
_POLL_SECONDS: Final = 0.001
_SURE_SECONDS: Final = 1.0
"""Who was about to open the old file when it was replaced has it open by then, however busy the machine is."""
_SURE_AT_CLOSE_SECONDS: Final = 0.02
_KEPT_SECONDS: Final = 10.0
"""How long an old file is kept where the kernel doesn't tell whether anybody has it open for writing."""
_SWEEP_SECONDS: Final = 60.0
_LONGEST_NAME: Final = 150
_KEPT: Final = re.compile(
    r"^\.(?P<file>.+)\.(?P<pid>[0-9a-f]+)-(?P<new>[0-9a-f]+)-(?P<size>[0-9a-f]+)-(?P<digest>[0-9a-f]{16})\.kept$"
)
_DRAFT: Final = re.compile(
    r"^\.(?:(?P<pid>[0-9a-f]+)-[0-9a-f]+|(?:MEMORY\.md|\d{4}-\d{2}-\d{2}\.md|sessions\.jsonl)\.[a-z0-9_]{8})\.tmp$"
)
"""A new file that was never finished, as this version calls them or as earlier ones did."""


class Gone:
    """What a change returns for a file that shall no longer be there."""


@dataclass(slots=True, eq=False)
class _Replaced:
    """A file that was taken out of its place. seen: what of it stands in the new file, or was meant to leave it."""

    path: Path
    kept: Path
    descriptor: int
    seen: bytes
    at: float


_lock: Final = threading.RLock()
_replaced: Final[list[_Replaced]] = []
_swept: Final[dict[Path, float]] = {}


def rewrite(path: Path, change: Callable[[bytes | None], bytes | type[Gone] | None]) -> None:
    """Replace a file's content, whole, by what `change` makes of it. Call it only under the workspace's lock.

    change: is given what the file holds, None where there is none, and returns what it shall hold, None to leave it as
    it is. It is called again where somebody saved the file meanwhile.

    Raises:
        OSError: the file can't be written; the old one stands untouched.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if time.monotonic() - _swept.get(path.parent, -_SWEEP_SECONDS) >= _SWEEP_SECONDS:
        sweep(path.parent)
    found = basis = _read(path)
    for _ in range(_ATTEMPTS):
        wanted = change(basis)
        if wanted is None:
            wanted = Gone if basis is None else basis
        if wanted == found or (found is None and wanted is Gone):
            return
        try:
            old = _take_out(path, found or b"") if isinstance(wanted, type) else _put(path, wanted, found)
        except (FileExistsError, FileNotFoundError):  # made or deleted since we read it
            found = basis = _read(path)
            continue
        if old is None:
            return
        taken, expected = old.seen, found or b""
        if taken.startswith(expected):
            old.seen = expected
            _settle_soon(old)
            return
        # Somebody saved it in the moment before: what they saved is what has to be changed.
        found, basis = None if isinstance(wanted, type) else wanted, taken
    raise OSError(errno.EBUSY, "the file is saved over and over", str(path))


def append(path: Path, lines: bytes) -> None:
    """Append whole lines to a file, or change nothing. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":  # a line that a crash, or a person, left open
            lines = b"\n" + lines
        written = 0
        try:
            while written < len(lines):
                written += os.write(descriptor, lines[written:])
            os.fsync(descriptor)
        except OSError:
            if os.fstat(descriptor).st_size == size + written:  # else it would cut off what others have appended
                os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)


def look(*, closing: bool = False) -> None:
    """Append to the new files what came late into the old ones, and let go of those into which nothing more can come.

    It raises nothing: what could not be appended is tried again at the next look.
    """
    if not _replaced:
        return
    if closing:
        time.sleep(_SURE_AT_CLOSE_SECONDS)
    with _lock:
        for old in _replaced.copy():
            try:
                if closing:
                    _settle(old, sure=_SURE_AT_CLOSE_SECONDS, unknown=_SURE_AT_CLOSE_SECONDS)
                else:
                    _settle(old, sure=_SURE_SECONDS)
            except OSError as error:
                log.warning("files.late_lines_wait", error=type(error).__name__)


def is_looked_for() -> bool:
    """Return whether anything is kept into which somebody may still write."""
    return bool(_replaced)


def has_leftovers(folder: Path) -> bool:
    """Return whether there is anything in a folder for `sweep` to look at."""
    return any(_KEPT.match(path.name) or _DRAFT.match(path.name) for path in folder.glob(".*"))


def sweep(folder: Path) -> None:
    """Clean up what processes that died have left in a folder. Call it only under the workspace's lock."""
    _swept[folder] = time.monotonic()
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        for name in sorted(entry.name for entry in entries if entry.name.startswith(".")):
            if kept := _KEPT.match(name):
                _take_over(folder / name, kept)
            elif (draft := _DRAFT.match(name)) and not is_anothers(draft["pid"]):
                (folder / name).unlink(missing_ok=True)


def _take_over(kept: Path, name: "re.Match[str]") -> None:
    """Go on with what a process that died has kept."""
    with _lock:
        if is_anothers(name["pid"]) or any(old.kept == kept for old in _replaced):
            return
        descriptor = os.open(kept, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if os.fstat(descriptor).st_ino != int(name["new"], 16):  # else it never got to its place
                if is_unwritten(descriptor) is False:
                    return
                content, size = content_of(descriptor), int(name["size"], 16)
                late = content[size:] if _digest(content[:size]) == name["digest"] else content
                path = kept.parent / name["file"]
                _append_new(path, late, known=_read(path) or b"")
        finally:
            os.close(descriptor)
        kept.unlink(missing_ok=True)


def _append_new(path: Path, lines: bytes, *, known: bytes) -> None:
    """Append those of some lines that are not known."""
    there = {*known.split(b"\n"), b""}
    fresh = b"".join(line + b"\n" for line in lines.split(b"\n") if line not in there)
    if fresh:
        append(path, fresh)
        log.info("files.late_lines", lines=fresh.count(b"\n"))


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _put(path: Path, content: bytes, found: bytes | None) -> _Replaced | None:
    """Put a new file in the place of the one that was found, and return that one; None where there was none.

    Raises:
        FileNotFoundError, FileExistsError: it is not there any more, or there is one now.
    """
    new = _written(path, content, found)
    try:
        if found is None:
            rename(new, path, exchange=False)
            persist(path.parent)
            return None
        rename(new, path, exchange=True)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    persist(path.parent)
    return _keep(path, new)


def _written(path: Path, content: bytes, found: bytes | None) -> Path:
    """Write a new file beside the one whose place it takes, and return its name, which says what it will keep."""
    mode = path.stat().st_mode & 0o7777 if found is not None else 0o600
    draft = path.parent / f".{os.getpid():x}-{threading.get_ident():x}.tmp"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        try:
            written = 0
            while written < len(content):
                written += os.write(descriptor, content[written:])
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
            number = os.fstat(descriptor).st_ino
        finally:
            os.close(descriptor)
        name = _hidden(path, number, found or b"")
        draft.rename(name)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return name


def _hidden(path: Path, number: int, content: bytes) -> Path:
    """Return the name under which a file is kept: whose it is, which new file took its place, what was seen of it."""
    base = path.name if len(os.fsencode(path.name)) <= _LONGEST_NAME else f"{_digest(os.fsencode(path.name))}.long"
    return path.parent / f".{base}.{os.getpid():x}-{number:x}-{len(content):x}-{_digest(content)}.kept"


def _take_out(path: Path, found: bytes) -> _Replaced | None:
    kept = _hidden(path, 0, found)
    path.rename(kept)
    persist(path.parent)
    return _keep(path, kept)


def _keep(path: Path, kept: Path) -> _Replaced | None:
    """Note a file that was replaced, until nothing more can come into it."""
    try:
        descriptor = os.open(kept, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:  # the file system could neither exchange nor link
        return None
    old = _Replaced(path=path, kept=kept, descriptor=descriptor, seen=content_of(descriptor), at=time.monotonic())
    with _lock:
        _replaced.append(old)
    return old


def _settle_soon(old: _Replaced) -> None:
    """Wait a moment for those who are just writing into a file that was replaced."""
    for _ in range(_POLLS):
        with _lock:
            if old not in _replaced or _settle(old, sure=_SURE_SECONDS) is not False:
                return
        time.sleep(_POLL_SECONDS)


def _settle(old: _Replaced, *, sure: float, unknown: float = _KEPT_SECONDS) -> bool | None:
    """Append what came late; let go of a file into which nothing more comes. Return what `is_unwritten` says.

    sure, unknown: the seconds after which that is believed, and after which it is assumed where the kernel can't tell.
    """
    unwritten = is_unwritten(old.descriptor)
    done = unwritten is not False and time.monotonic() - old.at >= (sure if unwritten else unknown)
    content = content_of(old.descriptor)
    whole = content if unwritten or done else content[: content.rfind(b"\n") + 1]  # a line may be half written
    if not content.startswith(old.seen):
        _append_new(old.path, whole, known=old.seen + b"\n" + (_read(old.path) or b""))
    elif late := whole[len(old.seen) :]:
        append(old.path, late if late.endswith(b"\n") else late + b"\n")
        log.info("files.late_lines", lines=late.count(b"\n"))
        old.seen += late
    if done:
        _replaced.remove(old)
        os.close(old.descriptor)
        old.kept.unlink(missing_ok=True)
    return unwritten


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()
