"""Which files in a scope's folder are its own: regular ones, in it, not too large; and its session records.

A link, a pipe or a device that somebody has put there is neither followed nor opened. The owner alone may link to files
out of the workspace, such as notes that they keep elsewhere.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from gateway_memory.scope import folders, folders_in
from gateway_memory.store.documents import MEMORY_FILE, is_document
from gateway_memory.store.summaries import SESSIONS_FILE

if TYPE_CHECKING:  # hooks start often, and need no index
    from gateway_memory.store.document_store import Stamps


LARGEST: Final = 16 << 20
"""Bytes of a file that is read. A year of memories is less than one tenth of it."""
_FILES: Final = (MEMORY_FILE, SESSIONS_FILE)
_ATTEMPTS: Final = 3
_MOST_ASIDE: Final = 1000


class NotOwnError(OSError):
    """A file that is not read: it is a link, no regular file, or too large."""

    def __init__(self, file: str, reason: str) -> None:
        super().__init__(errno.EPERM, f"{file} is not read: {reason}")


class Owned:
    """Decides which files of one workspace are read. Files are named by their path in it, with "/"."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self._linked: dict[tuple[str, int, int], bool] = {}

    def look(self, file: str) -> os.stat_result:
        """Return the state of a file that may be read.

        Raises:
            FileNotFoundError: there is none.
            IsADirectoryError: a folder is in its place, and may hold somebody's files.
            NotOwnError: it is not the scope's own.
        """
        path = f"{self.workspace}{os.sep}{file}"
        state = os.lstat(path)
        folder = _folder(file)
        if stat.S_ISLNK(state.st_mode) or self.passes_link(file):
            if self.leads_out(file):
                raise NotOwnError(file, "it is a link to a file out of its folder")
            state = os.lstat(self.real(file))
        if stat.S_ISDIR(state.st_mode):
            raise IsADirectoryError(errno.EISDIR, "a folder is in the place of a file", file)
        if not stat.S_ISREG(state.st_mode):
            raise NotOwnError(file, "it is no regular file")
        if state.st_size > LARGEST:
            raise NotOwnError(file, f"it has more than {LARGEST >> 20} MiB")
        if folder and state.st_nlink > 1 and self._is_anothers(file, state):
            raise NotOwnError(file, "it is another name of a file of somebody else")
        return state

    def passes_link(self, file: str) -> bool:
        """Return whether a folder on the way from the workspace to a file is a link."""
        return any(path.is_symlink() for path in self.way_to(file)[:-1])

    def way_to(self, file: str) -> list[Path]:
        """Return the folders from the workspace to a file, without the workspace, and the file."""
        parts = file.split("/")
        return [self.workspace.joinpath(*parts[:end]) for end in range(1, len(parts) + 1)]

    def real(self, file: str) -> Path:
        """Return where a file lies, behind links."""
        return Path(os.path.realpath(self.workspace / file))

    def leads_out(self, file: str) -> bool:
        """Return whether links lead from a file to where its scope may not read."""
        folder, real, root = _folder(file), str(self.real(file)), os.path.realpath(self.workspace)
        if folder:
            return not real.startswith(f"{root}{os.sep}{folder}{os.sep}")
        return real.startswith(root + os.sep) and _folder(os.path.relpath(real, root)) != ""

    def _is_anothers(self, file: str, state_of_file: os.stat_result) -> bool:
        """Return whether a file with several names, as backups make them, has one in the folder of another scope."""
        key = (file, state_of_file.st_ino, state_of_file.st_nlink)
        if key not in self._linked:
            mine = _folder(file)
            self._linked[key] = any(
                os.path.samestat(state_of_file, state)
                for folder in folders_in(self.workspace)
                if folder != mine
                for state in _states(self.workspace / folder)
            )
        return self._linked[key]


