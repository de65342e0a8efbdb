"""What the journal remembers of memories and money: what became of each memory, what undo needs, what models cost."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gateway_memory.store.journal.journal import Journal
from gateway_memory.store.patch import Patch
from gateway_memory.store.plan import Memory, Outcome, Plan, Receipt
from gateway_memory.store.withheld import Withheld, withheld

__all__ = ["Change", "HistoryLine", "Ledger", "Reply", "Spent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a day's model calls took; `reserved` tokens belong to calls that have not come back."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    reserved: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLine:
    """One thing that became of a memory; `other` is the memory that it replaced, or that replaced it."""

    at: float
    event: str
    other: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The last reply of a session: its turn, and the ids of the memories that were recalled for it."""

    turn: int
    at: float
    recalled: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a receipt changed, and how its files were edited."""

    receipt: int
    plan: Plan
    patches: tuple[Patch, ...]


class Ledger:
    """Reads and writes over the journal's connection."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

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

        return await self._journal.transact(work)

    async def last_extraction(self) -> float:
        """Return when turns were last read, by rules or by a model, in epoch seconds; 0 if never."""
        query = "SELECT coalesce(max(at), 0) FROM receipts WHERE stage IN ('rules', 'batch')"
        return float((await self._journal.rows(query))[0][0])

    async def settle(self, day: str, *, reserved: int, input_tokens: int, output_tokens: int) -> None:
        """Count what a call took in place of what was reserved for it. No number takes a budget back."""
        query = (
            "UPDATE usage SET reserved_tokens = max(0, reserved_tokens - ?), input_tokens = input_tokens + max(0, ?), "
            "output_tokens = output_tokens + max(0, ?) WHERE day = ?"
        )
        values = (reserved, input_tokens, output_tokens, day)
        await self._journal.transact(lambda database: database.execute(query, values).rowcount)

    async def spent(self, day: str) -> Spent:
        """Return what was spent on a day (YYYY-MM-DD)."""
        rows = await self._journal.rows(
            "SELECT extractions, input_tokens, output_tokens, reserved_tokens FROM usage WHERE day = ?", (day,)
        )
        if not rows:
            return Spent()
        calls, input_tokens, output_tokens, reserved = rows[0]
        return Spent(calls=calls, input_tokens=input_tokens, output_tokens=output_tokens, reserved=reserved)

    # Turns whose model failed

    async def failed(self) -> int:
        """Return how many turns wait for `retry`, of all processes."""
        ((count,),) = await self._journal.rows("SELECT count(*) FROM turns WHERE stage = 2")
        return int(count)

    async def retry(self) -> list[str]:
        """Let them wait for their batch again, in this process; return their sessions."""

        def work(database: sqlite3.Connection) -> list[str]:
            found = database.execute("SELECT DISTINCT session_id FROM turns WHERE stage = 2").fetchall()
            database.execute("UPDATE turns SET stage = 1, slot = ? WHERE stage = 2", (self._journal.slot,))
            return [str(row[0]) for row in found]

        return await self._journal.transact(work)

    # Memories

    async def of_turns(self, scope: str, turns: list[int]) -> list[Memory]:
        """Return the memories that stand and were read from these turns."""
        marks = ",".join("?" * len(turns))
        rows = await self._journal.rows(
            f"SELECT id FROM memories WHERE scope = ? AND state = 'active' AND turn > 0 AND turn IN ({marks})",
            (scope, *turns),
        )
        return list((await self._journal.memories(scope, [row[0] for row in rows])).values())

    async def stages(self, scope: str) -> list[Memory]:
        """Return the stage summaries that stand, each with its session."""
        rows = await self._journal.rows(
            "SELECT m.id, coalesce(s.session_id, '') FROM memories m LEFT JOIN session_memories s "
            "ON s.scope = m.scope AND s.memory = m.id WHERE m.scope = ? AND m.type = 'S' AND m.state = 'active'",
            (scope,),
        )
        sessions = dict(rows)
        found = await self._journal.memories(scope, sorted(sessions))
        return [replace(memory, session_id=sessions[memory.id]) for memory in found.values()]

    async def expired(self, scope: str, day: str) -> list[str]:
        """Return the ids of the memories that stand and whose last day was before `day` (YYYY-MM-DD)."""
        rows = await self._journal.rows(
            "SELECT id FROM memories WHERE scope = ? AND state = 'active' AND expires <> '' AND expires < ?",
            (scope, day),
        )
        return [str(row[0]) for row in rows]

    async def states(self, scope: str, ids: list[str]) -> dict[str, tuple[str, str]]:
        """Return (state, replaced by) of each of these memories that the journal knows."""
        marks = ",".join("?" * len(ids))
        rows = await self._journal.rows(
            f"SELECT id, state, replaced_by FROM memories WHERE scope = ? AND id IN ({marks})", (scope, *ids)
        )
        return {str(row[0]): (str(row[1]), str(row[2] or "")) for row in rows}

    async def withheld(self, scope: str) -> Withheld:
        """Return what was forgotten in a scope and is not remembered again."""
        return await self._journal.transact(lambda database: withheld(database, scope))

    async def history(self, scope: str, identity: str) -> list[HistoryLine]:
        """Return what became of a memory, oldest first."""
        rows = await self._journal.rows(
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
        rows = await self._journal.rows(query, (after, turn, turn, scope, scope, limit))
        found = await self._journal.decoded("receipts", "id", rows, _receipt)
        named: dict[str, set[str]] = {}
        for key, receipt in found:
            named.setdefault(key, set()).update(outcome.id for outcome in receipt.outcomes if outcome.id)
        texts = {key: await self._journal.memories(key, sorted(ids)) for key, ids in named.items()}

        def told(key: str, outcome: Outcome) -> Outcome:
            memory = texts.get(key, {}).get(outcome.id)
            return replace(outcome, text=memory.text) if memory else outcome

        return [
            replace(receipt, outcomes=tuple(told(key, outcome) for outcome in receipt.outcomes))
            for key, receipt in found
        ]

    # Replies and changes

    async def reply(self, session_id: str) -> Reply | None:
        """Return the last reply of a session."""
        rows = await self._journal.rows(
            "SELECT turn, scope, recalled, at FROM replies WHERE session_id = ? ORDER BY turn DESC LIMIT 1",
            (session_id,),
        )
        found = await self._journal.decoded("replies", "turn", rows, _reply)
        return found[0] if found else None

    async def changes(self, scope: str, limit: int) -> list[Change]:
        """Return the newest changes of a scope that an undo may take back, newest first."""
        rows = await self._journal.rows(
            "SELECT receipt, scope, plan, patches FROM changes WHERE scope = ? ORDER BY receipt DESC LIMIT ?",
            (scope, limit),
        )
        return await self._journal.decoded("changes", "receipt", rows, _change)


def _receipt(row: Sequence[Any]) -> tuple[str, Receipt]:
    number, scope, outcomes, stage, at = row
    found = tuple(
        Outcome(turn=int(turn), action=str(action), reason=str(reason), id=str(identity))
        for turn, action, reason, identity in json.loads(outcomes)
    )
    return scope, Receipt(number=number, stage=stage, at=at, outcomes=found)


def _reply(row: Sequence[Any]) -> Reply:
    return Reply(turn=row[0], at=row[3], recalled=tuple(str(identity) for identity in json.loads(row[2])))


def _change(row: Sequence[Any]) -> Change:
    patches = tuple(Patch.from_json(patch) for patch in json.loads(row[3]))
    return Change(receipt=row[0], plan=Plan.from_json(row[2]), patches=patches)
