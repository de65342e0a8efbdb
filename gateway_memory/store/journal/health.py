"""The port `Health` in SQL: the state of each process stands beside its lease, and failures are counted by kind."""

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from gateway_memory.observability.metrics import Failure
from gateway_memory.store.journal.sql import EVERY, UNDECODABLE
from gateway_memory.store.ports.health import ProcessState

if TYPE_CHECKING:
    from gateway_memory.store.journal.sql import Database, SqlConnection
    from gateway_memory.store.ports.lease import Lease

__all__ = ["SqlHealth"]

_KINDS_KEPT: Final = 50
_LONGEST: Final = 120
"""Characters of a place or of an error's class."""
_ADD: Final = (
    "INSERT INTO failures (place, error, at, count) VALUES (?, ?, ?, ?) ON CONFLICT (place, error) DO UPDATE SET "
    "count = failures.count + excluded.count, at = excluded.at"
)
_LET_GO: Final = (
    "DELETE FROM failures WHERE at < ? OR at < "
    f"(SELECT min(at) FROM (SELECT at FROM failures ORDER BY at DESC LIMIT {_KINDS_KEPT}) AS newest)"
)


class SqlHealth:
    """The port on the journal's connection; `ports.health` documents the calls."""

    def __init__(self, connection: "SqlConnection", slot: "Lease") -> None:
        self._connection = connection
        self._slot = slot

    @property
    def slot(self) -> int:
        return self._slot.number

    async def note(self, state: ProcessState | None, failures: Sequence[Failure] = (), *, since: float = 0.0) -> None:
        rows = [(each.place[:_LONGEST], each.error[:_LONGEST], each.at, each.count) for each in failures]

        def work(database: "Database") -> None:
            if state is not None:
                self._put(database, json.dumps(state.to_json()))
            if rows:
                database.executemany(_ADD, rows)
                database.execute(_LET_GO, (since,))

        await self._connection.transact(work, of=EVERY)

    async def leave(self) -> None:
        await self._connection.transact(lambda database: self._put(database, ""), of=EVERY)

    async def processes(self) -> dict[int, ProcessState]:
        rows = await self._connection.rows("SELECT slot, state FROM leases WHERE state <> '' ORDER BY slot", of=EVERY)
        living = await self._slot.living([int(slot) for slot, _ in rows])
        found: dict[int, ProcessState] = {}
        for slot, body in rows:
            if int(slot) in living:
                with suppress(*UNDECODABLE):  # the process writes it again
                    found[int(slot)] = ProcessState.from_json(json.loads(body))
        return found

    async def failures(self, *, since: float) -> list[Failure]:
        query = "SELECT place, error, at, count FROM failures WHERE at >= ? ORDER BY at DESC, place"
        rows = await self._connection.rows(query, (since,), of=EVERY)
        return [
            Failure(place=str(place), error=str(error), at=float(at), count=int(count))
            for place, error, at, count in rows
        ]

    def _put(self, database: "Database", state: str) -> None:
        database.execute("UPDATE leases SET state = ? WHERE slot = ?", (state, self._slot.number))
