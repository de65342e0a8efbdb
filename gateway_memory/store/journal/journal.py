"""The journal: one SQLite file that holds what must survive a crash, and what a line of Markdown can't carry."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from gateway_memory.errors import StoreError
from gateway_memory.store.journal.connection import Connection
from gateway_memory.store.journal.database import open_database
from gateway_memory.store.journal.event_log import EventLog
from gateway_memory.store.journal.marks import Marks
from gateway_memory.store.journal.session_state import Observation, observe, remember
from gateway_memory.store.journal.unreadable import UNDECODABLE, decoded
from gateway_memory.store.patch import Patch
from gateway_memory.store.plan import Memory, Plan
from notifier import Event

__all__ = ["Journal", "PendingTurn"]

T = TypeVar("T")

_CHUNK: Final = 500
_PARKED: Final = 100
_FAILED: Final = 2
_DONE: Final = "DELETE FROM turns WHERE id = ?"
_RECEIPTS_KEPT: Final = 20_000
_CHANGES_KEPT: Final = 2_000
"""Receipts back from the newest that an undo can reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingTurn:
    """A turn that was accepted and isn't done yet; `at` and `accepted_at` are in epoch seconds."""

    id: int
    scope: str
    session_key: str
    session_id: str
    user: str
    reply: str
    at: float
    accepted_at: float


