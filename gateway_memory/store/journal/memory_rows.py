"""Convert records to rows of the table `memories` and back. Functions over a connection in a transaction."""

import json
from collections.abc import Sequence
from typing import Any, Final

from gateway_memory.store.journal.sql import AMONG, UNDECODABLE, Database, upsert
from gateway_memory.store.plan import Plan
from gateway_memory.store.record import RECORD_FIELDS, MemoryRecord

__all__ = ["MEMORY_COLUMNS", "find_memories", "save_memories"]

_STORED: Final = tuple(name for name in RECORD_FIELDS if name not in ("entities", "session_id", "annotations"))
"""The fields of a record that have a column of the same name. A new field needs a column, added by a migration.

`entities` is stored as JSON. The session of a memory is stored in `session_memories`, its annotations in its document.
"""
_COLUMNS: Final = ", ".join(_STORED)
MEMORY_COLUMNS: Final = ("state", "replaced_by", "changed_at", "entities", *_STORED)
"""All columns but the scope."""


def save_memories(database: Database, plan: Plan) -> None:
    """Store the resulting state of a plan's memories."""
    rows = [_row(plan, memory, "active", "") for memory in plan.added]
    rows += [_row(plan, item.memory, item.state, item.replaced_by) for item in plan.retired]
    rows += [_row(plan, item.memory, "active", "") for item in plan.moved]
    columns = f"scope, state, replaced_by, changed_at, entities, {_COLUMNS}"
    database.executemany(upsert("memories", columns, "scope, id"), rows)


def find_memories(database: Database, scope: str, ids: Sequence[str]) -> dict[str, MemoryRecord]:
    """Return the stored records of these memories, by id."""
    query = f"SELECT entities, {_COLUMNS} FROM memories WHERE scope = ? AND id IN {AMONG}"
    rows = database.execute(query, (scope, json.dumps(list(ids)))).fetchall()
    found = (MemoryRecord(**dict(zip(_STORED, row[1:], strict=True)), entities=_names(row[0])) for row in rows)
    return {record.id: record for record in found}


def _row(plan: Plan, memory: MemoryRecord, state: str, replaced_by: str) -> tuple[Any, ...]:
    values = (getattr(memory, name) for name in _STORED)
    return (plan.scope, state, replaced_by, plan.at, json.dumps(memory.entities), *values)


def _names(body: str) -> tuple[str, ...]:
    """Decode a list of names. Return none if it can't be decoded, since the memory matters more."""
    try:
        return tuple(str(name) for name in json.loads(body))
    except UNDECODABLE:
        return ()
