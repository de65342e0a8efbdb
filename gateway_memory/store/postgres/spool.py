"""Turns on their way into PostgreSQL: accepted on this machine while the database is away, and forwarded in order."""

import asyncio
import json
import sqlite3
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from gateway_memory.errors import StoreBusyError, StoreError, StoreRefusedError, store_errors
from gateway_memory.ground.files import private_file
from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.metrics import Metrics
from gateway_memory.ground.policies import SERVER_BACKOFF_SECONDS
from gateway_memory.ground.texts import decoded
from gateway_memory.store.disk.workspace import private_folder
from gateway_memory.store.journal.arrivals import NewTurn
from gateway_memory.store.journal.connection import Connection
from gateway_memory.store.journal.event_log import EventLog
from gateway_memory.store.journal.opening import BUSY_SECONDS
from gateway_memory.store.journal.sql import UNDECODABLE, ProcessSlot, SqlConnection, member
from gateway_memory.store.journal.turns import UNNUMBERED, slot_name
from gateway_memory.store.postgres.turns import PostgresTurns
from gateway_memory.store.report import ReplyReport

log = get_logger(__name__)


_SPOOL_AT_ONCE: Final = 200
_NUMBER_SECONDS: Final = 0.25
"""How long a caller waits for its turn's number, which only the database knows. The turn is durable before."""
_LAST_SECONDS: Final = 2.0


