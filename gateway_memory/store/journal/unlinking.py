"""Delete what an unlinked scope had brought into the other. Functions over a connection in a transaction."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from gateway_memory.ground.databases import Database
from gateway_memory.store.journal.sql import AMONG, SQL, UNDECODABLE
from gateway_memory.store.memory_record import EXCHANGE, TALK


def delete_brought(database: Database, scope: str, source: str) -> None:
    """Delete from a scope what another scope had brought there and has taken back: its texts, and what names its ids.

    scope: the one that is unlinked, whose items are still recorded. source: where they were.
    """
    rows = database.execute(
        "SELECT item, body FROM link_items WHERE scope = ? AND kind = 'memory'", (scope,)
    ).fetchall()
    brought = {str(item) for item, body in rows if not _is_shared(str(body))}
    query = f"SELECT id FROM memories WHERE scope = ? AND state <> 'active' AND id IN {AMONG}"
    removed = {str(row[0]) for row in database.execute(query, (source, json.dumps(sorted(brought))))}
    query = SQL["unlinking.forgotten_turns"]
    removed |= {str(row[0]) for row in database.execute(query, (source, EXCHANGE, scope, TALK, scope))}
    ids = json.dumps(sorted(removed))
    for table, column in (("memories", "id"), ("history", "memory"), ("uses", "memory")):
        database.execute(f"DELETE FROM {table} WHERE scope = ? AND {column} IN {AMONG}", (source, ids))
    database.execute(f"UPDATE history SET other = '' WHERE scope = ? AND other IN {AMONG}", (source, ids))
    database.execute(f"UPDATE memories SET replaced_by = '' WHERE scope = ? AND replaced_by IN {AMONG}", (source, ids))
    for place, without in _NAMING.items():
        _rewrite(database, place, source, removed, without)
    for number, plan in database.execute("SELECT receipt, plan FROM changes WHERE scope = ?", (source,)).fetchall():
        if any(identity in plan for identity in removed):  # an undo would bring their texts back
            database.execute("DELETE FROM changes WHERE scope = ? AND receipt = ?", (source, number))
    database.execute(SQL["unlinking.delete_records"], (source, scope))


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
    removed: set[str],
    without: Callable[[Any, set[str]], Any],
) -> None:
    """Rewrite the JSON of rows that name ids, without them. place: a table, its key and the column."""
    table, key, column = place
    rows = database.execute(f"SELECT {key}, {column} FROM {table} WHERE scope = ?", (scope,)).fetchall()
    for number, body in rows:
        if any(identity in body for identity in removed):
            try:
                written = json.dumps(without(json.loads(body), removed))
            except UNDECODABLE:
                written = ""
            query = f"UPDATE {table} SET {column} = ? WHERE scope = ? AND {key} = ?"
            database.execute(query, (written, scope, number))


def _without_replaced(event: Any, ids: set[str]) -> Any:
    changes = [{**change, "replaces": ""} if change.get("replaces") in ids else change for change in event["changes"]]
    return {**event, "changes": changes}


_NAMING: Final[Mapping[tuple[str, str, str], Callable[[Any, set[str]], Any]]] = {
    ("receipts", "id", "outcome"): lambda outcomes, ids: [
        [turn, action, reason, "" if identity in ids else identity] for turn, action, reason, identity in outcomes
    ],
    ("replies", "turn", "recalled"): lambda recalled, ids: [identity for identity in recalled if identity not in ids],
    ("replies", "turn", "report"): lambda report, ids: {
        **report,
        "rows": [row for row in report["rows"] if row[0] not in ids],
    },
    ("events", "id", "body"): _without_replaced,
}
