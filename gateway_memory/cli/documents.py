"""`gateway-memory edit`, `checkout` and `commit`: documents that a person edits, wherever the memory is."""

import argparse
import asyncio
import contextlib
import json
import os
import shlex
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from gateway_memory.cli.options import check_folder, tell
from gateway_memory.config.load import load_config
from gateway_memory.config.settings import MemorySync
from gateway_memory.errors import StoreError, UsageError
from gateway_memory.ground.files import replace_private
from gateway_memory.ground.metrics import Metrics
from gateway_memory.scope import Scope
from gateway_memory.store.disk.workspace import private_folder, write_private
from gateway_memory.store.documents import MEMORY_FILE, Documents, FileEdit, is_document
from gateway_memory.store.journal.links import root_of
from gateway_memory.store.journal.store import Store
from gateway_memory.store.patches import merged, patch_of
from gateway_memory.sync.storage import open_ports

T = TypeVar("T")

_TRIES: Final = 5

Outcome = Literal["saved", "merged", "known", "conflict", "gone"]
"""What became of an edit: saved; saved with what others had written meanwhile; there already; not saved, since others
have changed the same lines, or have deleted the document.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """The outcome of an edit. text: the document as it is now. conflicts: line numbers of the person's text."""

    outcome: Outcome
    text: str = ""
    conflicts: tuple[int, ...] = ()


@asynccontextmanager
async def open_for(settings: MemorySync, workspace: Path, scope: Scope) -> AsyncIterator[Store]:
    """Open the ports of a memory, in a workspace or in PostgreSQL, to edit the documents of a scope.

    Raises:
        UsageError: the memory of the scope is in another one, with which it is linked.
        StoreError: the memory can't be opened.
    """
    async with AsyncExitStack() as stack:
        store, _ = await open_ports(stack, None if settings.store.is_shared else workspace, settings, Metrics())
        root = root_of(await store.links.of(scope.key), scope.key)
        if root != scope.key:
            raise UsageError(f"{scope.key} is linked: its memory is in {root}; name that one with --scope")
        yield store


def check_document(name: str) -> None:
    """Raise UsageError if a document can't have this name."""
    if not is_document(name):
        raise UsageError(f"{name!r} is no document: expected MEMORY.md, or memory/NAME.md")


async def save_by_hand(documents: Documents, scope: Scope, name: str, *, base: str, mine: str) -> Saved:
    """Save a person's text, merged with what others have written since.

    base: the text from which the person began, "" for a new document.

    Raises:
        StoreError: it could not be saved. Nothing was changed.
    """
    async with documents.writing(scope):
        for _ in range(_TRIES):
            read = await documents.read(scope, name)
            if read is None and base:
                return Saved(outcome="gone")
            now = read[0] if read else ""
            both = merged(base, now, mine)
            if both.conflicts:
                return Saved(outcome="conflict", text=now, conflicts=both.conflicts)
            if both.text == now:
                return Saved(outcome="known", text=now)
            if await documents.save(scope, name, both.text, was=now):
                return Saved(outcome="saved" if both.text == mine else "merged", text=both.text)
    raise StoreError(f"{name}: other programs save it over and over; nothing was changed, try again in a moment")


async def delete_by_hand(documents: Documents, scope: Scope, name: str, *, base: str) -> bool:
    """Delete a document that still reads `base`; return False if others have changed it.

    Raises:
        StoreError: it could not be deleted.
    """
    async with documents.writing(scope):
        read = await documents.read(scope, name)
        if read is None:
            return True
        if read[0] != base:
            return False
        making = patch_of(name, "", base, made=True)  # what takes it back deletes the document
        await documents.edit(scope, [FileEdit(file=name, restore=making)])
        return await documents.read(scope, name) is None


# The documents of a scope as files in a folder of one's own, and back.

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


# The commands.


