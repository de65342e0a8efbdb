"""The processes that share a database: each leases a slot while it lives, and wakes the others by NOTIFY."""

import asyncio
import hashlib
import secrets
import threading
from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import lru_cache
from queue import Empty, SimpleQueue
from typing import Any, Final

import psycopg
from psycopg import sql

from gateway_memory.errors import StoreError
from gateway_memory.ground.databases import Database
from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.threads import Threads
from gateway_memory.store.journal.sql import SqlConnection
from gateway_memory.store.postgres.connection import ANYWHERE, SQL

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


# Wake the other processes by NOTIFY, and be woken: on connections of their own, after the commit.

_LOOK_SECONDS: Final = 1.0
_LISTEN_BACKOFF_SECONDS: Final = 2.0
_ANY: Final = ""
"""In the place of a name: whatever it was. Hosts of the version before send this."""


class Notifications:
    """How the processes of a schema wake each other. A notification names a scope or a slot, by a digest.

    Every process hears of every name, and those that have nothing to do with it go on sleeping. Whoever can connect to
    the database may listen, so `key` makes the digests: who does not know it can't tell whose they are.

    A transaction that holds a NOTIFY makes all others wait for its commit, so it is sent after it.

    dsn: of a connection of its own, not through a pooler that lends it to others.
    """

    def __init__(self, dsn: str, schema: str) -> None:
        self._dsn = dsn
        self._channel = f"{schema}.changes"
        self._sender = Threads(1, "gateway-memory-notify")
        self._sending: psycopg.Connection[Any] | None = None
        self._named: SimpleQueue[str] = SimpleQueue()
        self._queued = False
        self._heard: set[str] = set()
        self._closed = threading.Event()
        self.key = b""
        self._woken = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._listen, name="gateway-memory-listen", daemon=True).start()

    async def wait(self, seconds: float, names: Callable[[], Iterable[str]]) -> frozenset[str] | None:
        """See `WaitNotified`."""
        try:
            async with asyncio.timeout(seconds):
                while True:
                    await self._woken.wait()
                    self._woken.clear()
                    heard, self._heard = self._heard, set()
                    if _ANY in heard:
                        return None
                    if named := frozenset(name for name in names() if _digest(self.key, name) in heard):
                        return named
        except TimeoutError:
            return None

    def send(self, name: str) -> None:
        """Wake the processes that have to do with a scope, by its key, or with a slot, by its name."""
        self._named.put(_digest(self.key, name))
        if not self._queued and not self._closed.is_set():
            self._queued = True
            self._sender.submit(self._send)

    def close(self) -> None:
        """Stop both threads, without waiting for a server that does not answer."""
        self._closed.set()
        self._sender.submit(self._stop_sending)
        self._sender.shutdown(wait=False)

    def _stop_sending(self) -> None:
        if self._sending is not None:
            self._sending.close()

    def _send(self) -> None:
        self._queued = False
        named = set()
        with suppress(Empty):
            while True:
                named.add(self._named.get_nowait())
        try:
            if self._sending is None or self._sending.closed:
                self._sending = psycopg.connect(self._dsn, **ANYWHERE)
            query = "SELECT pg_notify(%s, name) FROM unnest(%s::text[]) AS name"
            self._sending.execute(query, (self._channel, sorted(named)))
        except psycopg.Error as error:  # the other processes look from time to time
            log.warning("notifications.not_sent", error=type(error).__name__)

    def _listen(self) -> None:
        listening = True
        while not self._closed.is_set():
            try:
                with psycopg.connect(self._dsn, **ANYWHERE) as connection:
                    listening = True
                    connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))
                    self._wake(_ANY)  # for what came before
                    while not self._closed.is_set():
                        for notification in connection.notifies(timeout=_LOOK_SECONDS, stop_after=1):
                            self._wake(notification.payload)
            except psycopg.Error as error:
                if listening:
                    log.warning("notifications.not_heard", error=type(error).__name__)
                listening = False
                self._closed.wait(_LISTEN_BACKOFF_SECONDS)

    def _wake(self, named: str) -> None:
        if not self._closed.is_set():
            try:
                self._loop.call_soon_threadsafe(self._hear, named)
            except RuntimeError:  # the loop has ended
                self._closed.set()

    def _hear(self, named: str) -> None:
        self._heard.add(named)
        self._woken.set()


@lru_cache(maxsize=100_000)
def _digest(key: bytes, name: str) -> str:
    return hashlib.blake2b(name.encode(), key=key, digest_size=12).hexdigest()
