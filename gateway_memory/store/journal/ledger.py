"""The history of memories, the data for undo, and the costs of models."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Any, Final

from gateway_memory.ground.databases import EVERY, Database
from gateway_memory.ground.texts import decoded
from gateway_memory.ground.times import day_of
from gateway_memory.store.journal.memories import find_memories
from gateway_memory.store.journal.notices import Notices
from gateway_memory.store.journal.sql import AMONG, AMONG_NUMBERS, SQL, made
from gateway_memory.store.journal.uses import Uses, useful, uses_of
from gateway_memory.store.journal.withheld import forgotten, validity, withheld
from gateway_memory.store.memory_record import MemoryRecord
from gateway_memory.store.patches import Patch
from gateway_memory.store.plan import Plan, Receipt, ReceiptLine
from gateway_memory.store.report import Rated
from gateway_memory.store.validity import Today, Validity
from gateway_memory.store.withheld import Withheld

MEMORY_FULL: Final = "memory_md_full"
"""The name of the one-time notice that MEMORY.md of a scope is full."""
_REMOVED: Final = frozenset({"forgotten", "undone", "deleted"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """The usage of models on one day. `reserved` tokens belong to calls that have not returned."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    reserved: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLine:
    """One event in the history of a memory. `other` is the memory that it replaced, or that replaced it."""

    at: float
    event: str
    other: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoEntry:
    """The changes of a receipt, and the patches that revert its edits."""

    receipt: int
    plan: Plan
    patches: tuple[Patch, ...]


