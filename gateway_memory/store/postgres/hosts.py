"""The processes that share a database: each leases a slot while it lives."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from gateway_memory.errors import StoreError
from gateway_memory.ground.databases import Database
from gateway_memory.ground.logs import get_logger
from gateway_memory.store.journal.sql import SqlConnection
from gateway_memory.store.postgres.transaction import SQL

log = get_logger(__name__)

_LEASE_SECONDS: Final = 30
_RENEW_SECONDS: Final = 10.0
_TAKEOVER_SECONDS: Final = 86_400
"""A slot that was not released goes to another process only then: one that was frozen for hours keeps its slot."""


class HostSlot:
    """The port `ProcessSlot` in PostgreSQL. Whether a process lives is known as of the last renewal."""

    def __init__(self, connection: SqlConnection) -> None:
        self._connection = connection
        self._token = secrets.token_hex(8)
        self._living: frozenset[int] = frozenset()
        self._is_lost = False
        self.number = -1
        self.regained: Callable[[], Awaitable[None]] = _nothing
        """Takes again what else belongs to the slot. May raise StoreError."""

    async def take(self) -> None:
        """Take the lowest slot that no process has leased lately. Raises StoreError."""

        def work(database: Database) -> int:
            database.execute("SELECT pg_advisory_xact_lock(hashtext(current_schema() || '.hosts'))")
            rest = f"until < now() - interval '{_TAKEOVER_SECONDS} seconds'"
            free = database.execute(f"SELECT min(slot) FROM hosts WHERE {rest}").fetchone()[0]
            if free is None:
                free = database.execute("SELECT coalesce(max(slot), -1) + 1 FROM hosts").fetchone()[0]
            database.execute(
                f"INSERT INTO hosts VALUES (?, ?, now() + interval '{_LEASE_SECONDS} seconds') "
                "ON CONFLICT (slot) DO UPDATE SET token = excluded.token, until = excluded.until",
                (free, self._token),
            )
            return int(free)

        self.number = await self._connection.transact(work)
        await self.renew()

    async def renew(self) -> None:
        """Renew the lease, and see which processes live. Raises StoreError.

        A backup that was restored may know nothing of this lease: it is taken again, unless a living process has it.
        """
        values = (self.number, self.number, self._token, _LEASE_SECONDS)
        rows = await self._connection.rows(SQL["hosts.renew"], values)
        if not rows:
            raise StoreError(f"slot {self.number} belongs to another process now; start this process again")
        ((before, living),) = rows
        self._living = frozenset(living) | {self.number}
        self._is_lost = self._is_lost or before != self._token
        if self._is_lost:
            await self.regained()
            self._is_lost = False
            log.warning("host.regained", slot=self.number)

    async def run(self) -> None:
        """Renew the lease until cancelled."""
        renewed = True
        while True:
            await asyncio.sleep(_RENEW_SECONDS)
            try:
                await self.renew()
                renewed = True
            except StoreError as error:
                if not renewed:
                    continue
                renewed = False
                log.warning("host.not_renewed", error=type(error).__name__)

    async def release(self) -> None:
        """End the lease, so that other processes take over at once what is left. If that fails, it ends by itself."""
        query = "UPDATE hosts SET until = '-infinity' WHERE slot = ? AND token = ?"
        values = (self.number, self._token)
        try:
            await self._connection.transact(lambda database: database.execute(query, values).rowcount)
        except StoreError as error:
            log.warning("host.not_released", error=type(error).__name__)

    def is_alone(self) -> bool:
        """Return whether no other process lived at the last renewal."""
        return self._living <= {self.number}

    async def living(self, numbers: Collection[int]) -> frozenset[int]:
        """Return which of these slots a living process holds. Raises StoreError."""
        rows = await self._connection.rows("SELECT slot FROM hosts WHERE until > now()")
        return frozenset(int(row[0]) for row in rows).intersection(numbers)

    def orphan(self, number: int) -> AbstractContextManager[object] | None:
        """Return a context for the slot of a dead process, or None while it lives. Two may enter it at a time."""
        return None if number == self.number or number in self._living else nullcontext()


async def _nothing() -> None:
    pass
