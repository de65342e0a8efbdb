"""`gateway-memory edit`, `checkout` and `commit`: documents in one's own editor, wherever the memory is."""

import argparse
import asyncio
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from gateway_memory.cli.options import no_folder
from gateway_memory.config.load import load_config
from gateway_memory.config.settings import MemorySync
from gateway_memory.errors import UsageError
from gateway_memory.scope import Scope
from gateway_memory.store.disk.workspace import write_private
from gateway_memory.transfer.by_hand import Checkout, Saved, check_document, open_for, save_by_hand


def run_edit(args: argparse.Namespace) -> int:
    """Edit a document; returns the exit code: 1 if it could not be saved."""
    check_document(args.document)
    scope, settings = Scope.parse(args.scope), _settings(args)
    if settings is None:
        return 1
    editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "")
    if not editor:
        raise UsageError("set $VISUAL or $EDITOR to your editor, such as EDITOR=nano")
    base = asyncio.run(_read(settings, args.workspace, scope, args.document))
    folder = Path(tempfile.mkdtemp(prefix="gateway-memory-"))  # of this user alone; an editor may leave its own copies
    path, kept = folder / Path(args.document).name, False
    try:
        write_private(path, base.encode("utf-8", "surrogateescape"))
        mine = _edited(editor, path)
        if mine is None:
            return 1
        if mine == base:
            print("nothing was changed (an editor that returns at once must wait, as in EDITOR='code --wait')")  # noqa: T201
            return 0
        kept = True
        saved = asyncio.run(_save(settings, args.workspace, scope, args.document, base, mine))
        kept = saved.outcome in ("conflict", "gone")
        return _outcome(saved, args.document, of=scope.key, is_new=not base)
    finally:
        if kept:
            sys.stderr.write(f"nothing was saved; your text is kept in {path}\n")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _edited(editor: list[str], path: Path) -> str | None:
    """Return the text of a file after its editor has ended; None, with the reason printed, if it did not end well."""
    before = signal.signal(signal.SIGINT, lambda *_: None)  # it is the editor's
    try:
        code = subprocess.run([*editor, str(path)], check=False).returncode  # noqa: S603 - the user's own editor
    except OSError as error:
        raise UsageError(f"{editor[0]}: {error.strerror}; set $VISUAL or $EDITOR to your editor") from None
    finally:
        signal.signal(signal.SIGINT, before)
    if code:
        sys.stderr.write(f"the editor ended with {code}; nothing was changed\n")
        return None
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        sys.stderr.write("the editor has removed the file; nothing was changed\n")
        return None


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
    (sys.stderr if failed else sys.stdout).write(f"{name}: {text}\n")
    return int(failed)


async def _read(settings: MemorySync, workspace: Path, scope: Scope, name: str) -> str:
    async with open_for(settings, workspace, scope) as store:
        read = await store.documents.read(scope, name)
        return read[0] if read else ""


async def _save(settings: MemorySync, workspace: Path, scope: Scope, name: str, base: str, mine: str) -> Saved:
    async with open_for(settings, workspace, scope) as store:
        return await save_by_hand(store.documents, scope, name, base=base, mine=mine)


def run_checkout(args: argparse.Namespace) -> int:
    """Write the documents of a scope into a folder; returns the exit code."""
    scope, settings = Scope.parse(args.scope), _settings(args)
    if settings is None:
        return 1

    async def made() -> tuple[Checkout, list[str]]:
        async with open_for(settings, args.workspace, scope) as store:
            return await Checkout.make(store, scope, args.folder)

    checkout, omitted = asyncio.run(made())
    for name in omitted:
        sys.stderr.write(f"{name!r} was left out: no file of a checkout may have this name\n")
    print(f"{checkout.documents} documents of {scope.key} in {args.folder}")  # noqa: T201
    return 0


def run_commit(args: argparse.Namespace) -> int:
    """Save what was edited in a folder; returns the exit code: 1 if some of it could not be saved."""
    settings = _settings(args)
    if settings is None:
        return 1
    checkout = Checkout.of(args.folder)
    saved: list[bool] = []

    async def commit() -> None:
        async with open_for(settings, args.workspace, checkout.scope) as store:
            async for line, is_saved in checkout.commit(store, delete=args.delete):
                print(line)  # noqa: T201
                saved.append(is_saved)

    asyncio.run(commit())
    if not saved:
        print("nothing was changed")  # noqa: T201
    return 0 if all(saved) else 1


def _settings(args: argparse.Namespace) -> MemorySync | None:
    """Return the settings; None, with the reason printed, if the memory is to be in a folder that is missing."""
    settings = load_config(args.config).for_agent(args.agent)
    return None if settings.store.backend == "files" and no_folder(args.workspace) else settings
