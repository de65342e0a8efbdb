"""Leave nothing of who parted with the one whose scope they shared. Functions over a connection in a transaction."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from gateway_memory.store.journal.sql import AMONG, UNDECODABLE, Database, member
from gateway_memory.store.record import EXCHANGE, TALK

__all__ = ["leave_nothing"]


def leave_nothing(database: Database, scope: str, source: str) -> None:
    """Delete from a scope what another scope had brought there and has taken back: its texts, and what names its ids.

    scope: what is parted, and still holds its items. source: where they were.
    """
    rows = database.execute(
        "SELECT item, body FROM link_items WHERE scope = ? AND kind = 'memory'", (scope,)
    ).fetchall()
    brought = {str(item) for item, body in rows if not _is_shared(str(body))}
    query = f"SELECT id FROM memories WHERE scope = ? AND state <> 'active' AND id IN {AMONG}"
    gone = {str(row[0]) for row in database.execute(query, (source, json.dumps(sorted(brought))))}
    query = (
        "SELECT id FROM memories WHERE scope = ? AND ((category = ? AND turn IN (SELECT CAST(item AS BIGINT) FROM "
        "link_items WHERE scope = ? AND kind = 'turn')) OR (category = ? AND text IN (SELECT item FROM link_items "
        "WHERE scope = ? AND kind = 'record')))"
    )
    gone |= {str(row[0]) for row in database.execute(query, (source, EXCHANGE, scope, TALK, scope))}
    ids = json.dumps(sorted(gone))
    for table, column in (("memories", "id"), ("history", "memory"), ("uses", "memory")):
        database.execute(f"DELETE FROM {table} WHERE scope = ? AND {column} IN {AMONG}", (source, ids))
    database.execute(f"UPDATE history SET other = '' WHERE scope = ? AND other IN {AMONG}", (source, ids))
    database.execute(f"UPDATE memories SET replaced_by = '' WHERE scope = ? AND replaced_by IN {AMONG}", (source, ids))
    for place, without in _NAMING.items():
        _rewrite(database, place, source, gone, without)
    for number, plan in database.execute("SELECT receipt, plan FROM changes WHERE scope = ?", (source,)).fetchall():
        if any(identity in plan for identity in gone):  # it holds their texts, and nobody may bring them back here
            database.execute("DELETE FROM changes WHERE receipt = ?", (number,))
    query = (
        f"DELETE FROM withheld_records WHERE scope = ? AND {member('whole', 'session_id')} IN "
        "(SELECT item FROM link_items WHERE scope = ? AND kind = 'record')"
    )
    database.execute(query, (source, scope))


def _is_shared(body: str) -> bool:
    """Return whether both scopes had the memory before they were linked."""
    try:
        return bool(json.loads(body)["shared"])
    except UNDECODABLE:
        return False


def _rewrite(
    database: Database,
    place: tuple[str, str, str],
    scope: str,
    gone: set[str],
    without: Callable[[Any, set[str]], Any],
) -> None:
    """Rewrite the JSON of rows that name ids, without them. place: a table, its key and the column."""
    table, key, column = place
    rows = database.execute(f"SELECT {key}, {column} FROM {table} WHERE scope = ?", (scope,)).fetchall()
    for number, body in rows:
        if any(identity in body for identity in gone):
            try:
                written = json.dumps(without(json.loads(body), gone))
            except UNDECODABLE:
                written = ""
            database.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (written, number))


def _without_outcomes(outcomes: Any, gone: set[str]) -> Any:
    return [[turn, action, reason, "" if identity in gone else identity] for turn, action, reason, identity in outcomes]


def _without_ids(ids: Any, gone: set[str]) -> Any:
    return [identity for identity in ids if identity not in gone]


def _without_rows(report: Any, gone: set[str]) -> Any:
    return {**report, "rows": [row for row in report["rows"] if row[0] not in gone]}


def _without_replaced(event: Any, gone: set[str]) -> Any:
    changes = [{**change, "replaces": ""} if change.get("replaces") in gone else change for change in event["changes"]]
    return {**event, "changes": changes}


_NAMING: Final[Mapping[tuple[str, str, str], Callable[[Any, set[str]], Any]]] = {
    ("receipts", "id", "outcome"): _without_outcomes,
    ("replies", "turn", "recalled"): _without_ids,
    ("replies", "turn", "report"): _without_rows,
    ("events", "id", "body"): _without_replaced,
}
