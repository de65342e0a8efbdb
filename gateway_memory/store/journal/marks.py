"""What holds of a scope until it doesn't, and is told once, by whichever process comes to it first."""

from typing import Final

from gateway_memory.store.journal.connection import Connection

__all__ = ["MEMORY_FULL", "Marks"]

MEMORY_FULL: Final = "memory_md_full"
"""The mark of a scope whose MEMORY.md takes no more."""


class Marks:
    """Names that scopes are marked with, over the journal's connection."""

    def __init__(self, connection: Connection) -> None:
        self._database = connection
        self._untold: set[tuple[str, str]] = set()

    async def mark(self, scope: str, name: str) -> None:
        """Note that something holds of a scope, until `unmark`; it is told once."""
        await self._change("INSERT OR IGNORE INTO marks (scope, name) VALUES (?, ?)", scope, name)
        self._untold.add((scope, name))  # another process may have marked it, and told it too: `tell` finds out

    async def unmark(self, scope: str, name: str) -> None:
        """Note that it holds no longer."""
        self._untold.discard((scope, name))
        if await self._database.rows("SELECT 1 FROM marks WHERE scope = ? AND name = ?", (scope, name)):
            await self._change("DELETE FROM marks WHERE scope = ? AND name = ?", scope, name)

    def is_untold(self, scope: str, name: str) -> bool:
        """Return whether it may have to be told: by what this process has marked, or found when it looked last."""
        return (scope, name) in self._untold

    async def look_for_untold(self) -> None:
        """Take note of what other processes have marked."""
        rows = await self._database.rows("SELECT scope, name FROM marks WHERE NOT told")
        self._untold |= {(scope, name) for scope, name in rows}

    async def tell(self, scope: str, name: str) -> bool:
        """Return whether it is to be told now: it holds and nobody has told it yet."""
        due = bool(
            await self._change("UPDATE marks SET told = 1 WHERE scope = ? AND name = ? AND NOT told", scope, name)
        )
        self._untold.discard((scope, name))
        return due

    async def _change(self, query: str, scope: str, name: str) -> int:
        return await self._database.transact(lambda database: database.execute(query, (scope, name)).rowcount)