class Journal:
    """One connection; each change is one transaction."""

    event_log: EventLog
    marks: Marks

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: Connection | None = None
        self.slot = -1

    async def open(self, slot: int, *, is_alone: Callable[[], bool], sends: bool = False, history: int = 1000) -> None:
        """Open the file, or make it, for the process that holds this slot. sends, history: see EventLog.

        is_alone: see `open_database`.

        Raises:
            JournalDamagedError: the file was no readable database; it now stands aside under another name, unless
                another process has it open.
            SchemaFromFutureError: a newer version wrote it.
            StoreError: it can't be opened at all.
        """
        self.slot = slot
        self._connection = await open_database(self._path, is_alone=is_alone)
        self.marks = Marks(self._connection)
        self.event_log = EventLog(self._connection, self._path, slot=slot, sends=sends, history=history)
        try:
            await self.event_log.open()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close the file. May be called twice."""
        connection, self._connection = self._connection, None
        if connection:
            await self.event_log.close()
            await connection.close()

    @property
    def _database(self) -> Connection:
        if self._connection is None:
            raise StoreError(f"{self._path}: the journal is closed")
        return self._connection

    async def rows(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        """Return all rows of a query."""
        return await self._database.rows(query, values)

    async def transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in one transaction, which is on disk when this returns."""
        return await self._database.transact(work)

    async def decoded(
        self, table: str, key: str, rows: Sequence[Sequence[Any]], decode: Callable[[Sequence[Any]], T]
    ) -> list[T]:
        """Return what `decode` makes of a table's rows; see `unreadable.decoded`."""
        return await decoded(self._database, table, key, rows, decode)

    async def _change(self, query: str, values: Sequence[object] = ()) -> int:
        """Run one statement in a transaction of its own, and return how many rows it changed."""
        return await self._database.transact(lambda database: database.execute(query, values).rowcount)

    # Sessions

    async def open_session(self, key: str, scope: str, session_id: str, at: float) -> tuple[str, bool]:
        """Return the id of the key's open session, and whether it was opened by this call."""

        def work(database: sqlite3.Connection) -> tuple[str, bool]:
            opened = database.execute(
                "INSERT OR IGNORE INTO sessions (session_id, key, scope, opened_at, seen_at) VALUES (?, ?, ?, ?, ?)",
                (session_id, key, scope, at, at),
            )
            mine = "UPDATE sessions SET slot = ? WHERE key = ? AND scope = ? AND ended_at IS NULL"
            database.execute(mine, (self.slot, key, scope))
            query = "SELECT session_id FROM sessions WHERE key = ? AND scope = ? AND ended_at IS NULL"
            return str(database.execute(query, (key, scope)).fetchone()[0]), bool(opened.rowcount)

        return await self._database.transact(work)

    # Turns

    async def accept(
        self,
        *,
        scope: str,
        session_key: str,
        session_id: str,
        user: str,
        reply: str,
        at: float,
        now: float,
        recalled: Sequence[str] = (),
        seen: Sequence[Observation] = (),
    ) -> int:
        """Keep a turn until it has been processed; it is on disk when this returns. Returns its id.

        recalled: the ids of the memories that were found for its reply. seen: what is observed of it.
        """
        query = (
            "INSERT INTO turns (scope, session_key, session_id, user, reply, at, accepted_at, slot) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        )
        values = (scope, session_key, session_id, user, reply, at, now, self.slot)

        def work(database: sqlite3.Connection) -> int:
            turn = int(database.execute(query, values).lastrowid or 0)
            row = (turn, scope, session_id, at, json.dumps(list(recalled)))
            database.execute("INSERT INTO replies VALUES (?, ?, ?, ?, ?)", row)
            observe(database, scope, session_id, seen, now)
            return turn

        return await self._database.transact(work)

    async def pending(self, stage: int, *, session_id: str | None = None, limit: int = 256) -> list[PendingTurn]:
        """Return this process's turns that wait for a stage (0 the rules, 1 the batch), oldest first."""
        rows = await self.rows(
            "SELECT id, scope, session_key, session_id, user, reply, at, accepted_at FROM turns "
            "WHERE slot = ? AND stage = ? AND (? IS NULL OR session_id = ?) ORDER BY id LIMIT ?",
            (self.slot, stage, session_id, session_id, limit),
        )
        names = ("id", "scope", "session_key", "session_id", "user", "reply", "at", "accepted_at")
        return [PendingTurn(**dict(zip(names, row, strict=True))) for row in rows]

    async def park(self, turn: int) -> None:
        """Put a turn that something broke on aside: it keeps its text and waits for `unpark`."""
        await self._change(f"UPDATE turns SET stage = stage - {_PARKED} WHERE id = ? AND stage >= 0", (turn,))

    async def unpark(self) -> None:
        """Let this process's parked turns wait for their stage again."""
        await self._change(f"UPDATE turns SET stage = stage + {_PARKED} WHERE slot = ? AND stage < 0", (self.slot,))

    async def slots_with_work(self) -> list[int]:
        """Return the slots that turns or plans belong to."""
        rows = await self.rows("SELECT slot FROM turns UNION SELECT slot FROM plans")
        return [int(row[0]) for row in rows]

    async def adopt(self, slot: int) -> None:
        """Take over the work of a slot whose process is gone. The caller holds that slot's lock."""

        def work(database: sqlite3.Connection) -> None:
            for table in ("turns", "plans"):
                database.execute(f"UPDATE {table} SET slot = ? WHERE slot = ?", (self.slot, slot))

        await self._database.transact(work)

    # Plans

    async def begin(self, plan: Plan, events: Sequence[Event] = ()) -> tuple[int, list[Event]]:
        """Write down what is about to be done, what is known of its memories, and what will be announced.

        Returns the plan's number, and the events with theirs.
        """
        rows = [_memory_row(plan.scope, memory, "active", "", plan.at) for memory in plan.added]
        rows += [_memory_row(plan.scope, item.memory, item.state, item.replaced_by, plan.at) for item in plan.retired]
        rows += [_memory_row(plan.scope, item.memory, "active", "", plan.at) for item in plan.moved]
        marks = ", ".join("?" * len(rows[0])) if rows else ""

        def work(database: sqlite3.Connection) -> tuple[int, list[Event]]:
            if rows:
                database.executemany(f"INSERT OR REPLACE INTO memories VALUES ({marks})", rows)
            cursor = database.execute("INSERT INTO plans (slot, body) VALUES (?, ?)", (self.slot, plan.to_json()))
            number = int(cursor.lastrowid or 0)
            return number, self.event_log.add(database, events, plan=number, now=plan.at)

        return await self._database.transact(work)

    async def plans(self) -> list[tuple[int, Plan]]:
        """Return this process's plans that are not known to be carried out, oldest first."""
        rows = await self.rows("SELECT id, '', body FROM plans WHERE slot = ? ORDER BY id", (self.slot,))
        found = await self.decoded("plans", "id", rows, lambda row: (int(row[0]), Plan.from_json(row[2])))
        if lost := {int(row[0]) for row in rows} - {number for number, _ in found}:  # their turns are read again
            await self.transact(lambda database: [self.event_log.called_off(database, number) for number in lost])
        return found

    async def finish(self, plan: Plan, number: int | None, patches: Sequence[Patch] = ()) -> None:
        """Record in one transaction that a plan is carried out: turns, receipt, history, events that may leave now.

        patches: how its files were edited.
        """
        advance = {
            "rules": "UPDATE turns SET stage = 1 WHERE id = ?",
            "batch": f"UPDATE turns SET stage = {_FAILED} WHERE id = ?" if plan.failed else _DONE,
        }.get(plan.stage, _DONE)
        keys = {memory.session_key for memory in plan.added}
        keys |= {item.memory.session_key for item in plan.retired} | {item.memory.session_key for item in plan.moved}
        outcomes = [[item.turn, item.action, item.reason, item.id] for item in plan.outcomes]
        receipt = (
            plan.scope,
            ",".join(sorted(keys)),
            plan.stage,
            json.dumps(plan.turns),
            json.dumps(outcomes),
            plan.at,
        )

        past = list(_history(plan))

        def work(database: sqlite3.Connection) -> None:
            if number is not None:
                database.execute("DELETE FROM plans WHERE id = ?", (number,))
                self.event_log.carried_out(database, number)
            database.executemany(advance, [(turn,) for turn in plan.turns])
            query = "INSERT INTO receipts (scope, session_key, stage, turns, outcome, at) VALUES (?, ?, ?, ?, ?, ?)"
            made = database.execute(query, receipt).lastrowid
            if plan.writes:
                database.executemany(
                    "INSERT INTO history (scope, memory, at, event, other) VALUES (?, ?, ?, ?, ?)", past
                )
                remember(database, plan)
            if plan.writes and plan.stage not in ("undo", "summary"):
                change = (made, plan.scope, plan.to_json(), json.dumps([asdict(patch) for patch in patches]))
                database.execute("INSERT INTO changes VALUES (?, ?, ?, ?)", change)

        await self._database.transact(work)

    # Memories

    async def memories(self, scope: str, ids: Sequence[str]) -> dict[str, Memory]:
        """Return what the journal knows of these memories, by id."""
        found: dict[str, Memory] = {}
        for start in range(0, len(ids), _CHUNK):
            chunk = ids[start : start + _CHUNK]
            marks = ",".join("?" * len(chunk))
            rows = await self.rows(
                "SELECT id, text, file, type, category, importance, confidence, entities, session_key, at, turn, "
                "expires, quote "
                f"FROM memories WHERE scope = ? AND id IN ({marks})",
                (scope, *chunk),
            )
            for row in rows:
                found[row[0]] = Memory(
                    id=row[0], text=row[1], file=row[2], type=row[3], category=row[4], importance=row[5],
                    confidence=row[6], entities=_names(row[7]), session_key=row[8], at=row[9],
                    turn=row[10], expires=row[11], quote=row[12],
                )  # fmt: skip
        return found

    # What is seen

    async def observe(self, *, scope: str, session_id: str, seen: Sequence[Observation], at: float) -> None:
        """Keep observations of a session."""
        await self._database.transact(lambda database: observe(database, scope, session_id, seen, at))

    async def tidy(self, *, observations_before: float) -> None:
        """Let go of old observations, of turns whose model failed as long ago, and of all but the newest receipts."""
        await self._change("DELETE FROM observations WHERE at < ?", (observations_before,))
        await self._change(f"DELETE FROM turns WHERE stage = {_FAILED} AND at < ?", (observations_before,))
        await self._change("DELETE FROM receipts WHERE id <= (SELECT max(id) FROM receipts) - ?", (_RECEIPTS_KEPT,))
        await self._change("DELETE FROM changes WHERE receipt <= (SELECT max(id) FROM receipts) - ?", (_CHANGES_KEPT,))
        await self._change("DELETE FROM replies WHERE turn <= (SELECT max(turn) FROM replies) - ?", (_RECEIPTS_KEPT,))

    async def queue(self) -> Mapping[str, float]:
        """Return what waits, of all processes: `rules`, `batch` and `parked` (turns), `outbox` (events).

        `unreadable`: rows that were set aside since they can't be decoded.
        `oldest_at` and `outbox_at` are in epoch seconds, 0 where no turn or no event waits.
        """
        ((rules, batch, oldest, parked),) = await self.rows(
            "SELECT total(stage = 0), total(stage = 1), coalesce(min(CASE WHEN stage < 2 THEN accepted_at END), 0), "
            "total(stage < 0) FROM turns"
        )
        outbox, outbox_at = await self.event_log.waiting()
        return {
            "rules": rules,
            "batch": batch,
            "oldest_at": oldest,
            "outbox": outbox,
            "outbox_at": outbox_at,
            "parked": parked,
            "unreadable": (await self.rows("SELECT count(*) FROM unreadable"))[0][0],
        }


def _names(body: str) -> tuple[str, ...]:
    """Return what a list of names says, nothing where it can't be read: the memory matters more."""
    try:
        return tuple(str(name) for name in json.loads(body))
    except UNDECODABLE:
        return ()


def _history(plan: Plan) -> Iterable[tuple[str, str, float, str, str]]:
    replaced = {item.replaced_by: item.memory.id for item in plan.retired if item.replaced_by}
    added = "restored" if plan.stage == "undo" else "added"
    for item in plan.retired:
        yield plan.scope, item.memory.id, plan.at, item.state, item.replaced_by
    for memory in plan.added:
        yield plan.scope, memory.id, plan.at, added, replaced.get(memory.id, "")
    for moved in plan.moved:
        yield plan.scope, moved.memory.id, plan.at, "restored" if plan.stage == "undo" else plan.stage, ""


def _memory_row(scope: str, memory: Memory, state: str, replaced_by: str, changed_at: float) -> tuple[object, ...]:
    return (
        scope, memory.id, memory.text, memory.file, memory.type, memory.category, memory.importance, memory.confidence,
        json.dumps(memory.entities), memory.session_key, memory.at, state, replaced_by, changed_at,
        memory.turn, memory.expires, memory.quote,
    )  # fmt: skip
