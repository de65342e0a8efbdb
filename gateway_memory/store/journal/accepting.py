"""Accept a turn in a transaction: that of the event loop, or that of a hook, which has no event loop."""

import json
from typing import TYPE_CHECKING

from gateway_memory.store.journal.session_state import observe

if TYPE_CHECKING:
    from gateway_memory.store.journal.sql import Database
    from gateway_memory.store.ports.turns import NewTurn

__all__ = ["accept"]


def accept(database: "Database", turn: "NewTurn", slot: int) -> int:
    """Store a turn and its observations, and return its number; that of the turn with the same id if there is one.

    slot: the process that holds the turn; -1 for none, so that the next process adopts it.
    """
    known = database.execute(
        "SELECT turn FROM replies WHERE scope = ? AND session_key = ? AND turn_id = ?",
        (turn.scope, turn.session_key, turn.turn_id),
    ).fetchone()
    if known:
        return int(known[0])
    number = int(
        database.execute(
            'INSERT INTO turns (scope, session_key, session_id, "user", reply, at, accepted_at, slot, extract, episode)'
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
            (
                turn.scope, turn.session_key, turn.session_id, turn.user, turn.reply, turn.at, turn.accepted_at, slot,
                turn.extract, turn.episode,
            ),
        ).fetchone()[0]
    )  # fmt: skip
    database.execute(
        "INSERT INTO replies (turn, scope, session_id, at, recalled, session_key, turn_id, report) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            number, turn.scope, turn.session_id, turn.at, json.dumps(turn.recalled), turn.session_key, turn.turn_id,
            json.dumps(turn.report.to_json(), separators=(",", ":")) if turn.report else "",
        ),
    )  # fmt: skip
    observe(database, turn.scope, turn.session_id, turn.seen, turn.accepted_at)
    return number
