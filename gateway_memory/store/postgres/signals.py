"""Wake the other hosts by NOTIFY, and be woken: on connections of their own, after the commit."""

import asyncio
import threading
from typing import Any, Final

import psycopg
from psycopg import sql

from gateway_memory.observability.logger import get_logger
from gateway_memory.runtime.runtime import Threads
from gateway_memory.store.postgres.connection import in_schema

__all__ = ["NotifySignals"]

log = get_logger(__name__)

_LOOK_SECONDS: Final = 1.0
_REST_SECONDS: Final = 2.0


class NotifySignals:
    """The port `Signals`. A signal names nothing, so that it tells nobody anything.

    A transaction that holds a NOTIFY makes all others wait for its commit, so it is sent after it.

    dsn: of a connection of its own, not through a pooler that lends it to others.
    """

    def __init__(self, dsn: str, schema: str) -> None:
        self._dsn = dsn
        self._arguments = in_schema(schema)
        self._channel = f"{schema}.changes"
        self._sender = Threads(1, "gateway-memory-notify")
        self._sending: psycopg.Connection[Any] | None = None
        self._queued = False
        self._closed = threading.Event()
        self._woken = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._listen, name="gateway-memory-listen", daemon=True).start()

    async def wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return
        self._woken.clear()

    def send(self) -> None:
        """Wake the other hosts. A signal that waits to be sent already is enough."""
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
        try:
            if self._sending is None or self._sending.closed:
                self._sending = psycopg.connect(self._dsn, **self._arguments)
            self._sending.execute("SELECT pg_notify(%s, '')", (self._channel,))
        except psycopg.Error as error:  # the other hosts look from time to time
            log.warning("signals.not_sent", error=type(error).__name__)

    def _listen(self) -> None:
        hears = True
        while not self._closed.is_set():
            try:
                with psycopg.connect(self._dsn, **self._arguments) as connection:
                    hears = True
                    connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))
                    self._wake()  # for what came before
                    while not self._closed.is_set():
                        for _ in connection.notifies(timeout=_LOOK_SECONDS, stop_after=1):
                            self._wake()
            except psycopg.Error as error:
                if hears:
                    log.warning("signals.not_heard", error=type(error).__name__)
                hears = False
                self._closed.wait(_REST_SECONDS)

    def _wake(self) -> None:
        if not self._closed.is_set():
            try:
                self._loop.call_soon_threadsafe(self._woken.set)
            except RuntimeError:  # the loop has ended
                self._closed.set()
