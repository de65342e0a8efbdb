"""Rows of the table `memories`, from and to records. Plain functions over a connection in a transaction."""

import json
import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from gateway_memory.store.journal.unreadable import UNDECODABLE
from gateway_memory.store.plan import Plan
from gateway_memory.store.record import RECORD_FIELDS, MemoryRecord

__all__ = ["find_memories", "save_memories"]

_STORED: Final = tuple(name for name in RECORD_FIELDS if name not in ("entities", "session_id"))
"""The fields of a record that have a column of their name: a new field needs one, by a migration. `entities` is JSON;
which session a memory is of stands in `session_memories`."""
_COLUMNS: Final = ", ".join(_STORED)


def save_memories(database: sqlite3.Connection, plan: Plan) -> None:
    """Keep what a plan makes of its memories."""
    rows = [_row(plan, memory, "active", "") for memory in plan.added]
    rows += [_row(plan, item.memory, item.state, item.replaced_by) for item in plan.retired]
    rows += [_row(plan, item.memory, "active", "") for item in plan.moved]
    marks = ", ".join("?" * (len(_STORED) + 5))
    query = f"INSERT OR REPLACE INTO memories (scope, state, replaced_by, changed_at, entities, {_COLUMNS}) "
    database.executemany(f"{query} VALUES ({marks})", rows)


def find_memories(database: sqlite3.Connection, scope: str, ids: Sequence[str]) -> dict[str, MemoryRecord]:
    """Return what is known of these memories, by id."""
    query = f"SELECT entities, {_COLUMNS} FROM memories WHERE scope = ? AND id IN (SELECT value FROM json_each(?))"
    rows = database.execute(query, (scope, json.dumps(list(ids)))).fetchall()
    found = (MemoryRecord(**dict(zip(_STORED, row[1:], strict=True)), entities=_names(row[0])) for row in rows)
    return {record.id: record for record in found}


def _row(plan: Plan, memory: MemoryRecord, state: str, replaced_by: str) -> tuple[Any, ...]:
    values = (getattr(memory, name) for name in _STORED)
    return (plan.scope, state, replaced_by, plan.at, json.dumps(memory.entities), *values)


def _names(body: str) -> tuple[str, ...]:
    """Return what a list of names says, nothing where it can't be read: the memory matters more."""
    try:
        return tuple(str(name) for name in json.loads(body))
    except UNDECODABLE:
        return ()
