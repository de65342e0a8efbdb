"""Wake the other processes by NOTIFY, and be woken: on connections of their own, after the commit."""

import asyncio
import hashlib
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from queue import Empty, SimpleQueue
from typing import Any, Final

import psycopg
from psycopg import sql

from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.threads import Threads
from gateway_memory.store.postgres.connection import ANYWHERE

log = get_logger(__name__)


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
