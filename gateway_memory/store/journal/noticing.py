"""Record edits by hand, each once. Functions over a connection in a transaction."""

import hashlib
from typing import Final

from gateway_memory.store.journal.sql import Database
from notifier import MemoryChange

__all__ = ["record_edit"]

_MOVED_SECONDS: Final = 5.0


def record_edit(database: Database, scope: str, change: MemoryChange, now: float) -> bool:
    """Record a change if it is an edit by hand that no process has recorded; return whether it was."""
    found = database.execute("SELECT state FROM memories WHERE scope = ? AND id = ?", (scope, change.id)).fetchone()
    state, removed = found[0] if found else "", change.action == "removed"
    if removed and (state not in ("", "active") or _is_moving(database, scope, change.id, now)):
        return False
    digest = "" if removed else hashlib.blake2b(change.text.encode(), digest_size=8).hexdigest()
    query = (
        "INSERT INTO noticed VALUES (?, ?, ?) ON CONFLICT (scope, id) DO UPDATE SET digest = excluded.digest "
        "WHERE noticed.digest <> excluded.digest"
    )
    if not database.execute(query, (scope, change.id, digest)).rowcount:
        return False
    if state:
        becomes = "deleted" if removed else "active"
        query = "UPDATE memories SET state = ?, changed_at = ? WHERE scope = ? AND id = ?"
        database.execute(query, (becomes, now, scope, change.id))
        event = "deleted by hand" if removed else "edited by hand" if state == "active" else "put back by hand"
        query = "INSERT INTO history (scope, memory, at, event, other) VALUES (?, ?, ?, ?, '')"
        database.execute(query, (scope, change.id, now, event))
    return True


def _is_moving(database: Database, scope: str, identity: str, now: float) -> bool:
    """Return whether a plan is moving a memory, which is then briefly in neither file."""
    if database.execute("SELECT 1 FROM plans WHERE instr(body, ?)", (f'"id": "{identity}"',)).fetchone():
        return True
    query = "SELECT 1 FROM history WHERE scope = ? AND memory = ? AND event IN ('distill', 'restored') AND at > ?"
    return database.execute(query, (scope, identity, now - _MOVED_SECONDS)).fetchone() is not None
