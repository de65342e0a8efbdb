"""Replace a file atomically while other tools append to it or save over it.

The kernel exchanges the two files in one step, so that the replaced content is known exactly. The old file is kept
under a hidden name, since a tool that opened it earlier may still write to it. Such late lines are appended to the new
file, until no process has the old one open for writing. After a crash, the next writer takes over the kept files.
"""

import ctypes
import errno
import fcntl
import hashlib
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

from gateway_memory.ground.logs import get_logger
from gateway_memory.store.disk.workspace import persist, private_folder

log = get_logger(__name__)

_NO_SUCH_CALL: Final = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM})


def is_unwritten(descriptor: int) -> bool | None:
    """Return whether no process has a file open for writing; None if the kernel can't tell."""
    if sys.platform != "linux":
        return None
    try:
        # The kernel grants a read lease only if there is no writer. If a process opens the file in this moment, the
        # kernel sends a signal. SIGURG is ignored by default, while the kernel's default signal would end the process.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return False if error.errno in (errno.EAGAIN, errno.EBUSY) else None
    return True


_DARWIN: Final = sys.platform == "darwin"
_RENAME: Final[Any] = getattr(ctypes.CDLL(None, use_errno=True), "renamex_np" if _DARWIN else "renameat2", None)
"""The system call that can exchange two files, which Python does not expose."""
_EXCHANGE: Final = 2
_NEW: Final = 4 if _DARWIN else 1
_HERE: Final = -100
"""AT_FDCWD: unused, since the paths are absolute."""


def rename(source: Path, target: Path, *, exchange: bool) -> None:
    """Exchange two files, or rename one to a free name; atomically if the file system supports it."""
    old, new, flag = os.fsencode(source), os.fsencode(target), _EXCHANGE if exchange else _NEW
    arguments = (old, new, flag) if _DARWIN else (_HERE, old, _HERE, new, flag)
    problem = errno.ENOSYS
    if _RENAME is not None:
        if not _RENAME(*arguments):
            return
        problem = ctypes.get_errno()
    if problem not in _NO_SUCH_CALL:
        raise OSError(problem, os.strerror(problem), str(target))
    if not exchange:
        target.hardlink_to(source)
        source.unlink()
        return
    spare = source.with_name(f".{os.getpid():x}-0.tmp")
    with suppress(OSError):  # without links the old file can't be kept
        spare.hardlink_to(target)
    source.replace(target)
    with suppress(FileNotFoundError):
        spare.rename(source)


def is_anothers(number: str | None) -> bool:
    """Return whether a process is alive and not this one. number: its id in hexadecimal, None if unknown."""
    if number is None or int(number, 16) == os.getpid():
        return False
    try:
        os.kill(int(number, 16), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


_POLLS: Final = 25
_POLL_SECONDS: Final = 0.001


def append(path: Path, lines: bytes) -> None:
    """Append whole lines to a file, atomically and durably. Raises OSError."""
    private_folder(path.parent)
    is_new = not path.exists()
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":  # an incomplete line
            lines = b"\n" + lines
        written = 0
        try:
            while written < len(lines):
                written += os.write(descriptor, lines[written:])
            os.fsync(descriptor)
        except OSError:
            if os.fstat(descriptor).st_size == size + written:  # never cut off what others have appended
                os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)
    if is_new:
        persist(path.parent)


def content_of(descriptor: int) -> bytes:
    """Return the content of an open file."""
    parts: list[bytes] = []
    position = 0
    while part := os.pread(descriptor, 1 << 20, position):
        parts.append(part)
        position += len(part)
    return b"".join(parts)


def read(path: Path) -> bytes | None:
    """Return a file's content; None if there is no file."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def read_whole(path: Path) -> bytes | None:
    """Read a file, and wait briefly for a last line of which only a part is there.

    A write that crosses a page of the file becomes visible in two parts.
    """
    content = read(path)
    for _ in range(_POLLS):
        if not content or content.endswith(b"\n"):
            break
        time.sleep(_POLL_SECONDS)
        content, before = read(path), content
        if content == before:
            break
    return content


def keep_damaged(path: Path, content: bytes) -> Path:
    """Write the content of a damaged file beside it under a name that says when, and return where. Raises OSError."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    names = (f"{path.name}.damaged-{stamp}{f'-{number}' if number else ''}" for number in count())
    aside = next(free for free in map(path.with_name, names) if not os.path.lexists(free))
    with drafted(path, content, 0o600) as (draft, _):
        rename(draft, aside, exchange=False)
    persist(path.parent)
    return aside


