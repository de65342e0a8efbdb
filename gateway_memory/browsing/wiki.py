"""Writes what is known as a folder of Markdown pages."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from gateway_memory.browsing.wiki_pages import MANIFEST, folded
from gateway_memory.errors import UsageError
from gateway_memory.store.disk.workspace import private_folder, write_private


def write_wiki(folder: Path, pages: Mapping[str, str]) -> int:
    """Make a folder hold these pages, in the place of those that an earlier run wrote; return their number.

    Whatever else is in the folder of a wiki stays. A page of what was forgotten meanwhile goes.

    Raises:
        UsageError: the folder has other files and is no wiki, one of its own files is in the way, or it can't be
            written.
    """
    try:
        private_folder(folder)
        earlier = _written_before(folder)
        ours = {folded(name) for name in earlier}  # a system may see no difference between ana.md and Ana.md
        for path, name in ((folder / name, name) for name in pages):
            if path.parent.is_symlink() or (folded(name) not in ours and (path.exists() or path.is_symlink())):
                raise UsageError(f"{path}: this file is not one of the wiki's; nothing was written")
        _note(folder, [*earlier, *pages])  # a run that is killed leaves no page that the next one does not know
        for path in (folder / name for name in earlier):
            if path.parent.is_dir() and not path.parent.is_symlink():
                path.unlink(missing_ok=True)
        for name, text in pages.items():
            private_folder((folder / name).parent)
            write_private(folder / name, text.encode("utf-8", "replace"))
        _note(folder, list(pages))
        for parent in {(folder / name).parent for name in earlier} - {folder}:
            if parent.is_dir() and next(parent.iterdir(), None) is None:
                parent.rmdir()
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror or error}") from error
    return len(pages)


def _note(folder: Path, pages: Sequence[str]) -> None:
    content = json.dumps({"pages": sorted(set(pages))}, ensure_ascii=False, indent=1)
    write_private(folder / MANIFEST, f"{content}\n".encode())


def _written_before(folder: Path) -> list[str]:
    """Return the paths of the pages that an earlier run wrote.

    Raises:
        UsageError: the folder holds something, and no run has written it.
    """
    manifest = folder / MANIFEST
    if not manifest.is_file() or manifest.is_symlink():
        if next(folder.iterdir(), None) is not None:
            raise UsageError(f"{folder}: expected an empty folder, none, or one that this command has written before")
        return []
    try:
        pages = [str(name) for name in json.loads(manifest.read_text("utf-8"))["pages"]]
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"{manifest}: it can't be read; use another folder") from None
    if not all(map(_is_page, pages)):
        raise UsageError(f"{manifest}: it names files that are no pages; use another folder")
    return pages


def _is_page(name: str) -> bool:
    """Return whether a path of the manifest is one that a run may have written."""
    head, _, last = name.rpartition("/")
    return last.endswith(".md") and "/" not in head and head not in (".", "..") and not {"\\", "\0"} & {*name}
