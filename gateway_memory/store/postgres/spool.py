"""Turns are durable on this host first, and go to the database from here, so that capture never waits for it."""

import asyncio
import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from gateway_memory.errors import StoreError, StoreRefusedError, store_failed
from gateway_memory.observability.logger import get_logger
from gateway_memory.observability.metrics import Metrics
from gateway_memory.runtime.tasks import Threads
from gateway_memory.store.disk.private import private_file, private_folder
from gateway_memory.store.journal.event_log import EventLog
from gateway_memory.store.journal.sql import SqlConnection
from gateway_memory.store.ports.lease import Lease
from gateway_memory.store.ports.sessions import Observation
from gateway_memory.store.ports.turns import NewTurn
from gateway_memory.store.postgres.turns import PostgresTurns
from gateway_memory.store.report import ReplyReport

__all__ = ["Spool", "SpooledTurns", "waiting_in"]

log = get_logger(__name__)

T = TypeVar("T")

_AT_ONCE: Final = 200
_NUMBER_SECONDS: Final = 0.25
"""How long a caller waits for its turn's number, which only the database knows. The turn is durable before."""
_REST_SECONDS: Final = 1.0
_LAST_SECONDS: Final = 2.0


class Spool:
    """A file of turns that wait for the database, in their order. Several processes may share it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = Threads(1, "gateway-memory-spool")
        self._database: sqlite3.Connection | None = None
        self.number = 0
        """How many turns this process knows to wait."""
        self.number_refused = 0
        """How many turns the database has refused; they stay in the file, and are not sent again."""

    async def open(self) -> None:
        """Open the file, and create it if it is missing. Raises StoreError."""

        def work() -> None:
            private_folder(self._path.parent)
            private_file(self._path)
            database = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=10)
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
            database.execute("PRAGMA secure_delete = ON")
            columns = "id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL"
            database.execute(f"CREATE TABLE IF NOT EXISTS waiting ({columns})")
            columns = "id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, reason TEXT NOT NULL, body TEXT NOT NULL"
            database.execute(f"CREATE TABLE IF NOT EXISTS refused ({columns})")
            self._database = database
            self.number_refused = int(database.execute("SELECT count(*) FROM refused").fetchone()[0])
            self.number = int(database.execute("SELECT count(*) FROM waiting").fetchone()[0])

        await self._run(work)

    async def close(self) -> None:
        """Close the file. What waits is sent by the next process."""

        def work() -> None:
            if self._database is not None:
                self._database.close()

        await self._run(work)
        self._thread.shutdown(wait=False)

    async def put(self, turn: NewTurn) -> int:
        """Store a turn durably, and return its place. Raises StoreError."""
        body = json.dumps(_to_json(turn))
        query = "INSERT INTO waiting (body) VALUES (?) RETURNING id"
        ((place,),) = await self._run(lambda: self._open.execute(query, (body,)).fetchall())
        self.number += 1
        return int(place)

    async def first(self, limit: int) -> list[tuple[int, NewTurn]]:
        """Return the turns that wait, oldest first, by place. Raises StoreError."""
        query = "SELECT id, body FROM waiting ORDER BY id LIMIT ?"
        rows = await self._run(lambda: self._open.execute(query, (limit,)).fetchall())
        return [(int(place), _from_json(json.loads(body))) for place, body in rows]

    async def remove(self, upto: int) -> None:
        """Remove the turns up to a place. Raises StoreError."""

        def work() -> int:
            gone = self._open.execute("DELETE FROM waiting WHERE id <= ?", (upto,)).rowcount
            if gone >= self.number:  # no byte of what was said stays here
                self._open.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return gone

        self.number = max(0, self.number - await self._run(work))

    async def set_aside(self, place: int, reason: str) -> None:
        """Take the turn of a place out of those that wait, and keep it with the reason why. Raises StoreError."""

        def work() -> None:
            self._open.execute("BEGIN IMMEDIATE")
            try:
                query = "INSERT INTO refused (at, reason, body) SELECT ?, ?, body FROM waiting WHERE id = ?"
                self._open.execute(query, (time.time(), reason, place))
                self._open.execute("DELETE FROM waiting WHERE id = ?", (place,))
            except BaseException:
                self._open.execute("ROLLBACK")
                raise
            self._open.execute("COMMIT")

        await self._run(work)
        self.number = max(0, self.number - 1)
        self.number_refused += 1

    @property
    def _open(self) -> sqlite3.Connection:
        assert self._database is not None
        return self._database

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except (OSError, sqlite3.Error) as error:
            raise store_failed(self._path, error) from error


class SpooledTurns(PostgresTurns):
    """Accepts turns into a spool, and forwards them. A turn that arrives twice is one turn: see `NewTurn.turn_id`."""

    def __init__(
        self, connection: SqlConnection, slot: Lease, event_log: EventLog, spool: Spool, metrics: Metrics
    ) -> None:
        super().__init__(connection, slot, event_log)
        self._metrics = metrics
        self._spool = spool
        self._waiting = asyncio.Event()
        self._numbers: dict[int, asyncio.Future[int]] = {}

    async def accept(self, turn: NewTurn) -> int:
        """Store a turn on this host, and return its number; 0 if the database does not answer in time.

        Raises StoreError if it could not be written here.
        """
        place = await self._spool.put(turn)
        number: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._numbers[place] = number
        self._waiting.set()
        try:
            async with asyncio.timeout(_NUMBER_SECONDS):
                return await number
        except TimeoutError:
            return 0
        finally:
            self._numbers.pop(place, None)

    async def run(self) -> None:
        """Forward turns until cancelled, beginning with those that an earlier process left."""
        waits = False
        while True:
            try:
                while await self.forward():
                    pass
            except StoreError as error:
                if not waits:
                    log.warning("spool.waits", error=type(error).__name__)
                waits = True
                await asyncio.sleep(_REST_SECONDS)
                continue
            waits = False
            await self._waiting.wait()
            self._waiting.clear()

    async def forward(self) -> int:
        """Send the oldest turns to the database, and return how many there were. Raises StoreError."""
        found = await self._spool.first(_AT_ONCE)
        if not found:
            return 0
        try:
            numbers = await self.accept_all([turn for _, turn in found])
        except StoreRefusedError:
            numbers = [await self._accept_one(place, turn) for place, turn in found]
        await self._spool.remove(found[-1][0])
        late = False
        for (place, _), number in zip(found, numbers, strict=True):
            caller = self._numbers.pop(place, None)
            late = late or caller is None
            if caller is not None and not caller.done():
                caller.set_result(number)
        if late:  # nobody waits for it any more, so nobody wakes the worker
            self._event_log.published()
        return len(found)

    async def _accept_one(self, place: int, turn: NewTurn) -> int:
        """Return the number of a turn; 0 for one that the database refuses, which is set aside.

        Raises StoreError: the database is away.
        """
        try:
            return (await self.accept_all([turn]))[0]
        except StoreRefusedError as error:
            await self._spool.set_aside(place, str(error))
            self._metrics.fail(datetime.now(UTC), "spool", error)
            log.error("spool.turn_refused", reason=str(error))
            return 0

    async def send_last(self) -> None:
        """Send what waits, within two seconds. The rest stays."""
        with suppress(TimeoutError, StoreError):
            async with asyncio.timeout(_LAST_SECONDS):
                while await self.forward():
                    pass


def waiting_in(path: Path) -> int:
    """Return how many turns wait in a file. Raises StoreError."""
    if not path.exists():
        return 0
    try:
        with closing(sqlite3.connect(path, timeout=10)) as database:
            return int(database.execute("SELECT count(*) FROM waiting").fetchone()[0])
    except sqlite3.Error as error:
        raise store_failed(path, error) from error


def _to_json(turn: NewTurn) -> dict[str, Any]:
    return {
        **asdict(replace(turn, report=None)),
        "report": turn.report.to_json() if turn.report else None,
    }


def _from_json(found: dict[str, Any]) -> NewTurn:
    report, seen = found["report"], found["seen"]
    return NewTurn(
        **{
            **found,
            "recalled": tuple(found["recalled"]),
            "report": ReplyReport.from_json(report) if report else None,
            "seen": tuple(Observation(**each) for each in seen),
        }
    )
