"""Markdown and session records, by scope and name."""

from collections.abc import Sequence
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
"""When each Markdown document of a scope was saved (ns since the epoch) and its size in bytes, by name."""


class Documents(Protocol):
    """The Markdown of all scopes: "MEMORY.md", "memory/2026-11-21.md", and other notes below "memory/".

    Every call may raise StoreError; then nothing was changed.
    """

    @property
    def folder(self) -> Path | None:
        """The folder in which people and tools edit the documents as files; None where there is none."""

    def writing(self, scope: Scope) -> AbstractAsyncContextManager[None]:
        """Be the only writer of a scope, in this process and among processes.

        Raises:
            StoreError: another process has been writing for longer than half a minute.
        """

    async def scan(self, scope: Scope) -> Stamps:
        """Return the stamps of a scope's documents as they are now."""

    async def read(self, scope: Scope, name: str) -> tuple[str, Stamp] | None:
        """Return a document's text and stamp, None where there is none. Undecodable bytes are surrogate escapes."""

    async def edit(self, scope: Scope, edits: Sequence[FileEdit]) -> tuple[Patch, ...]:
        """Apply edits, each document at once and whole; return how to take them back. Call it only within `writing`."""

    async def create(self, scope: Scope, name: str, text: str) -> None:
        """Write a new document whole. Call it only within `writing`, where there is none of this name."""

    async def folders(self) -> list[str]:
        """Return the folders of people and rooms that there are: "people/…" and "rooms/…", sorted."""

    async def sweep(self) -> None:
        """Clean up what processes that died have left."""


class Records(Protocol):
    """The session records of each scope, oldest first; what was forgotten is left out of them."""

    async def last(self, scope: Scope) -> dict[str, Any] | None:
        """Return the newest record that was not deleted, without what was forgotten; None where there is none."""

    async def read(self, scope: Scope) -> list[dict[str, Any]]:
        """Return all records as they are kept."""

    async def lines(self, scope: Scope) -> bytes | None:
        """Return the records as lines of JSON, damaged ones too; None where there never was one."""

    async def is_saved(self, scope: Scope, session_id: str) -> bool:
        """Return whether a session has a record, or had one."""

    async def save(self, scope: Scope, record: SessionRecord, at: float) -> bool:
        """Append a record unless its session has one; return whether it was appended. Call it only within `writing`."""

    async def merge(self, scope: Scope, records: Sequence[SessionRecord], *, dry_run: bool) -> int:
        """Put records of another memory among those that are there, by their time; return how many were new.

        Call it only within `writing`. dry_run: only count them.
        """

    async def tidy(self, scope: Scope, *, keep: int) -> None:
        """Keep the newest records, and put damaged ones aside. Call it only within `writing`."""

    async def withhold(self, scope: Scope) -> Withheld:
        """Leave out of the records what is forgotten, and tell again what no longer is; return what is withheld.

        Call it only within `writing`.
        """