_ATTEMPTS: Final = 20
_SURE_SECONDS: Final = 1.0
"""After this time, a process that was about to open the old file has opened it, even on a busy machine."""
_SURE_AT_CLOSE_SECONDS: Final = 0.02
_KEPT_SECONDS: Final = 10.0
"""How long an old file is kept if the kernel can't tell whether a process has it open for writing."""
_SWEEP_SECONDS: Final = 60.0
_LONGEST_NAME: Final = 150
_KEPT: Final = re.compile(
    r"^\.(?P<file>.+)\.(?P<pid>[0-9a-f]+)-(?P<new>[0-9a-f]+)-(?P<size>[0-9a-f]+)-(?P<digest>[0-9a-f]{16})\.kept$"
)
_DRAFT: Final = re.compile(
    r"^\.(?:(?P<pid>[0-9a-f]+)-[0-9a-f]+|(?:MEMORY\.md|\d{4}-\d{2}-\d{2}\.md|sessions\.jsonl)\.[a-z0-9_]{8})\.tmp$"
)
"""The name of an incomplete new file, in this version or an earlier one."""


@dataclass(slots=True, eq=False)
class _Replaced:
    """A replaced file. carried_over: its content that is in the new file, or that was deleted on purpose."""

    path: Path
    kept: Path
    descriptor: int
    carried_over: bytes
    at: float


_lock: Final = threading.RLock()
_replaced: Final[list[_Replaced]] = []
_swept: Final[dict[Path, float]] = {}


def rewrite(path: Path, change: Callable[[bytes | None], bytes | None]) -> None:
    """Replace a file's content atomically with the result of `change`. Call it only under the workspace's lock.

    change: takes the file's content and returns the new one; None stands for no file. The same content leaves the file
    unchanged. It is called again if the file was saved meanwhile.

    Raises:
        OSError: the file can't be written; the old one is unchanged.
    """
    private_folder(path.parent)
    if time.monotonic() - _swept.get(path.parent, -_SWEEP_SECONDS) >= _SWEEP_SECONDS:
        sweep(path.parent)
    current = basis = read_whole(path)
    for attempt in range(_ATTEMPTS):
        changed = change(basis)
        if changed == current:
            return
        try:
            old = _take_out(path, current or b"") if changed is None else _put(path, changed, current)
        except (FileExistsError, FileNotFoundError):  # created or deleted since the read
            current = basis = read_whole(path)
            continue
        if old is None:
            return
        # Another tool may have saved the file, or appended to it, between the read and the exchange. The exchange shows
        # what was really replaced. Appended lines are carried over as late ones. A save, or an append that completed a
        # half line, was not in what `change` saw, so the new file is changed again, on that content.
        replaced, expected = old.carried_over, current or b""
        late = replaced[len(expected) :] if replaced.startswith(expected) else None
        halved = bool(late) and bool(expected) and not expected.endswith(b"\n") and attempt < _ATTEMPTS - 1
        if late is not None and not halved:
            old.carried_over = expected
            _settle_soon(old)
            return
        current = changed
        basis = replaced if late is None else (basis or b"") + late
    raise OSError(errno.EBUSY, "the file is saved over and over", str(path))


def settle(*, closing: bool = False) -> None:
    """Append late writes to the new files, and delete old files that can receive no more writes.

    It never raises. The next call retries what could not be appended.
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


def has_replaced() -> bool:
    """Return whether any kept file may still receive writes."""
    return bool(_replaced)


def has_leftovers(folder: Path) -> bool:
    """Return whether a folder contains files for `sweep`."""
    return any(_KEPT.match(path.name) or _DRAFT.match(path.name) for path in folder.glob(".*"))


def sweep(folder: Path) -> None:
    """Clean up files that dead processes have left in a folder. Call it only under the workspace's lock."""
    _swept[folder] = time.monotonic()
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        for name in sorted(entry.name for entry in entries if entry.name.startswith(".")):
            if kept := _KEPT.match(name):
                _take_over(folder / name, kept)
            elif (draft := _DRAFT.match(name)) and not is_anothers(draft["pid"]):
                (folder / name).unlink(missing_ok=True)