def run_edit(args: argparse.Namespace) -> int:
    """Edit a document; returns the exit code: 1 if it could not be saved."""
    check_document(args.document)
    scope, settings = Scope.parse(args.scope), _settings(args)
    editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "")
    if not editor:
        raise UsageError("set $VISUAL or $EDITOR to your editor, such as EDITOR=nano")
    read = _in_store(settings, args.workspace, scope, lambda store: store.documents.read(scope, args.document))
    base = read[0] if read else ""
    folder = Path(tempfile.mkdtemp(prefix="gateway-memory-"))  # of this user alone; an editor may leave its own copies
    path, kept = folder / Path(args.document).name, False
    try:
        write_private(path, base.encode("utf-8", "surrogateescape"))
        mine = _edit(editor, path)
        if mine == base:
            tell("nothing was changed (an editor that returns at once must wait, as in EDITOR='code --wait')")
            return 0
        kept = True
        saved = _in_store(
            settings,
            args.workspace,
            scope,
            lambda store: save_by_hand(store.documents, scope, args.document, base=base, mine=mine),
        )
        kept = saved.outcome in ("conflict", "gone")
        return _outcome(saved, args.document, of=scope.key, is_new=not base)
    finally:
        if kept:
            tell(f"nothing was saved; your text is kept in {path}", beside=True)
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _edit(editor: list[str], path: Path) -> str:
    """Return the text of a file after its editor has ended. Raises UsageError if it did not end well."""
    before = signal.signal(signal.SIGINT, lambda *_: None)  # it is the editor's
    try:
        code = subprocess.run([*editor, str(path)], check=False).returncode  # noqa: S603 - the user's own editor
    except OSError as error:
        raise UsageError(f"{editor[0]}: {error.strerror}; set $VISUAL or $EDITOR to your editor") from None
    finally:
        signal.signal(signal.SIGINT, before)
    if code:
        raise UsageError(f"the editor ended with {code}; nothing was changed")
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        raise UsageError("the editor has removed the file; nothing was changed") from None


def _outcome(saved: Saved, name: str, *, of: str, is_new: bool) -> int:
    """Print what became of an edit; returns the exit code."""
    text = {
        "saved": f"saved, as a new document of {of}" if is_new else "saved",
        "merged": "saved, with what others have written meanwhile",
        "known": "others have made the same changes; there is nothing to save",
        "gone": "it was deleted meanwhile",
    }.get(saved.outcome)
    lines = ", ".join(map(str, saved.conflicts))
    text = text or f"others have changed the same lines meanwhile (in your text: from {lines})"
    failed = saved.outcome in ("conflict", "gone")
    tell(f"{name}: {text}", beside=failed)
    return int(failed)


def run_checkout(args: argparse.Namespace) -> int:
    """Write the documents of a scope into a folder; returns the exit code."""
    scope, settings = Scope.parse(args.scope), _settings(args)
    checkout, omitted = _in_store(
        settings, args.workspace, scope, lambda store: Checkout.make(store, scope, args.folder)
    )
    for name in omitted:
        tell(f"{name!r} was left out: no file of a checkout may have this name", beside=True)
    tell(f"{checkout.documents} documents of {scope.key} in {args.folder}")
    return 0


def run_commit(args: argparse.Namespace) -> int:
    """Save what was edited in a folder; returns the exit code: 1 if some of it could not be saved."""
    settings = _settings(args)
    checkout = Checkout.of(args.folder)
    saved: list[bool] = []

    async def commit(store: Store) -> None:
        async for line, is_saved in checkout.commit(store, delete=args.delete):
            tell(line)
            saved.append(is_saved)

    _in_store(settings, args.workspace, checkout.scope, commit)
    if not saved:
        tell("nothing was changed")
    return 0 if all(saved) else 1


def _settings(args: argparse.Namespace) -> MemorySync:
    """Return the settings. Raises UsageError if the memory is to be in a folder that is missing."""
    settings = load_config(args.config).for_agent(args.agent)
    if not settings.store.is_shared:
        check_folder(args.workspace)
    return settings


def _in_store(settings: MemorySync, workspace: Path, scope: Scope, work: Callable[[Store], Awaitable[T]]) -> T:
    async def opened() -> T:
        async with open_for(settings, workspace, scope) as store:
            return await work(store)

    return asyncio.run(opened())