class Spool:
    """A file of turns that wait for the database, in their order. Several processes may share it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._database: Connection | None = None
        self.number = 0
        """How many turns this process knows to wait."""
        self.number_refused = 0
        """How many turns the database has refused; they stay in the file, and are not sent again."""

    async def open(self) -> None:
        """Open the file, and create it if it is missing. Raises StoreError."""

        def prepare(database: sqlite3.Connection) -> None:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
            columns = "id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL"
            database.execute(f"CREATE TABLE IF NOT EXISTS waiting ({columns})")
            columns = "id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, reason TEXT NOT NULL, body TEXT NOT NULL"
            database.execute(f"CREATE TABLE IF NOT EXISTS refused ({columns})")
            self.number_refused = int(database.execute("SELECT count(*) FROM refused").fetchone()[0])
            self.number = int(database.execute("SELECT count(*) FROM waiting").fetchone()[0])

        with store_errors(self._path, OSError, sqlite3.Error):
            private_folder(self._path.parent)
            private_file(self._path)
            self._database = await Connection.open(self._path, busy_seconds=BUSY_SECONDS)
            await self._database.use(prepare)

    async def close(self) -> None:
        """Close the file. What waits is sent by the next process."""
        if self._database is not None:
            await self._database.close()

    async def put(self, turn: NewTurn) -> int:
        """Store a turn durably, and return its place. Raises StoreError."""
        report = turn.report.to_json() if turn.report else None
        body = json.dumps({**asdict(turn), "report": report})
        query = "INSERT INTO waiting (body) VALUES (?) RETURNING id"
        ((place,),) = await self._open.transact(lambda database: database.execute(query, (body,)).fetchall())
        self.number += 1
        return int(place)

    async def first(self, limit: int, *, besides: Collection[str] = ()) -> list[tuple[int, NewTurn]]:
        """Return the turns that wait, oldest first, by place, but for those of some sessions. Raises StoreError.

        A row that can't be decoded is set aside.
        """
        query = "SELECT id, body FROM waiting ORDER BY id LIMIT ?"
        values: tuple[Any, ...] = (limit,)
        if besides:
            others = f"coalesce({member('body', 'session_id')}, '') NOT IN (SELECT value FROM json_each(?))"
            query = f"SELECT id, body FROM waiting WHERE {others} ORDER BY id LIMIT ?"
            values = (json.dumps(list(besides)), limit)
        rows = await self._open.rows(query, values)
        turns: list[tuple[int, NewTurn]] = []
        for place, body in rows:
            try:
                turns.append((int(place), _from_json(json.loads(body))))
            except UNDECODABLE as error:
                log.error("spool.row_unreadable", error=type(error).__name__)
                await self.set_aside(int(place), "it can't be decoded")
        return turns

    async def remove(self, places: Collection[int]) -> None:
        """Remove the turns of these places. Raises StoreError."""
        query, values = "DELETE FROM waiting WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(places)),)
        removed = await self._open.transact(lambda database: database.execute(query, values).rowcount)
        if removed >= self.number:  # no byte of what was said stays here
            await self._open.shed()
        self.number = max(0, self.number - removed)

    async def set_aside(self, place: int, reason: str) -> None:
        """Take the turn of a place out of those that wait, and keep it with the reason why. Raises StoreError."""

        def work(database: sqlite3.Connection) -> None:
            query = "INSERT INTO refused (at, reason, body) SELECT ?, ?, body FROM waiting WHERE id = ?"
            database.execute(query, (time.time(), reason, place))
            database.execute("DELETE FROM waiting WHERE id = ?", (place,))

        await self._open.transact(work)
        self.number = max(0, self.number - 1)
        self.number_refused += 1

    @property
    def _open(self) -> Connection:
        assert self._database is not None
        return self._database


class SpooledTurns(PostgresTurns):
    """Accepts turns into a spool, and forwards them. A turn that arrives twice is one turn: see `NewTurn.turn_id`."""

    def __init__(
        self, connection: SqlConnection, slot: ProcessSlot, event_log: EventLog, spool: Spool, metrics: Metrics
    ) -> None:
        super().__init__(connection, slot, event_log)
        self._metrics = metrics
        self._spool = spool
        self._waiting = asyncio.Event()
        self._numbers: dict[int, asyncio.Future[int]] = {}
        self._busy: dict[str, float] = {}
        """Sessions that others have locked, and until when (by the loop's clock) their turns stay here."""

    async def accept(self, turn: NewTurn) -> int:
        """Store a turn on this machine, and return its number; UNNUMBERED if the database does not answer in time.

        0 if the database refuses the turn, which is then set aside.

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
            return UNNUMBERED
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
                await asyncio.sleep(SERVER_BACKOFF_SECONDS)
                continue
            waits = False
            with suppress(TimeoutError):
                async with asyncio.timeout_at(min(self._busy.values(), default=None)):
                    await self._waiting.wait()
            self._waiting.clear()

    async def forward(self) -> int:
        """Send the oldest turns to the database, and return how many it took. Raises StoreError.

        A session that others have locked keeps its turns here for a second; those of others go on.
        """
        now = asyncio.get_running_loop().time()
        self._busy = {session: until for session, until in self._busy.items() if until > now}
        turns = await self._spool.first(_SPOOL_AT_ONCE, besides=self._busy)
        if not turns:
            return 0
        try:
            numbers = await self._accept(turns)
        except (StoreRefusedError, StoreBusyError):
            sessions: dict[str, list[tuple[int, NewTurn]]] = {}
            for place, turn in turns:
                sessions.setdefault(turn.session_id, []).append((place, turn))
            numbers = await self._accept_each(sessions.values())
        await self._spool.remove(numbers)
        late = False
        for place, number in numbers.items():
            caller = self._numbers.pop(place, None)
            late = late or caller is None
            if caller is not None and not caller.done():
                caller.set_result(number)
        if late:  # its caller no longer waits, and would have woken the worker
            self._event_log.published(slot_name(self._slot.number))
        return len(turns)

    async def _accept(self, turns: Sequence[tuple[int, NewTurn]]) -> dict[int, int]:
        """Accept turns; return their numbers, by place."""
        numbers = await self.accept_all([turn for _, turn in turns], waits=False)
        return dict(zip((place for place, _ in turns), numbers, strict=True))

    async def _accept_each(self, groups: Iterable[Sequence[tuple[int, NewTurn]]]) -> dict[int, int]:
        """Accept turns, each group of one session; return the numbers of those that are done with, by place.

        A refused group is accepted turn by turn; a turn that the database refuses is set aside, and its number is 0.
        The turns of a session that others have locked wait.

        Raises StoreError: the database is away.
        """
        numbers: dict[int, int] = {}
        for turns in groups:
            session = turns[0][1].session_id
            if session in self._busy:
                continue
            try:
                numbers |= await self._accept(turns)
            except StoreBusyError:
                self._busy[session] = asyncio.get_running_loop().time() + SERVER_BACKOFF_SECONDS
                self._metrics.count("spool.held")
            except StoreRefusedError as error:
                if len(turns) > 1:
                    numbers |= await self._accept_each([each] for each in turns)
                    continue
                ((place, _),) = turns
                await self._spool.set_aside(place, str(error))
                self._metrics.fail(datetime.now(UTC), "spool", error)
                log.error("spool.turn_refused", reason=str(error))
                numbers[place] = 0
        return numbers

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
    with store_errors(path, sqlite3.Error), closing(sqlite3.connect(path, timeout=10)) as database:
        return int(database.execute("SELECT count(*) FROM waiting").fetchone()[0])


def _from_json(raw: dict[str, Any]) -> NewTurn:
    report = raw["report"]
    return decoded(NewTurn, {**raw, "report": ReplyReport.from_json(report) if report else None})
