"""Save what a person wrote in a document, and delete one, whatever store has it."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from gateway_memory.config.settings import MemorySync
from gateway_memory.errors import StoreError, UsageError
from gateway_memory.ground.metrics import Metrics
from gateway_memory.scope import Scope
from gateway_memory.store.document_store import Documents, FileEdit
from gateway_memory.store.documents import is_document
from gateway_memory.store.journal.links import root_of
from gateway_memory.store.journal.store import Store
from gateway_memory.store.patches import merged, patch_of
from gateway_memory.sync.storage import open_ports

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
