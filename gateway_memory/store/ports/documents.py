"""The ports for Markdown documents and session records, by scope and name."""

from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol

from gateway_memory.scope import Scope
from gateway_memory.store.documents import FileEdit
from gateway_memory.store.patch import Patch
from gateway_memory.store.summaries import SessionRecord
from gateway_memory.store.withheld import Withheld
from recall import Stamp

__all__ = ["Documents", "Records", "Stamps"]

Stamps = dict[str, tuple[int, int]]
"""The modification time (ns since the epoch) and the size (bytes) of each document of a scope, by name."""


class Documents(Protocol):
    """The Markdown documents of all scopes: "MEMORY.md", "memory/2026-11-21.md", and other notes below "memory/".

    Every call may raise StoreError. It has then changed nothing.
    """

    @property
    def folder(self) -> Path | None:
        """The folder in which people and tools edit the documents as files, or None if there is no such folder."""

    def writing(self, scope: Scope) -> AbstractAsyncContextManager[None]:
        """Return a context that holds the write lock of a scope, within this process and among processes.

        Raises:
            StoreError: another process has held the lock for more than half a minute.
        """

    async def scan(self, scope: Scope) -> Stamps:
        """Return the current stamps of a scope's documents."""

    async def read(self, scope: Scope, name: str) -> tuple[str, Stamp] | None:
        """Return the text and stamp of a document, or None. Undecodable bytes are surrogate escapes."""

    async def edit(self, scope: Scope, edits: Sequence[FileEdit]) -> tuple[Patch, ...]:
        """Apply edits in order, and return the inverse patch of each. Call it only within `writing`.

        Each document is written once, atomically.
        """

    async def create(self, scope: Scope, name: str, text: str) -> None:
        """Write a new document. Call it only within `writing`, and only if no document has this name."""

    async def save(self, scope: Scope, name: str, text: str, *, was: str) -> bool:
        """Put a person's text in the place of a document that still reads `was`. Call it only within `writing`.

        was: the text from which the person began, "" for no document. Return whether it was so; else nothing changes.
        """

    async def folders(self) -> list[str]:
        """Return the existing folders of people and rooms: "people/…" and "rooms/…", sorted."""

    async def sweep(self) -> None:
        """Clean up files that dead processes have left."""


class Records(Protocol):
    """The session records of each scope, oldest first, without forgotten text. Every call may raise StoreError."""

    async def last(self, scope: Scope) -> dict[str, Any] | None:
        """Return the newest record that was not deleted, without forgotten text, or None."""

    async def read(self, scope: Scope) -> list[dict[str, Any]]:
        """Return all records as they are stored."""

    async def lines(self, scope: Scope) -> bytes | None:
        """Return the records as lines of JSON, including damaged ones; None if the scope never had a record."""

    async def is_saved(self, scope: Scope, session_id: str) -> bool:
        """Return whether a session has or had a record."""

    async def save(self, scope: Scope, record: SessionRecord, at: float) -> bool:
        """Append a record and return True, or return False if its session has one. Call it only within `writing`.

        at: epoch seconds.
        """

    async def revise(self, scope: Scope, old: SessionRecord, new: SessionRecord) -> bool:
        """Put a record in the place of the session's old one; return False if that is gone, or was changed by others.

        Call it only within `writing`.
        """

    async def merge(self, scope: Scope, records: Sequence[SessionRecord], *, dry_run: bool) -> int:
        """Merge the records of another memory by time, and return the number of new records.

        Call it only within `writing`.

        dry_run: only count them.
        """

    async def originals(self, scope: Scope) -> list[SessionRecord]:
        """Return the records that were not deleted, with text that is forgotten. They are to be merged elsewhere."""

    async def remove(self, scope: Scope, session_ids: Collection[str]) -> None:
        """Remove the records of sessions, which can be merged again later. Call it only within `writing`."""

    async def tidy(self, scope: Scope, *, keep: int) -> None:
        """Delete all but the newest `keep` records, and set damaged ones aside. Call it only within `writing`."""

    async def withhold(self, scope: Scope) -> Withheld:
        """Remove forgotten text from the records, and restore text that is remembered; return what is withheld.

        Call it only within `writing`.
        """
