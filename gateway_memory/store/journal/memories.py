"""Records as rows of the table `memories`, and back. Functions over a connection in a transaction."""

import json
from collections.abc import Sequence
from typing import Any, Final

from gateway_memory.ground.databases import Database
from gateway_memory.store.journal.sql import AMONG, UNDECODABLE, upsert
from gateway_memory.store.memory_record import RECORD_FIELDS, MemoryRecord
from gateway_memory.store.plan import Plan

_LISTS: Final = ("entities", "cues")
_STORED: Final = tuple(name for name in RECORD_FIELDS if name not in (*_LISTS, "session_id", "annotations"))
"""The fields of a record that have a column of the same name. A new field needs a column, added by a migration.

Lists are stored as JSON. The session of a memory is stored in `session_memories`, its annotations in its document.
"""
_COLUMNS: Final = ", ".join(_STORED)
MEMORY_COLUMNS: Final = ("state", "replaced_by", "changed_at", *_LISTS, *_STORED)
"""All columns but the scope."""


def save_memories(database: Database, plan: Plan) -> None:
    """Store the resulting state of a plan's memories."""
    rows = [_row(plan, memory, "active", "") for memory in plan.added]
    rows += [_row(plan, item.memory, item.state, item.replaced_by) for item in plan.retired]
    rows += [_row(plan, item.memory, "active", "") for item in plan.moved]
    database.executemany(upsert("memories", f"scope, {', '.join(MEMORY_COLUMNS)}", "scope, id"), rows)


def find_memories(database: Database, scope: str, ids: Sequence[str], *, state: str = "") -> dict[str, MemoryRecord]:
    """Return the stored records of these memories, by id. state: only those in this state, "" for all."""
    query = (
        f"SELECT {', '.join(_LISTS)}, {_COLUMNS} FROM memories WHERE scope = ? AND id IN {AMONG} AND ? IN (state, '')"
    )
    rows = database.execute(query, (scope, json.dumps(list(ids)), state)).fetchall()
    records = (_record(row) for row in rows)
    return {record.id: record for record in records}


def _record(row: Sequence[Any]) -> MemoryRecord:
    entities, cues, *values = row
    return MemoryRecord(**dict(zip(_STORED, values, strict=True)), entities=_names(entities), cues=_names(cues))


def _row(plan: Plan, memory: MemoryRecord, state: str, replaced_by: str) -> tuple[Any, ...]:
    values = (getattr(memory, name) for name in _STORED)
    lists = (json.dumps(getattr(memory, name)) for name in _LISTS)
    return (plan.scope, state, replaced_by, plan.at, *lists, *values)


def _names(body: str) -> tuple[str, ...]:
    """Decode a list of names. Return none if it can't be decoded, since the memory matters more."""
    try:
        return tuple(str(name) for name in json.loads(body))
    except UNDECODABLE:
        return ()
