"""The predicate of the last layer, which is the only one that costs the agent a turn."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

from gateway_memory.sessions.worth import worth_saving
from gateway_memory.store.journal.session_state import Observation, ask_followup, has_left_anything, seen_in
from gateway_memory.store.summaries import is_saved

__all__ = ["followup_due"]


def followup_due(
    database: sqlite3.Connection,
    scope: str,
    path: Path,
    session_id: str,
    worth_asking: Callable[[list[Observation]], bool] = worth_saving,
) -> list[Observation] | None:
    """Take the session's one follow-up, and return what was seen in it; None where none is due. In a transaction.

    It is due when the session has no record, no fact and no stage summary, of whichever day, when there is something
    worth saving (`worth_asking` says so of what was seen), and when it was not asked before. Observations alone are
    nothing saved.
    """
    if is_saved(database, scope, path, session_id) or has_left_anything(database, scope, session_id):
        return None
    seen = seen_in(database, scope, session_id)
    return seen if worth_asking(seen) and ask_followup(database, session_id) else None
