"""Journals that were set aside: damaged ones, and old ones whose rows a later journal has."""

import contextlib
import shutil
import time
from collections.abc import Collection
from itertools import count
from pathlib import Path
from typing import Final

from gateway_memory.ground.texts import text_in
from gateway_memory.scope import KINDS
from gateway_memory.store.documents import MEMORY_FILE, is_document, original_of

_MOST_BESIDE: Final = 5_000


JOURNAL_FILE: Final = "journal.sqlite"
SQLITE_SUFFIXES: Final = ("", "-wal", "-shm")
"""The files of one database."""
_DAMAGED: Final = ".damaged-"
_OLD: Final = ".old-"


def left_out(folder: Path | None) -> dict[str, list[str]]:
    """Return what lies among the documents of a scope and is none, by why, with its names; None has none.

    files: no Markdown in memory/. copies: a sync has made them of others. encoding: no text that is read.
    """
    found: dict[str, list[str]] = {"files": [], "copies": [], "encoding": []}
    if folder is None:
        return found
    paths = [path for path in sorted((folder / "memory").rglob("*")) if path.is_file()]
    for path in [folder / MEMORY_FILE, *paths[:_MOST_BESIDE]]:
        name = path.relative_to(folder).as_posix()
        if any(part.startswith(".") for part in name.split("/")):
            continue
        if not is_document(name):
            found["files"].append(name)
            continue
        with contextlib.suppress(OSError):
            original = original_of(name)
            if original and (folder / original).is_file():
                found["copies"].append(name)
            elif text_in(path.read_bytes()) is None:
                found["encoding"].append(name)
    return found


def journals_aside(workspace: Path | None) -> list[str]:
    """Return the names of the damaged journals that were set aside in a workspace, oldest first; None has none."""
    if workspace is None:
        return []
    names = (path.name for path in workspace.glob(f"{JOURNAL_FILE}{_DAMAGED}*"))
    return sorted(name for name in names if not name.endswith(SQLITE_SUFFIXES[1:]))


def files_of_former_journals(workspace: Path) -> list[Path]:
    """Return the files of all journals that were set aside, damaged or old."""
    return sorted(path for kind in (_DAMAGED, _OLD) for path in workspace.glob(f"{JOURNAL_FILE}{kind}*"))


def has_memory(workspace: Path) -> bool:
    """Return whether a folder has a memory: a journal, also a damaged one, or documents of anybody."""
    folders = [kind.folder for kind in KINDS.values() if kind.folder]
    there = (workspace / name for name in (JOURNAL_FILE, MEMORY_FILE, "memory", *folders))
    return any(path.exists() for path in there) or bool(journals_aside(workspace))


def set_journal_aside(path: Path) -> Path:
    """Give a damaged journal another name with its log, and return it. A kill loses neither. Raises OSError."""
    aside = _free(path, _DAMAGED)
    there = [suffix for suffix in SQLITE_SUFFIXES if path.with_name(path.name + suffix).exists()]
    for suffix in reversed(there):  # the journal last: what has its name is complete
        source, target = path.with_name(path.name + suffix), aside.with_name(aside.name + suffix)
        try:
            target.hardlink_to(source)
        except OSError:  # a file system without links
            shutil.copy2(source, target)
    for suffix in there:  # the journal first: of a log without one, SQLite makes nothing
        path.with_name(path.name + suffix).unlink()
    return aside


def name_of_old_journal(path: Path) -> Path:
    """Return a free name for a journal whose rows a later one has."""
    return _free(path, _OLD)


def settle_old_journals(workspace: Path, names: Collection[str] = ()) -> dict[str, str]:
    """Rename damaged journals whose rows the present one has, and return their new names.

    A renaming that a kill has ended is completed. Raises OSError.
    """
    renamed = {name: name.replace(_DAMAGED, _OLD) for name in names}
    for name, old in renamed.items():  # the journal first: from now on, nobody reads it again
        workspace.joinpath(name).rename(workspace / old)
    for path in workspace.glob(f"{JOURNAL_FILE}{_DAMAGED}*"):
        for suffix in SQLITE_SUFFIXES[1:]:
            name = path.name.removesuffix(suffix)
            new = workspace / name.replace(_DAMAGED, _OLD)
            if name != path.name and not path.with_name(name).exists() and new.exists():
                path.rename(new.with_name(new.name + suffix))
    return renamed


def _free(path: Path, kind: str) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    names = (f"{path.name}{kind}{stamp}{f'-{number}' if number else ''}" for number in count())
    return next(
        free
        for free in map(path.with_name, names)
        if not any(free.with_name(free.name + suffix).exists() for suffix in SQLITE_SUFFIXES)
    )
