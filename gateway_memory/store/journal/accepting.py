"""New turns, accepted in a transaction: that of the event loop, or that of a hook, which has no event loop."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateway_memory.store.journal.session_state import Observation, observe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway_memory.store.journal.sql import Database, Found
    from gateway_memory.store.report import ReplyReport


__all__ = ["NewTurn", "accept", "accept_all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTurn:
    """A turn to accept. Times are epoch seconds.

    turn_id: the caller's id. The same id in the same session key and scope is the same turn.
    recalled: the ids of the memories that were recalled for the reply.
    report: what was considered for it, if it is known.
    seen: the observations of the turn.
    extract: whether memories are extracted from it. episode: whether it is kept after it was processed.
    joined: the key of the shared scope that its session has joined, to which its decisions go, or "".
    """

    turn_id: str
    scope: str
    session_key: str
    session_id: str
    user: str
    reply: str
    at: float
    accepted_at: float
    recalled: tuple[str, ...] = ()
    report: "ReplyReport | None" = None
    seen: tuple[Observation, ...] = ()
    extract: bool = True
    episode: bool = False
    joined: str = ""


def accept(database: "Database", turn: NewTurn, slot: int) -> int:
    """Accept one turn: see `accept_all`."""
    return accept_all(database, [(turn, slot)])[0]


def accept_all(database: "Database", turns: "Sequence[tuple[NewTurn, int]]") -> list[int]:
    """Store turns and their observations in their order, and return their numbers.

    A turn whose id is known is not stored again, and has the number of the first one.

    turns: with the slot of the process that holds each; -1 for none, so that the next process adopts it.
    """
    query = "SELECT turn FROM replies WHERE scope = ? AND session_key = ? AND turn_id = ?"
    asked = [database.execute(query, _key(turn)) for turn, _ in turns]  # all are sent before the first is waited for
    known = {_key(turn): row[0] for (turn, _), found in zip(turns, asked, strict=True) if (row := found.fetchone())}
    new: dict[tuple[str, str, str], tuple[NewTurn, int]] = {}
    for turn, slot in turns:
        if _key(turn) not in known:
            new.setdefault(_key(turn), (turn, slot))
    made = [(turn, _inserted(database, turn, slot)) for turn, slot in new.values()]
    numbers = [(turn, int(found.fetchone()[0])) for turn, found in made]
    database.executemany(
        "INSERT INTO replies (turn, scope, session_id, at, recalled, session_key, turn_id, report) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                number, turn.scope, turn.session_id, turn.at, json.dumps(turn.recalled), turn.session_key, turn.turn_id,
                json.dumps(turn.report.to_json(), separators=(",", ":")) if turn.report else "",
            )
            for turn, number in numbers
        ],
    )  # fmt: skip
    for turn, _ in numbers:
        observe(database, turn.scope, turn.session_id, turn.seen, turn.accepted_at)
    known |= {_key(turn): number for turn, number in numbers}
    return [int(known[_key(turn)]) for turn, _ in turns]


def _key(turn: NewTurn) -> tuple[str, str, str]:
    return turn.scope, turn.session_key, turn.turn_id


def _inserted(database: "Database", turn: NewTurn, slot: int) -> "Found":
    return database.execute(
        'INSERT INTO turns (scope, session_key, session_id, "user", reply, at, accepted_at, slot, extract, episode, '
        "joined) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        (
            turn.scope, turn.session_key, turn.session_id, turn.user, turn.reply, turn.at, turn.accepted_at, slot,
            turn.extract, turn.episode, turn.joined,
        ),
    )  # fmt: skip
