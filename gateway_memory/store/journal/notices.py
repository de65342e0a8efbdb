"""Notices: what a scope is told once, whichever process delivers it."""

from gateway_memory.ground.databases import EVERY
from gateway_memory.store.journal.sql import SqlConnection, Table


class Notices(Table):
    """The one-time notices of all scopes. Every call may raise StoreError, and has then changed nothing."""

    def __init__(self, connection: SqlConnection) -> None:
        super().__init__(connection)
        self._notices: set[tuple[str, str]] = set()
        """Those that may not have been delivered yet."""

    async def set_notice(self, scope: str, name: str) -> None:
        """Set a notice of a scope, until `clear_notice`. It is delivered once."""
        await self._change(scope, "INSERT INTO marks (scope, name) VALUES (?, ?) ON CONFLICT DO NOTHING", scope, name)
        self._notices.add((scope, name))  # another process may have delivered it already, which `take_notice` checks

    async def clear_notice(self, scope: str, name: str) -> None:
        """Clear a notice."""
        self._notices.discard((scope, name))
        if await self._rows(scope, "SELECT 1 FROM marks WHERE scope = ? AND name = ?", scope, name):
            await self._change(scope, "DELETE FROM marks WHERE scope = ? AND name = ?", scope, name)

    async def notices(self, scope: str) -> list[str]:
        """Return the names of the notices of a scope that are set."""
        return await self._column(scope, "SELECT name FROM marks WHERE scope = ? ORDER BY name", scope)

    def may_be_due(self, scope: str, name: str) -> bool:
        """Return whether `is_due` is worth a call, by what this process has set or last read."""
        return (scope, name) in self._notices

    def names_due(self, scope: str) -> list[str]:
        """Return the names of a scope's notices that may be due, by what this process has set or last read."""
        return [name for of, name in self._notices if of == scope]

    async def look_for_notices(self) -> None:
        """Read the notices that other processes have set."""
        rows = await self._rows(EVERY, "SELECT scope, name FROM marks WHERE NOT told")
        self._notices |= {(scope, name) for scope, name in rows}

    async def is_due(self, scope: str, name: str) -> bool:
        """Return whether the notice is set and no process has delivered it. Call `take_notice` once it is delivered."""
        query = "SELECT 1 FROM marks WHERE scope = ? AND name = ? AND NOT told"
        due = bool(await self._rows(scope, query, scope, name))
        if not due:
            self._notices.discard((scope, name))
        return due

    async def was_told(self, scope: str, name: str) -> bool:
        """Return whether a process has delivered the notice."""
        return bool(await self._rows(scope, "SELECT 1 FROM marks WHERE scope = ? AND name = ? AND told", scope, name))

    async def take_notice(self, scope: str, name: str) -> bool:
        """Return whether to deliver the notice now: it is set and no process has delivered it."""
        query = "UPDATE marks SET told = TRUE WHERE scope = ? AND name = ? AND NOT told"
        due = bool(await self._change(scope, query, scope, name))
        self._notices.discard((scope, name))
        return due
