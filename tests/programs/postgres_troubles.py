"""What goes wrong with hosts on PostgreSQL, with the server, and on the way between them; the generator chooses."""

import asyncio
import random
import time
from collections import Counter
from contextlib import suppress

import psycopg
from postgres import Postgres
from postgres_host import LEASE_SECONDS
from postgres_round import GoneError, HostProcess
from postgres_way import Way

__all__ = ["Troubles"]

LATE_SECONDS = 3.0
_NAMED = "SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || {}, 0)) FROM {} ORDER BY random() LIMIT 1"
_HELD = (
    _NAMED.format("scope", "sessions"),
    _NAMED.format("'session ' || session_id", "sessions"),
    _NAMED.format("'slot ' || slot", "hosts"),
    "SELECT 1 FROM sessions WHERE random() < 0.3 FOR UPDATE",
    "SELECT 1 FROM scope WHERE random() < 0.5 FOR UPDATE",
    "SELECT 1 FROM hosts WHERE random() < 0.5 FOR UPDATE",
    "SELECT 1 FROM documents WHERE random() < 0.5 FOR UPDATE",
    "LOCK TABLE events IN EXCLUSIVE MODE",
)
"""What another connection holds: the locks that hosts wait for, and rows that they write."""


class Troubles:
    """Lets things go wrong. count: how often each did. happened: when it did, in seconds, for a message."""

    def __init__(
        self, server: Postgres, schema: str, way: Way, hosts: list[HostProcess], generator: random.Random
    ) -> None:
        self._server = server
        self._schema = schema
        self._way = way
        self._hosts = hosts
        self._random = generator
        self.count: Counter[str] = Counter()
        self.happened: list[str] = []
        self._began = time.monotonic()

    def _note(self, fault: str, what: str = "") -> None:
        self.count[fault] += 1
        self.happened.append(f"{time.monotonic() - self._began:.1f} {fault} {what}".rstrip())

    async def _rest(self, least: float, most: float) -> None:
        await asyncio.sleep(self._random.uniform(least, most))

    async def of_hosts(self) -> None:
        """Let three things go wrong with hosts, one after the other."""
        for _ in range(3):
            await self._rest(0.5, 2)
            host = self._random.choice(self._hosts)
            fault = self._random.choice(["killed", "killed", "dead", "frozen", "full"])
            self._note(fault, host.name)
            if fault == "killed":
                await host.kill()
                await host.start()
            elif fault == "dead":  # for so long that others take over
                await host.kill()
                await self._rest(LEASE_SECONDS, LEASE_SECONDS + 2)
                await host.start()
            elif fault == "frozen":
                host.freeze()
                await self._rest(LEASE_SECONDS, LEASE_SECONDS + 2)
                host.thaw()
            else:
                with suppress(GoneError):
                    await host.ask("full", full=True)
                    await self._rest(0.5, 2)
                    await host.ask("full", full=False)

    async def of_server(self) -> None:
        """Let three things go wrong with the server, one after the other."""
        for _ in range(3):
            await self._rest(0.5, 2)
            fault = self._random.choice(["crashed", "server frozen", "terminated", "terminated", "server full", "held"])
            self._note(fault)
            if fault == "terminated":
                for _ in range(self._random.randrange(1, 6)):
                    await asyncio.to_thread(self._terminate)
                    await self._rest(0, 0.3)
            elif fault == "held":
                await self._hold(self._random.choice(_HELD))
            elif fault == "server frozen":
                self._server.freeze()
                await self._rest(0.3, LEASE_SECONDS + 1)
                self._server.thaw()
            else:
                if fault == "server full":
                    await asyncio.to_thread(self._server.fill_disk)
                    await self._rest(0.2, 1)
                self._server.stop()
                await self._rest(0, 1.5)
                await asyncio.to_thread(self._server.start)

    async def of_way(self) -> None:
        """Let three things go wrong on the way between hosts and the server, one after the other."""
        for _ in range(3):
            await self._rest(0.5, 2)
            fault = self._random.choice(["cut in a commit", "cut in a commit", "late", "half closed"])
            self._note(fault)
            if fault == "cut in a commit":
                self._way.cutting = self._random.randrange(1, 8)
                await self._rest(1, 3)
                self._way.cutting = 0
            elif fault == "late":
                self._way.delay_seconds = LATE_SECONDS
                await self._rest(0.5, LATE_SECONDS)
                self._way.delay_seconds = 0.0
            else:
                for _ in range(self._random.randrange(1, 4)):
                    self._way.close_halves(self._random)
                    await self._rest(0, 0.5)

    async def _hold(self, query: str) -> None:
        """Let another connection hold locks in a transaction for a while."""
        search = f"-csearch_path={self._schema}"
        with suppress(psycopg.Error):
            async with await psycopg.AsyncConnection.connect(self._server.dsn, options=search) as connection:
                await connection.execute("SET LOCAL lock_timeout = '1s'")
                await connection.execute(query.encode())
                await self._rest(0.5, LEASE_SECONDS + 2)
                await connection.rollback()

    def _terminate(self) -> None:
        """End some of the connections of the hosts."""
        query = (
            "SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'gateway-memory' AND random() < %s"
        )
        with suppress(psycopg.Error), psycopg.connect(self._server.dsn, autocommit=True) as connection:
            connection.execute(query, (self._random.uniform(0.1, 1),))