def _take_over(kept: Path, name: "re.Match[str]") -> None:
    """Take over a file that a dead process has kept."""
    with _lock:
        if is_anothers(name["pid"]) or any(old.kept == kept for old in _replaced):
            return
        descriptor = os.open(kept, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if os.fstat(descriptor).st_ino != int(name["new"], 16):  # else it never replaced the file
                if is_unwritten(descriptor) is False:
                    return
                content, size = content_of(descriptor), int(name["size"], 16)
                late = content[size:] if _digest(content[:size]) == name["digest"] else content
                path = kept.parent / name["file"]
                _append_new(path, late, known=read(path) or b"")
        finally:
            os.close(descriptor)
        kept.unlink(missing_ok=True)


def _append_new(path: Path, lines: bytes, *, known: bytes) -> None:
    """Append those lines that are not known."""
    known_lines = {*known.split(b"\n"), b""}
    fresh = b"".join(line + b"\n" for line in lines.split(b"\n") if line not in known_lines)
    if fresh:
        append(path, fresh)
        log.info("files.late_lines", lines=fresh.count(b"\n"))


def _put(path: Path, content: bytes, before: bytes | None) -> _Replaced | None:
    """Put a new file in the place of the one that was found, and return the old one; None if there was none.

    Raises:
        FileNotFoundError, FileExistsError: the file was deleted or created meanwhile.
    """
    new = _write(path, content, before)
    try:
        if before is None:
            rename(new, path, exchange=False)
            persist(path.parent)
            return None
        rename(new, path, exchange=True)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    persist(path.parent)
    return _keep(path, new)


def _write(path: Path, content: bytes, before: bytes | None) -> Path:
    """Write a new file next to the one that it replaces, and return its name, which describes the old content."""
    mode = path.stat().st_mode & 0o7777 if before is not None else 0o600
    with drafted(path, content, mode) as (draft, number):
        name = _hidden(path, number, before or b"")
        draft.rename(name)
    return name


@contextmanager
def drafted(path: Path, content: bytes, mode: int) -> Iterator[tuple[Path, int]]:
    """Write a draft beside a file, and yield its path and inode number; it is removed if the block raises.

    Other processes sweep the draft if this one dies.
    """
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
        yield draft, number
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _hidden(path: Path, number: int, content: bytes) -> Path:
    """Return the hidden name of a kept file: its process, the new file's inode, and its size and digest."""
    base = path.name if len(os.fsencode(path.name)) <= _LONGEST_NAME else f"{_digest(os.fsencode(path.name))}.long"
    return path.parent / f".{base}.{os.getpid():x}-{number:x}-{len(content):x}-{_digest(content)}.kept"


def _take_out(path: Path, before: bytes) -> _Replaced | None:
    kept = _hidden(path, 0, before)
    path.rename(kept)
    persist(path.parent)
    return _keep(path, kept)


def _keep(path: Path, kept: Path) -> _Replaced | None:
    """Track a replaced file until it can receive no more writes."""
    try:
        descriptor = os.open(kept, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:  # the file system can neither exchange nor link
        return None
    old = _Replaced(
        path=path, kept=kept, descriptor=descriptor, carried_over=content_of(descriptor), at=time.monotonic()
    )
    with _lock:
        _replaced.append(old)
    return old


def _settle_soon(old: _Replaced) -> None:
    """Wait briefly for processes that are writing to a replaced file."""
    for _ in range(_POLLS):
        with _lock:
            if old not in _replaced or _settle(old, sure=_SURE_SECONDS) is not False:
                return
        time.sleep(_POLL_SECONDS)


def _settle(old: _Replaced, *, sure: float, unknown: float = _KEPT_SECONDS) -> bool | None:
    """Append late writes, and delete a file that can receive no more. Return the result of `is_unwritten`.

    sure, unknown: the seconds after which to trust that result, and after which to assume it if it is unknown.
    """
    unwritten = is_unwritten(old.descriptor)
    is_final = unwritten is not False and time.monotonic() - old.at >= (sure if unwritten else unknown)
    content = content_of(old.descriptor)
    whole = content if unwritten or is_final else content[: content.rfind(b"\n") + 1]  # the last line may be incomplete
    if not content.startswith(old.carried_over):
        _append_new(old.path, whole, known=old.carried_over + b"\n" + (read(old.path) or b""))
    elif late := whole[len(old.carried_over) :]:
        append(old.path, late if late.endswith(b"\n") else late + b"\n")
        log.info("files.late_lines", lines=late.count(b"\n"))
        old.carried_over += late
    if is_final:
        _replaced.remove(old)
        os.close(old.descriptor)
        old.kept.unlink(missing_ok=True)
    return unwritten


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()
