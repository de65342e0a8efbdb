"""`gateway-memory edit`, `checkout` and `commit`: the documents of a memory in an editor."""

import argparse
import asyncio
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from gateway_memory.cli.checkout import Checkout
from gateway_memory.cli.hand_edits import Saved, check_document, open_for, save_by_hand
from gateway_memory.cli.options import check_folder, tell
from gateway_memory.config.load import load_config
from gateway_memory.config.settings import MemorySync
from gateway_memory.errors import UsageError
from gateway_memory.scope import Scope
from gateway_memory.store.disk.workspace import write_private
from gateway_memory.store.journal.store import Store

T = TypeVar("T")


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