class Ledger(Notices):
    """The history of memories, the data for undo, the costs of models, and the notices of scopes.

    Every call may raise StoreError, and has then changed nothing. Times are epoch seconds, days YYYY-MM-DD.
    """

    # Costs of models

    async def reserve(self, day: str, *, calls: int, tokens: int, wanted: int) -> bool:
        """Reserve a call and its tokens against the limits of a day. Past a limit, reserve nothing and return False.

        A reservation counts until `settle`, even if the process dies, so that the limits hold.

        calls, tokens: the limits of the day.
        wanted: the tokens that the call may use.
        """

        def work(database: Database) -> bool:
            database.execute("INSERT INTO usage (day) VALUES (?) ON CONFLICT DO NOTHING", (day,))
            return bool(database.execute(SQL["ledger.reserve"], (wanted, day, calls, wanted, tokens)).rowcount)

        return await self._write((), work)

    async def last_extraction(self) -> float:
        """Return when rules or a model last extracted from turns, in epoch seconds; 0 if never."""
        query = "SELECT at FROM receipts WHERE stage IN ('rules', 'batch') ORDER BY id DESC LIMIT 1"
        return float(next(iter(await self._column(EVERY, query)), 0.0))

    async def settle(self, day: str, *, reserved: int, input_tokens: int, output_tokens: int) -> None:
        """Replace a reservation with the tokens that the call used. Negative numbers never increase the budget."""
        await self._change((), SQL["ledger.settle"], reserved, input_tokens, output_tokens, day)

    async def spent(self, day: str) -> Spent:
        """Return the usage of a day."""
        query = "SELECT extractions, input_tokens, output_tokens, reserved_tokens FROM usage WHERE day = ?"
        return next(iter(made(Spent, await self._rows((), query, day))), Spent())

    async def spent_since(self, day: str) -> dict[str, Spent]:
        """Return the usage of each day from a day on that had any, by its day."""
        columns = "day, extractions, input_tokens, output_tokens, reserved_tokens"
        query = f"SELECT {columns} FROM usage WHERE day >= ? AND extractions > 0 ORDER BY day"
        rows = await self._rows((), query, day)
        return dict(zip((str(row[0]) for row in rows), made(Spent, [row[1:] for row in rows]), strict=True))

    # Memories

    async def memories(self, scope: str, ids: Sequence[str]) -> dict[str, MemoryRecord]:
        """Return the stored data of these memories, by id."""
        return await self._read(scope, find_memories, scope, ids)

    async def in_documents(self, scope: str) -> dict[str, list[str]]:
        """Return the ids of the active memories of a scope, by the documents that should have them."""
        files: dict[str, list[str]] = {}
        query = "SELECT file, id FROM memories WHERE scope = ? AND state = 'active' ORDER BY at, id"
        for file, identity in await self._rows(scope, query, scope):
            files.setdefault(file, []).append(identity)
        return files

    async def without_forgotten(self, scope: str, ids: Sequence[str]) -> dict[str, MemoryRecord]:
        """Return these memories for people and models, by id: what was forgotten has no text, quote or names."""

        def work(database: Database) -> dict[str, MemoryRecord]:
            memories = find_memories(database, scope, ids)
            query = f"SELECT id, state FROM memories WHERE scope = ? AND id IN {AMONG}"
            states = dict(database.execute(query, (scope, json.dumps(list(ids)))).fetchall())
            hidden = withheld(database, scope)

            def may_be_shown(memory: MemoryRecord) -> bool:
                state = states[memory.id]
                return state == "active" or (state not in _REMOVED and not hidden.says(memory.text))

            return {
                identity: memory if may_be_shown(memory) else replace(memory, text="", quote="", entities=(), cues=())
                for identity, memory in memories.items()
            }

        return await self._read(scope, work)

    async def of_session(self, scope: str, session_id: str) -> list[MemoryRecord]:
        """Return the active memories and stage summaries that a session has said or left."""
        query = SQL["ledger.of_session"]
        return list((await self.memories(scope, await self._column(scope, query, scope, session_id))).values())

    async def of_speaker(self, scope: str, speaker: str) -> list[MemoryRecord]:
        """Return the active memories of a room that somebody has said, oldest first. speaker: as in `MemoryRecord`."""
        query = "SELECT id FROM memories WHERE scope = ? AND state = 'active' AND speaker = ? ORDER BY at, id"
        return list((await self.memories(scope, await self._column(scope, query, scope, speaker))).values())

    async def of_turns(self, scope: str, turns: Sequence[int]) -> list[MemoryRecord]:
        """Return the active memories that were extracted from these turns."""
        query = f"SELECT id FROM memories WHERE scope = ? AND state = 'active' AND turn > 0 AND turn IN {AMONG_NUMBERS}"
        ids = await self._column(scope, query, scope, json.dumps(list(turns)))
        return list((await self.memories(scope, ids)).values())

    async def stage_summaries(self, scope: str) -> list[MemoryRecord]:
        """Return the active stage summaries, each with its session."""
        sessions = dict(await self._rows(scope, SQL["ledger.stages"], scope))
        memories = await self.memories(scope, sorted(sessions))
        return [replace(memory, session_id=sessions[memory.id]) for memory in memories.values()]

    async def expired(self, scope: str, day: str) -> list[str]:
        """Return the ids of the active memories whose last day is before `day`."""
        query = "SELECT id FROM memories WHERE scope = ? AND state = 'active' AND expires <> '' AND expires < ?"
        return await self._column(scope, query, scope, day)

    async def coming(self, scope: str, day: str, *, limit: int) -> list[str]:
        """Return the ids of the active memories whose last day is `day` or later, those that end first."""
        return await self._column(scope, SQL["ledger.coming"], scope, day, limit)

    async def states(self, scope: str, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Return (state, id of the replacement) of each of these memories that is known."""
        query = f"SELECT id, state, coalesce(replaced_by, '') FROM memories WHERE scope = ? AND id IN {AMONG}"
        rows = await self._rows(scope, query, scope, json.dumps(list(ids)))
        return {identity: (state, replacement) for identity, state, replacement in rows}

    async def validity(self, scope: str, today: Today) -> Validity:
        """Return what holds in a scope on a day."""
        return await self._read(scope, validity, scope, today)

    async def withheld(self, scope: str, *, undone: bool = True, besides: Sequence[str] = ()) -> Withheld:
        """Return what was forgotten in a scope and has not been restored.

        undone: also what was undone. besides: ids of what is left out.
        """
        return await self._read(scope, withheld, scope, undone=undone, besides=besides)

    async def forgotten(self, scope: str) -> Mapping[str, float]:
        """Return the texts that were forgotten in a scope and that no memory has again, each with its last time."""
        return await self._read(scope, forgotten, scope)

    async def imported_past(self, scope: str) -> list[tuple[MemoryRecord, str]]:
        """Return what an import put into the history, each with the text of the active memory that replaced it."""
        replacements = dict(await self._rows(scope, SQL["ledger.imported_past"], scope))
        memories = await self.memories(scope, list(replacements))
        return [(memories[identity], text) for identity, text in replacements.items() if identity in memories]

    async def history(self, scope: str, identity: str) -> list[HistoryLine]:
        """Return the history of a memory, oldest first."""
        query = "SELECT at, event, other FROM history WHERE scope = ? AND memory = ? ORDER BY id"
        return made(HistoryLine, await self._rows(scope, query, scope, identity))

    async def histories(self, scope: str, ids: Sequence[str]) -> dict[str, list[HistoryLine]]:
        """Return the history of each of these memories, oldest first; an empty one of an unknown memory."""
        query = f"SELECT memory, at, event, other FROM history WHERE scope = ? AND memory IN {AMONG} ORDER BY id"
        rows = await self._rows(scope, query, scope, json.dumps(list(ids)))
        histories: dict[str, list[HistoryLine]] = {identity: [] for identity in ids}
        for row, line in zip(rows, made(HistoryLine, [row[1:] for row in rows]), strict=True):
            histories[row[0]].append(line)
        return histories

    async def replaced(self, scope: str, ids: Sequence[str]) -> dict[str, str]:
        """Return the id of the memory that each of these replaced when it was added, for those that replaced one."""
        query = "SELECT memory, other FROM history WHERE scope = ? AND event = 'added' AND other <> '' AND memory IN "
        return dict(await self._rows(scope, query + AMONG, scope, json.dumps(list(ids))))

    async def receipts(
        self, *, limit: int, after: int = 0, turn: int = 0, scope: str = "", since: float = 0.0, imports: bool = True
    ) -> list[Receipt]:
        """Return receipts with a number above `after`, newest first, with the texts of the memories that they name.

        limit: the maximum number of receipts.
        turn, scope: return only the receipts of this turn and scope; 0 and "" for all.
        since: return only those from a time on, in epoch seconds.
        imports: whether those of imports are returned, which name thousands of memories.
        """
        values = (after, turn, str(turn), scope, scope, since, imports, limit)
        rows = await self._rows(scope or EVERY, SQL["ledger.receipts"], *values)
        receipts = await self._decoded("receipts", "id", rows, _receipt)
        named: dict[str, set[str]] = {}
        for key, receipt in receipts:
            named.setdefault(key, set()).update(outcome.id for outcome in receipt.outcomes if outcome.id)
        texts = {key: await self._texts(key, sorted(ids)) for key, ids in named.items()}
        return [
            replace(
                receipt,
                outcomes=tuple(replace(each, text=texts.get(key, {}).get(each.id, "")) for each in receipt.outcomes),
            )
            for key, receipt in receipts
        ]

    async def _texts(self, scope: str, ids: Sequence[str]) -> dict[str, str]:
        """Return the texts of memories and reviews, by id: "" for what was forgotten since."""
        query = f"SELECT id, text FROM reviews WHERE scope = ? AND state <> 'forgotten' AND id IN {AMONG}"
        hidden = await self.withheld(scope)
        reviews = await self._rows(scope, query, scope, json.dumps(ids))
        texts = {identity: "" if hidden.says(text) else text for identity, text in reviews}
        return texts | {memory.id: memory.text for memory in (await self.without_forgotten(scope, ids)).values()}

    # Undo

    async def reachable(self, scope: str, limit: int) -> frozenset[int]:
        """Return the numbers of the newest receipts whose changes are kept, for an undo."""
        query = "SELECT receipt FROM changes WHERE scope = ? ORDER BY receipt DESC LIMIT ?"
        return frozenset(await self._column(scope, query, scope, limit))

    async def undoable(self, scope: str, limit: int) -> list[UndoEntry]:
        """Return the newest changes of a scope that an undo may revert, newest first."""
        query = "SELECT receipt, scope, plan, patches FROM changes WHERE scope = ? ORDER BY receipt DESC LIMIT ?"
        rows = await self._rows(scope, query, scope, limit)
        return await self._decoded("changes", "receipt", rows, _undo_entry)

    async def was_before(self, scope: str, digest: str) -> bool:
        """Return whether a document had the text of this digest after a change that is kept for an undo."""
        query = "SELECT 1 FROM changes WHERE scope = ? AND patches LIKE ? LIMIT 1"
        return bool(await self._rows(scope, query, scope, f"%{digest}%"))

    async def uses_of(self, scope: str, memory: str, *, zone: tzinfo | None) -> Uses:
        """Return how often a memory was of use. zone: in which days are counted."""
        return await self._write(scope, uses_of, scope, memory, day_of=lambda at: day_of(at, zone))

    async def useful(self, scope: str, *, min_uses: int, min_days: int, zone: tzinfo | None) -> list[tuple[str, Uses]]:
        """Return the memories that may qualify for MEMORY.md, the most used first.

        These are the memories with enough uses on enough days, and the important ones. Memories that were moved there
        before are left out.

        min_uses, min_days: the minimum numbers of uses and of days with a use.
        zone: the zone in which days are counted; None is the machine's.
        """
        return await self._write(
            scope, useful, scope, min_uses=min_uses, min_days=min_days, day_of=lambda at: day_of(at, zone)
        )

    async def rated(self, scope: str, *, turns: Sequence[int] = (), since: float = 0.0) -> list[Rated]:
        """Return what a person said of memories in replies, oldest first.

        turns: only of the replies of these turns; () for all. since: only from a time on, in epoch seconds.
        """
        among = json.dumps(list(turns))
        return made(Rated, await self._rows(scope, SQL["ledger.rated"], scope, since, among, among))


def _receipt(row: Sequence[Any]) -> tuple[str, Receipt]:
    number, scope, body, stage, at = row
    outcomes = tuple(
        ReceiptLine(turn=int(turn), action=str(action), reason=str(reason), id=str(identity))
        for turn, action, reason, identity in json.loads(body)
    )
    return scope, Receipt(number=number, stage=stage, at=at, outcomes=outcomes)


def _undo_entry(row: Sequence[Any]) -> UndoEntry:
    patches = tuple(decoded(Patch, patch) for patch in json.loads(row[3]))
    return UndoEntry(receipt=row[0], plan=Plan.from_json(row[2]), patches=patches)
