"""What is known of memories and money, in SQLite: the port `Ledger`."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo
from typing import Any

from gateway_memory.clock import day_of
from gateway_memory.store.journal.connection import Connection
from gateway_memory.store.journal.memory_rows import find_memories
from gateway_memory.store.journal.unreadable import decoded
from gateway_memory.store.journal.uses import useful
from gateway_memory.store.journal.withheld import withheld
from gateway_memory.store.patch import Patch
from gateway_memory.store.plan import Outcome, Plan, Receipt
from gateway_memory.store.ports.ledger import HistoryLine, Spent, UndoEntry, Uses
from gateway_memory.store.record import MemoryRecord
from gateway_memory.store.withheld import Withheld

__all__ = ["SqliteLedger"]


class SqliteLedger:
    """Works on the journal's connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._untold: set[tuple[str, str]] = set()

    # What models cost

    async def reserve(self, day: str, *, calls: int, tokens: int, wanted: int) -> bool:
        """Count a call against a day's limits, with the tokens that it may take; False, and nothing, past a limit.

        What is reserved stays counted until `settle`, also when the process dies: rather too little is spent.
        """

        def work(database: sqlite3.Connection) -> bool:
            database.execute("INSERT OR IGNORE INTO usage (day) VALUES (?)", (day,))
            query = (
                "UPDATE usage SET extractions = extractions + 1, reserved_tokens = reserved_tokens + ? WHERE day = ? "
                "AND extractions < ? AND input_tokens + output_tokens + reserved_tokens + ? <= ?"
            )
            return bool(database.execute(query, (wanted, day, calls, wanted, tokens)).rowcount)

        return await self._connection.transact(work)

    async def last_extraction(self) -> float:
        """Return when turns were last read, by rules or by a model, in epoch seconds; 0 if never."""
        query = "SELECT coalesce(max(at), 0) FROM receipts WHERE stage IN ('rules', 'batch')"
        return float((await self._connection.rows(query))[0][0])

    async def settle(self, day: str, *, reserved: int, input_tokens: int, output_tokens: int) -> None:
        """Count what a call took in place of what was reserved for it. No number takes a budget back."""
        query = (
            "UPDATE usage SET reserved_tokens = max(0, reserved_tokens - ?), input_tokens = input_tokens + max(0, ?), "
            "output_tokens = output_tokens + max(0, ?) WHERE day = ?"
        )
        values = (reserved, input_tokens, output_tokens, day)
        await self._connection.transact(lambda database: database.execute(query, values).rowcount)

    async def spent(self, day: str) -> Spent:
        """Return what was spent on a day (YYYY-MM-DD)."""
        rows = await self._connection.rows(
            "SELECT extractions, input_tokens, output_tokens, reserved_tokens FROM usage WHERE day = ?", (day,)
        )
        if not rows:
            return Spent()
        calls, input_tokens, output_tokens, reserved = rows[0]
        return Spent(calls=calls, input_tokens=input_tokens, output_tokens=output_tokens, reserved=reserved)

    # Memories

    async def memories(self, scope: str, ids: Sequence[str]) -> dict[str, MemoryRecord]:
        """Return what is known of these memories, by id."""
        return await self._connection.read(lambda database: find_memories(database, scope, ids))

    async def of_turns(self, scope: str, turns: Sequence[int]) -> list[MemoryRecord]:
        """Return the memories that stand and were read from these turns."""
        marks = ",".join("?" * len(turns))
        rows = await self._connection.rows(
            f"SELECT id FROM memories WHERE scope = ? AND state = 'active' AND turn > 0 AND turn IN ({marks})",
            (scope, *turns),
        )
        return list((await self.memories(scope, [row[0] for row in rows])).values())

    async def stages(self, scope: str) -> list[MemoryRecord]:
        """Return the stage summaries that stand, each with its session."""
        rows = await self._connection.rows(
            "SELECT m.id, coalesce(s.session_id, '') FROM memories m LEFT JOIN session_memories s "
            "ON s.scope = m.scope AND s.memory = m.id WHERE m.scope = ? AND m.type = 'S' AND m.state = 'active'",
            (scope,),
        )
        sessions = dict(rows)
        found = await self.memories(scope, sorted(sessions))
        return [replace(memory, session_id=sessions[memory.id]) for memory in found.values()]

    async def expired(self, scope: str, day: str) -> list[str]:
        """Return the ids of the memories that stand and whose last day was before `day` (YYYY-MM-DD)."""
        rows = await self._connection.rows(
            "SELECT id FROM memories WHERE scope = ? AND state = 'active' AND expires <> '' AND expires < ?",
            (scope, day),
        )
        return [str(row[0]) for row in rows]

    async def states(self, scope: str, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Return (state, replaced by) of each of these memories that the journal knows."""
        marks = ",".join("?" * len(ids))
        rows = await self._connection.rows(
            f"SELECT id, state, replaced_by FROM memories WHERE scope = ? AND id IN ({marks})", (scope, *ids)
        )
        return {str(row[0]): (str(row[1]), str(row[2] or "")) for row in rows}

    async def withheld(self, scope: str) -> Withheld:
        """Return what was forgotten in a scope and is not remembered again."""
        return await self._connection.read(lambda database: withheld(database, scope))

    async def history(self, scope: str, identity: str) -> list[HistoryLine]:
        """Return what became of a memory, oldest first."""
        rows = await self._connection.rows(
            "SELECT at, event, other FROM history WHERE scope = ? AND memory = ? ORDER BY id", (scope, identity)
        )
        return [HistoryLine(at=at, event=event, other=other) for at, event, other in rows]

    async def receipts(self, *, limit: int, after: int = 0, turn: int = 0, scope: str = "") -> list[Receipt]:
        """Return the newest receipts numbered above `after`, newest first, with the texts of the memories they name.

        turn, scope: only those of it; 0 and "" for all.
        """
        query = (
            "SELECT id, scope, outcome, stage, at FROM receipts WHERE id > ? AND (? = 0 OR EXISTS (SELECT 1 FROM "
            "json_each(CASE WHEN json_valid(turns) THEN turns ELSE '[]' END) WHERE value = ?)) "
            "AND (? = '' OR scope = ?) ORDER BY id DESC LIMIT ?"
        )
        rows = await self._connection.rows(query, (after, turn, turn, scope, scope, limit))
        found = await decoded(self._connection, "receipts", "id", rows, _receipt)
        named: dict[str, set[str]] = {}
        for key, receipt in found:
            named.setdefault(key, set()).update(outcome.id for outcome in receipt.outcomes if outcome.id)
        texts = {key: await self.memories(key, sorted(ids)) for key, ids in named.items()}

        def told(key: str, outcome: Outcome) -> Outcome:
            memory = texts.get(key, {}).get(outcome.id)
            return replace(outcome, text=memory.text) if memory else outcome

        return [
            replace(receipt, outcomes=tuple(told(key, outcome) for outcome in receipt.outcomes))
            for key, receipt in found
        ]

    # Undo

    async def undoable(self, scope: str, limit: int) -> list[UndoEntry]:
        """Return the newest changes of a scope that an undo may take back, newest first."""
        rows = await self._connection.rows(
            "SELECT receipt, scope, plan, patches FROM changes WHERE scope = ? ORDER BY receipt DESC LIMIT ?",
            (scope, limit),
        )
        return await decoded(self._connection, "changes", "receipt", rows, _undo_entry)

    async def useful(self, scope: str, *, min_uses: int, min_days: int, zone: tzinfo | None) -> list[tuple[str, Uses]]:
        """Return the memories that may have earned a place in MEMORY.md, the most used first."""
        return await self._connection.transact(
            lambda database: useful(
                database, scope, min_uses=min_uses, min_days=min_days, day_of=lambda at: day_of(at, zone)
            )
        )

    # One-time notices

    async def set_notice(self, scope: str, name: str) -> None:
        """Note that something holds of a scope, until `clear_notice`; it is told once."""
        await self._change("INSERT OR IGNORE INTO marks (scope, name) VALUES (?, ?)", scope, name)
        self._untold.add((scope, name))  # another process may have set it, and told it too: `take_notice` finds out

    async def clear_notice(self, scope: str, name: str) -> None:
        """Note that it holds no longer."""
        self._untold.discard((scope, name))
        if await self._connection.rows("SELECT 1 FROM marks WHERE scope = ? AND name = ?", (scope, name)):
            await self._change("DELETE FROM marks WHERE scope = ? AND name = ?", scope, name)

    def may_be_due(self, scope: str, name: str) -> bool:
        """Return whether `take_notice` is worth a call: by what this process has set, or found when it looked last."""
        return (scope, name) in self._untold

    async def look_for_notices(self) -> None:
        """Take note of what other processes have set."""
        rows = await self._connection.rows("SELECT scope, name FROM marks WHERE NOT told")
        self._untold |= {(scope, name) for scope, name in rows}

    async def take_notice(self, scope: str, name: str) -> bool:
        """Return whether it is to be told now: it holds and nobody has told it yet."""
        query = "UPDATE marks SET told = 1 WHERE scope = ? AND name = ? AND NOT told"
        due = bool(await self._change(query, scope, name))
        self._untold.discard((scope, name))
        return due

    async def _change(self, query: str, scope: str, name: str) -> int:
        return await self._connection.transact(lambda database: database.execute(query, (scope, name)).rowcount)


def _receipt(row: Sequence[Any]) -> tuple[str, Receipt]:
    number, scope, outcomes, stage, at = row
    found = tuple(
        Outcome(turn=int(turn), action=str(action), reason=str(reason), id=str(identity))
        for turn, action, reason, identity in json.loads(outcomes)
    )
    return scope, Receipt(number=number, stage=stage, at=at, outcomes=found)


def _undo_entry(row: Sequence[Any]) -> UndoEntry:
    patches = tuple(Patch.from_json(patch) for patch in json.loads(row[3]))
    return UndoEntry(receipt=row[0], plan=Plan.from_json(row[2]), patches=patches)