def open_own(owned: Owned, file: str) -> BinaryIO:
    """Open a file for reading. See `Owned.look` for what it raises, besides other errors of the system."""
    for _ in range(_ATTEMPTS):
        state, real = owned.look(file), owned.real(file)
        descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        if os.path.samestat(os.fstat(descriptor), state):
            return os.fdopen(descriptor, "rb")
        os.close(descriptor)  # it was replaced between the look and the opening
    raise NotOwnError(file, "it is replaced over and over")


def scan_own(owned: Owned, folder: str) -> "tuple[Stamps, list[NotOwnError]]":
    """Return the stamps of the documents in a scope's folder, and which files in it are none."""
    stamps: Stamps = {}
    refused: list[NotOwnError] = []
    at = f"{folder}/" if folder else ""

    def add(name: str, state: os.stat_result, *, plain: bool) -> None:
        own = plain and stat.S_ISREG(state.st_mode) and state.st_size <= LARGEST and (not folder or state.st_nlink == 1)
        try:
            state = state if own else owned.look(at + name)
        except FileNotFoundError:  # a link that leads nowhere
            return
        except IsADirectoryError as error:
            refused.append(NotOwnError(at + name, str(error.strerror)))
            return
        except NotOwnError as error:
            refused.append(error)
            return
        stamps[name] = (state.st_mtime_ns, state.st_size)

    with suppress(FileNotFoundError):
        add(MEMORY_FILE, os.lstat(owned.workspace / at / MEMORY_FILE), plain=not owned.passes_link(f"{at}x"))
    for name, state, plain in notes_in(owned, folder):
        add(name, state, plain=plain)
    return stamps, refused


def notes_in(owned: Owned, folder: str) -> Iterator[tuple[str, os.stat_result, bool]]:
    """Yield the Markdown files in and below `memory/` of a scope's folder: name, state, whether no folder is a link.

    Links to folders are followed within the workspace, each folder once.
    """
    at = f"{folder}/" if folder else ""
    root = os.path.realpath(owned.workspace)
    waiting = [("memory", not owned.passes_link(f"{at}memory/x"))]
    seen: set[tuple[int, int]] = set()
    while waiting:
        below, plain = waiting.pop()
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(owned.workspace / at / below) as entries:
            for entry in entries:
                name = f"{below}/{entry.name}"
                if entry.name.endswith(".md") and not entry.name.startswith("."):
                    yield name, entry.stat(follow_symlinks=False), plain
                elif is_document(f"{name}/x.md") and entry.is_dir():
                    state, is_link = entry.stat(), entry.is_symlink()
                    inside = not is_link or os.path.realpath(entry.path).startswith(root + os.sep)
                    if inside and (state.st_dev, state.st_ino) not in seen:
                        seen.add((state.st_dev, state.st_ino))
                        waiting.append((name, plain and not is_link))


def writable(owned: Owned, file: str) -> Path:
    """Return where a file is written, behind links that are followed.

    A file there, or a link on the way, that is not the scope's own is renamed, and stays as it is.

    Raises:
        OSError: a folder is in its place, or the name can't be given.
    """
    while owned.leads_out(file):
        _set_aside(next(path for path in owned.way_to(file) if path.is_symlink()))
    real = owned.real(file)
    with suppress(FileNotFoundError):
        try:
            owned.look(file)
        except NotOwnError:
            _set_aside(real)
    return real


def _set_aside(path: Path) -> None:
    for number in range(1, _MOST_ASIDE):
        aside = path.with_name(f"{path.name}.not-read-{number}")
        if not os.path.lexists(aside):
            path.rename(aside)
            return
    raise FileExistsError(errno.EEXIST, "too much was set aside here", str(path))


def _folder(file: str) -> str:
    """Return the folder of the scope of a file; "" is the owner's."""
    parts = file.split("/", 2)
    return "/".join(parts[:2]) if parts[0] in folders() and len(parts) > 1 else ""


def _states(folder: Path) -> list[os.stat_result]:
    names = [folder / name for name in _FILES] + list((folder / "memory").glob("*.md"))
    states = []
    for path in names:
        with suppress(OSError):
            states.append(path.lstat())
    return states
