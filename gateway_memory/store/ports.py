"""The seams of the store: protocols with named operations and plain values, each with several adapters.

No SQL, connection or closure crosses a port, and `Documents` and `Lease` raise only our errors (`StoreError`).
Documents and session records are in files (`store.disk`), in memory (`store.disk.in_memory`) or in PostgreSQL
(`store.postgres`). Everything else is SQL (`store.journal`) over a `SqlConnection`. The rows of the index are a port
of `recall`.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:  # hooks need none of these
    from gateway_memory.scope import Scope
    from gateway_memory.store.documents import FileEdit, Patch
    from recall import Stamp

__all__ = ["Documents", "Lease", "RecordFile", "Stamps", "WaitNotified"]

Stamps = dict[str, tuple[int, int]]
"""The modification time (ns since the epoch) and the size (bytes) of each document of a scope, by name."""
WaitNotified: TypeAlias = Callable[[float], Awaitable[None]]
"""Waits until a host of the store has sent a notification since the last call, at the latest for so many seconds.

Notifications can be lost, so whoever waits looks from time to time.
"""


class Documents(Protocol):
    """The Markdown documents of all scopes: "MEMORY.md", "memory/2026-11-21.md", and other notes below "memory/".

    Every call may raise StoreError. It has then changed nothing.
    """

    @property
    def folder(self) -> Path | None:
        """The folder in which people and tools edit the documents as files, or None if there is no such folder."""

    def writing(self, scope: "Scope") -> AbstractAsyncContextManager[None]:
        """Return a context that holds the write lock of a scope, within this process and among processes.

        Raises:
            StoreError: another process has held the lock for more than half a minute.
        """

    async def scan(self, scope: "Scope") -> Stamps:
        """Return the current stamps of a scope's documents."""

    async def read(self, scope: "Scope", name: str) -> "tuple[str, Stamp] | None":
        """Return the text and stamp of a document, or None. Undecodable bytes are surrogate escapes."""

    async def edit(self, scope: "Scope", edits: "Sequence[FileEdit]") -> "tuple[Patch, ...]":
        """Apply edits in order, and return the inverse patch of each. Call it only within `writing`.

        Each document is written once, atomically.
        """

    async def create(self, scope: "Scope", name: str, text: str) -> None:
        """Write a new document. Call it only within `writing`, and only if no document has this name."""

    async def save(self, scope: "Scope", name: str, text: str, *, was: str) -> bool:
        """Put a person's text in the place of a document that still reads `was`. Call it only within `writing`.

        was: the text from which the person began, "" for no document. Return whether it was so; else nothing changes.
        """

    async def folders(self) -> list[str]:
        """Return the existing folders of people and rooms: "people/…" and "rooms/…", sorted."""

    async def sweep(self) -> None:
        """Clean up files that dead processes have left."""


class RecordFile(Protocol):
    """The records of one scope as lines. Calls may raise OSError."""

    def read(self, start: int = 0) -> bytes | None:
        """Return the content from byte `start` on, or None if there is no file."""

    def last(self) -> dict[str, Any] | None:
        """Return the newest record that was not deleted, or None."""

    def append(self, lines: bytes) -> None:
        """Append whole lines, atomically."""

    def rewrite(self, change: Callable[[bytes | None], bytes | None]) -> None:
        """Replace the content with the result of `change`. A result of None leaves it unchanged."""

    def put_aside(self, lines: bytes) -> None:
        """Store lines that are not valid records in a separate place."""


class Lease(Protocol):
    """The slot that this process leases among the processes that share a store."""

    @property
    def number(self) -> int:
        """The number of the slot. No other living process has the same number."""

    def is_alone(self) -> bool:
        """Return whether no other process has the store open."""

    async def living(self, numbers: Collection[int]) -> frozenset[int]:
        """Return which of these slots a living process holds. May raise StoreError."""

    def orphan(self, number: int) -> AbstractContextManager[object] | None:
        """Return a context that holds the slot of a dead process, or None while that process lives."""
