"""The health of a workspace: the state of each process, beside its lease, and what failed, counted by kind."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Final

from gateway_memory.ground.databases import EVERY, Database
from gateway_memory.ground.metrics import Failure
from gateway_memory.ground.texts import decoded
from gateway_memory.store.journal.sql import SQL, UNDECODABLE, ProcessSlot, SqlConnection, Table, made
from notifier import NotifierStatus

_KINDS_KEPT: Final = 50
_LONGEST: Final = 120
"""Characters of a place or of an error's class."""
_PUT: Final = "UPDATE leases SET state = ? WHERE slot = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessState:
    """How a process is that has the workspace open. It holds no text of a message or a memory.

    pid: its id on its machine. since: when it opened the memory, in epoch seconds.
    model: the name of the model that reads its batches, "extract" for the host's own, None without one.
    problem: the kind of the last failure of its encoder, "" while it works.
    model_rests: whether it does not ask the model for a while, after repeated failures.
    alarm: why its capture is not alive: see `Metrics.capture_alarm`.
    replaced: how often it found the index damaged and made it again.
    updates: how many wait in it. sessions_waiting: for how many sessions; stored as `told`. mqtt: its connection, None
    without one.
    """

    pid: int
    since: float
    model: str | None = None
    problem: str = ""
    model_rests: bool = False
    alarm: str | None = None
    replaced: int = 0
    updates: int = 0
    sessions_waiting: int = 0
    mqtt: NotifierStatus | None = None


class Health(Table):
    """Which processes have the workspace open, how they are, and what failed lately.

    Every call may raise StoreError, and has then changed nothing.
    """

    def __init__(self, connection: SqlConnection, slot: ProcessSlot) -> None:
        super().__init__(connection)
        self._slot = slot

    @property
    def slot(self) -> int:
        """The number of this process among those that have the workspace open."""
        return self._slot.number

    async def note(self, state: ProcessState | None, failures: Sequence[Failure] = (), *, since: float = 0.0) -> None:
        """Store how this process is (None: nothing new), and add failures to those of their kind.

        since: epoch seconds; older failures are deleted. The newest 50 kinds are kept.
        """
        stored = asdict(state) if state else {}
        stored["told"] = stored.pop("sessions_waiting", 0)
        rows = [(each.place[:_LONGEST], each.error[:_LONGEST], each.at, each.count) for each in failures]

        def work(database: Database) -> None:
            if state is not None:
                database.execute(_PUT, (json.dumps(stored), self._slot.number))
            if rows:
                database.executemany(SQL["health.add_failures"], rows)
                database.execute(SQL["health.delete_old"], (since, _KINDS_KEPT))

        await self._write(EVERY, work)

    async def leave(self) -> None:
        """Record that this process closes the workspace."""
        await self._change(EVERY, _PUT, "", self._slot.number)

    async def processes(self) -> dict[int, ProcessState]:
        """Return how the living processes were when they noted it last, by their slots."""
        rows = await self._rows(EVERY, "SELECT slot, state FROM leases WHERE state <> '' ORDER BY slot")
        living = await self._slot.living([slot for slot, _ in rows])
        states: dict[int, ProcessState] = {}
        for slot, body in rows:
            if slot in living:
                with suppress(*UNDECODABLE):  # the process writes it again
                    stored = json.loads(body)
                    states[slot] = decoded(ProcessState, stored | {"sessions_waiting": stored["told"]})
        return states

    async def mark(self) -> str:
        """Return a text that changes once a process has failed, changed its state, or changed a memory."""
        return json.dumps(await self._read(EVERY, _mark))

    async def failures(self, *, since: float) -> list[Failure]:
        """Return what failed since a time (epoch seconds) in any process, dead ones too, newest first."""
        query = "SELECT place, error, at, count FROM failures WHERE at >= ? ORDER BY at DESC, place"
        return made(Failure, await self._rows(EVERY, query, since))


def _mark(database: Database) -> list[Any]:
    queries = (
        "SELECT count(*), coalesce(max(at), 0), coalesce(sum(count), 0) FROM failures",
        "SELECT slot, state FROM leases WHERE state <> '' ORDER BY slot",
        "SELECT coalesce(max(id), 0) FROM receipts",
    )
    results = [database.execute(query) for query in queries]  # a server answers them together
    return [[*map(str, row)] for result in results for row in result.fetchall()]
