"""New turns, accepted in a transaction: that of the event loop, or that of a hook, which has no event loop."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from gateway_memory.ground.databases import Database
from gateway_memory.store.journal.episodes import touch_turns
from gateway_memory.store.journal.opened import Observation, observe, touch
from gateway_memory.store.journal.sql import SQL
from gateway_memory.store.memory_record import EXCHANGE
from gateway_memory.store.report import ReplyReport


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTurn:
    """A turn to accept. Times are epoch seconds.

    turn_id: the caller's id. The same id in the same session key and scope is the same turn; its newest reply counts.
    recalled: the ids of the memories that were recalled for the reply.
    report: what was considered for it, if it is known.
    seen: the observations of the turn.
    extract: whether memories are extracted from it. episode: whether it is kept after it was processed.
    joined: the keys of the shared scopes that its session has joined, with line breaks between. Its decisions go there.
    speaker: in a room, the key of the scope of whoever says it. speaker_prefix: how a line begins that names them:
    "Wang: ".
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
    report: ReplyReport | None = None
    seen: tuple[Observation, ...] = ()
    extract: bool = True
    episode: bool = False
    joined: str = ""
    speaker: str = ""
    speaker_prefix: str = ""


def accept(database: Database, turn: NewTurn, slot: int) -> int:
    """Accept one turn: see `accept_all`."""
    return accept_all(database, [(turn, slot)])[0]


def accept_all(database: Database, turns: Sequence[tuple[NewTurn, int]]) -> list[int]:
    """Store turns and their observations in their order, and return their numbers.

    A turn whose id is known is not stored again, and has the number of the first one. Its reply stands from now on: it
    was made again.

    turns: with the slot of the process that holds each; -1 for none, so that the next process adopts it.
    """
    keys = [(turn.scope, turn.session_key, turn.turn_id) for turn, _ in turns]
    query = "SELECT turn FROM replies WHERE scope = ? AND session_key = ? AND turn_id = ?"
    # All statements are sent before the first result is waited for; below as well.
    lookups = [database.execute(query, key) for key in keys]
    numbers = {key: int(row[0]) for key, result in zip(keys, lookups, strict=True) if (row := result.fetchone())}
    new: dict[tuple[str, str, str], tuple[NewTurn, int]] = {}
    for key, each in zip(keys, turns, strict=True):
        if key not in numbers:
            new.setdefault(key, each)
    query = SQL["arrivals.add_turn"]
    results = {key: database.execute(query, (*_of_turn(turn), slot)) for key, (turn, slot) in new.items()}
    numbers |= {key: int(result.fetchone()[0]) for key, result in results.items()}
    replies = [
        (numbers[key], *_of_reply(turn), json.dumps(turn.recalled), _as_json(turn.report))
        for key, (turn, _) in new.items()
    ]
    database.executemany(SQL["arrivals.add_replies"], replies)
    for turn, _ in new.values():
        if turn.seen:
            observe(database, turn.scope, turn.session_id, turn.seen, turn.accepted_at)
        else:
            touch(database, turn.session_id, turn.accepted_at)
    for key, (turn, _) in zip(keys, turns, strict=True):
        if key not in new or new[key][0] is not turn:
            _reply_anew(database, numbers[key], turn)
    return [numbers[key] for key in keys]


def _reply_anew(database: Database, number: int, turn: NewTurn) -> None:
    """Let a stored turn have another reply to the same words. Nothing is changed by one that broke off.

    The first reply of a forgotten exchange stays: by it, its words are withheld elsewhere.
    """
    gone = "SELECT 1 FROM memories WHERE scope = ? AND turn = ? AND category = ? AND state = 'forgotten'"
    if not turn.reply or database.execute(gone, (turn.scope, number, EXCHANGE)).fetchone():
        return
    query = 'UPDATE turns SET reply = ? WHERE id = ? AND "user" = ? AND reply <> ?'
    database.execute(query, (turn.reply, number, turn.user, turn.reply))
    query = 'UPDATE episodes SET reply = ? WHERE scope = ? AND turn = ? AND "user" = ? AND reply <> ?'
    user = f"{turn.speaker_prefix}{turn.user}" if turn.user else ""
    if database.execute(query, (turn.reply, turn.scope, number, user, turn.reply)).rowcount:
        touch_turns(database, turn.scope, [number])


_of_turn: Final = attrgetter(
    *("scope", "session_key", "session_id", "user", "reply", "at", "accepted_at", "extract", "episode", "joined"),
    *("speaker", "speaker_prefix"),
)
_of_reply: Final = attrgetter("scope", "session_id", "at", "session_key", "turn_id")


def _as_json(report: ReplyReport | None) -> str:
    return json.dumps(report.to_json(), separators=(",", ":")) if report else ""
