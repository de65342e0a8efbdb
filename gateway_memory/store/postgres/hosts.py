"""The slots of the hosts that share a database: each leases one while it lives, and renews its lease."""

import asyncio
import secrets
from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from gateway_memory.errors import StoreError
from gateway_memory.observability.logger import get_logger
from gateway_memory.store.journal.sql import Database, SqlConnection

__all__ = ["HostSlot"]

log = get_logger(__name__)

_LEASE_SECONDS: Final = 30
_RENEW_SECONDS: Final = 5.0
_REST_SECONDS: Final = 86_400
"""The slot of a host that did not release it goes to another one only then: one that was frozen for hours keeps it."""


class HostSlot:
    """The port `Lease` in PostgreSQL. Whether a host lives is known as of the last renewal."""

    def __init__(self, connection: SqlConnection) -> None:
        self._connection = connection
        self._token = secrets.token_hex(8)
        self._living: frozenset[int] = frozenset()
        self.number = -1

    async def take(self) -> None:
        """Take the lowest slot that no host has leased lately. Raises StoreError."""

        def work(database: Database) -> int:
            database.execute("SELECT pg_advisory_xact_lock(hashtext(current_schema() || '.hosts'))")
            rest = f"until < now() - interval '{_REST_SECONDS} seconds'"
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
        """Renew the lease, and see which hosts live. Raises StoreError."""

        def work(database: Database) -> frozenset[int] | None:
            query = f"UPDATE hosts SET until = now() + interval '{_LEASE_SECONDS} seconds' WHERE slot = ? AND token = ?"
            if not database.execute(query, (self.number, self._token)).rowcount:
                return None
            rows = database.execute("SELECT slot FROM hosts WHERE until > now()").fetchall()
            return frozenset(int(row[0]) for row in rows)

        living = await self._connection.transact(work)
        if living is None:
            raise StoreError(f"slot {self.number} belongs to another host now; start this process again")
        self._living = living

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
        """End the lease, so that other hosts take over at once what is left. If that fails, it ends by itself."""
        query = "UPDATE hosts SET until = '-infinity' WHERE slot = ? AND token = ?"
        values = (self.number, self._token)
        try:
            await self._connection.transact(lambda database: database.execute(query, values).rowcount)
        except StoreError as error:
            log.warning("host.not_released", error=type(error).__name__)

    def is_alone(self) -> bool:
        """Return whether no other host lived at the last renewal."""
        return self._living <= {self.number}

    async def living(self, numbers: Collection[int]) -> frozenset[int]:
        """Return which of these slots a living host holds. Raises StoreError."""
        rows = await self._connection.rows("SELECT slot FROM hosts WHERE until > now()")
        return frozenset(int(row[0]) for row in rows).intersection(numbers)

    def orphan(self, number: int) -> AbstractContextManager[object] | None:
        """Return a context for the slot of a dead host, or None while it lives. Two hosts may enter it at a time."""
        return None if number == self.number or number in self._living else nullcontext()
