"""The documents of a scope as files in a folder of one's own, and back."""

import contextlib
import json
import os
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

from gateway_memory.cli.hand_edits import delete_by_hand, save_by_hand
from gateway_memory.errors import StoreError, UsageError
from gateway_memory.ground.files import replace_private
from gateway_memory.scope import Scope
from gateway_memory.store.disk.workspace import private_folder
from gateway_memory.store.documents import MEMORY_FILE, is_document
from gateway_memory.store.journal.store import Store

STATE_FILE: Final = ".gateway-memory-checkout.json"
_VERSION: Final = 1


class Checkout:
    """A folder with the documents of a scope, and a hidden file with the texts from which a person begins.

    journal: the id of the memory, which it keeps where it is moved. texts: by the documents' names.
    """

    def __init__(self, folder: Path, *, scope: Scope, journal: str, texts: dict[str, str]) -> None:
        self.scope = scope
        self._folder = folder
        self._journal = journal
        self._texts = texts

    @classmethod
    async def make(cls, store: Store, scope: Scope, folder: Path) -> tuple["Checkout", list[str]]:
        """Write the documents of a scope into a folder; return it, and the names that no file may have.

        Raises:
            UsageError: the folder is not empty, or can't be written.
            StoreError: the memory can't be read.
        """
        _make_empty(folder)
        made = cls(folder, scope=scope, journal=store.event_log.journal, texts={})
        names = sorted(await store.documents.scan(scope))
        for name in filter(is_document, names):
            if read := await store.documents.read(scope, name):
                made._texts[name] = read[0]
                made._write(name, read[0])
        made._keep()
        return made, [name for name in names if not is_document(name)]

    @classmethod
    def of(cls, folder: Path) -> "Checkout":
        """Return the checkout in a folder. Raises UsageError if there is none."""
        try:
            state: dict[str, Any] = json.loads(_content(folder / STATE_FILE))
            texts = {str(name): str(text) for name, text in state["documents"].items()}
            if state["version"] != _VERSION or not all(map(is_document, texts)):
                raise ValueError  # noqa: TRY301 - reads as the others
            return cls(folder, scope=Scope.parse(state["scope"]), journal=str(state["journal"]), texts=texts)
        except FileNotFoundError:
            raise UsageError(f"{folder}: this is no folder of `gateway-memory checkout`") from None
        except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
            raise UsageError(
                f"{folder / STATE_FILE} can't be read ({type(error).__name__}); check out again into another folder, "
                "and carry your changes over"
            ) from error

    @property
    def documents(self) -> int:
        """How many documents were checked out."""
        return len(self._texts)

    async def commit(self, store: Store, *, delete: bool) -> AsyncIterator[tuple[str, bool]]:
        """Save what differs into the memory, each document as a whole or not at all.

        Yields a line for each, and whether it is in the memory now.
        delete: delete documents whose files are missing.

        Raises:
            UsageError: it is the folder of another memory, or holds links. Nothing was changed.
            StoreError: the memory can't be read or written. What has a line is done, and commit can be called again.
        """
        if store.event_log.journal != self._journal:
            raise UsageError(f"{self._folder}: this was checked out of another memory")
        files = self._files()
        for name in sorted(self._texts.keys() | files.keys()):
            if name in files:
                outcome = await self._save(store, name, files[name])
            else:
                outcome = await self._delete(store, name, delete=delete)
            if outcome:
                yield f"{name}: {outcome}", not outcome.startswith("NOT")

    async def _save(self, store: Store, name: str, path: Path) -> str:
        """Save a document, and return what became of it; "" if it has not changed."""
        with _written(path):
            mine = _content(path).decode("utf-8", "surrogateescape")
        base = self._texts.get(name)
        if mine == base:
            return ""
        saved = await save_by_hand(store.documents, self.scope, name, base=base or "", mine=mine)
        if saved.outcome == "conflict":
            lines = ", ".join(map(str, saved.conflicts))
            advice = "check out again into another folder, and carry your lines over"
            return f"NOT saved, others have changed the same lines (in your file: from {lines}); {advice}"
        if saved.outcome == "gone":
            return "NOT saved, it was deleted in the memory; give your file another name"
        if saved.text != mine:
            self._write(name, saved.text)  # before the texts: else others' lines would look as if deleted here
        self._texts[name] = saved.text
        self._keep()
        both = "saved, with what others have written meanwhile; your file has both"
        outcomes = {"merged": both, "known": "known already"}
        return outcomes.get(saved.outcome, "saved" if base is not None else "new, saved")

    async def _delete(self, store: Store, name: str, *, delete: bool) -> str:
        if not delete:
            return "there is no such file here; it stays in the memory (--delete deletes it)"
        if not await delete_by_hand(store.documents, self.scope, name, base=self._texts[name]):
            return "NOT deleted, others have changed it since"
        del self._texts[name]
        self._keep()
        return "deleted"

    # The folder

    def _files(self) -> dict[str, Path]:
        """Return the files that are documents, by name. Raises UsageError for a link, which may lead anywhere."""
        files: dict[str, Path] = {}
        with _written(self._folder):
            below = self._folder / "memory"
            if below.is_symlink():
                raise UsageError(f"{below}: a link; a checkout holds files and no links. Nothing was saved")
            for path in [self._folder / MEMORY_FILE, *(sorted(below.rglob("*")) if below.is_dir() else ())]:
                name = path.relative_to(self._folder).as_posix()
                if not is_document(name) or not (path.exists() or path.is_symlink()):
                    continue
                if not stat.S_ISREG(path.lstat().st_mode):
                    raise UsageError(f"{path}: no regular file; a checkout holds files and no links. Nothing was saved")
                files[name] = path
        return files

    def _write(self, name: str, text: str) -> None:
        path = self._folder / name
        with _written(path):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_private(path, text.encode("utf-8", "surrogateescape"))

    def _keep(self) -> None:
        state = {"version": _VERSION, "scope": self.scope.key, "journal": self._journal, "documents": self._texts}
        self._write(STATE_FILE, json.dumps(state))  # in ASCII, which also holds bytes that are no UTF-8


def _make_empty(folder: Path) -> None:
    with _written(folder):
        private_folder(folder)
        if folder.is_symlink() or next(folder.iterdir(), None) is not None:
            raise UsageError(f"{folder}: expected an empty folder, or none")


def _content(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read()


@contextlib.contextmanager
def _written(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error
