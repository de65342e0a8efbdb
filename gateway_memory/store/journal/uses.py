"""Count how often a memory was used each day: recalled for a reply, or repeated. Counted on demand.

Functions over a connection in a transaction. Each count processes only what was added since the last one, so that
replies and turns do no extra work.
"""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from gateway_memory.store.journal.sql import Database, upsert

__all__ = ["Uses", "useful", "uses_of"]

_SAID_AGAIN: Final = frozenset({"same_text", "known", "known_in_other_language", "richer", "reworded"})
"""The reasons in a receipt which mean that the memory existed before."""
_OUTCOME: Final = 4
"""The number of values of a receipt's outcome: turn, action, reason, memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uses:
    """How often a memory was recalled and repeated, and the number of days with either."""

    recalled: int = 0
    repeated: int = 0
    days: int = 0


def useful(
    database: Database, scope: str, *, min_uses: int, min_days: int, day_of: Callable[[float], str]
) -> list[tuple[str, Uses]]:
    """Return the memories that may qualify for MEMORY.md, the most used first. day_of: epoch seconds → YYYY-MM-DD."""
    count_uses(database, scope, day_of)
    uses = used(database, scope, uses=min_uses, days=min_days)
    most = sorted(uses, key=lambda identity: -(uses[identity].recalled + uses[identity].repeated))
    ids = dict.fromkeys([*most, *important(database, scope)])
    before = distilled_before(database, scope) if ids else set()
    return [(identity, uses.get(identity, Uses())) for identity in ids if identity not in before]


def uses_of(database: Database, scope: str, memory: str, *, day_of: Callable[[float], str]) -> Uses:
    """Return the uses of a memory. day_of: epoch seconds → YYYY-MM-DD."""
    count_uses(database, scope, day_of)
    query = (
        "SELECT coalesce(sum(recalled), 0), coalesce(sum(repeated), 0), count(*) FROM uses "
        "WHERE scope = ? AND memory = ?"
    )
    recalled, repeated, days = database.execute(query, (scope, memory)).fetchone()
    return Uses(recalled=int(recalled), repeated=int(repeated), days=days)


def count_uses(database: Database, scope: str, day_of: Callable[[float], str]) -> None:
    """Count the new replies and receipts of a scope. day_of: epoch seconds → YYYY-MM-DD."""
    row = database.execute("SELECT reply, receipt FROM uses_read WHERE scope = ?", (scope,)).fetchone()
    reply, receipt = row or (0, 0)
    recalled: Counter[tuple[str, str]] = Counter()
    repeated: Counter[tuple[str, str]] = Counter()
    for turn, at, ids in database.execute(
        "SELECT turn, at, recalled FROM replies WHERE turn > ? AND scope = ? ORDER BY turn", (reply, scope)
    ):
        recalled.update((str(identity), day_of(at)) for identity in _listed(ids))
        reply = turn
    for number, at, outcomes in database.execute(
        "SELECT id, at, outcome FROM receipts WHERE id > ? AND scope = ? ORDER BY id", (receipt, scope)
    ):
        repeated.update(
            (outcome[3], day_of(at))
            for outcome in _listed(outcomes)
            if len(outcome) == _OUTCOME and outcome[2] in _SAID_AGAIN and isinstance(outcome[3], str) and outcome[3]
        )
        receipt = number
    database.executemany(
        "INSERT INTO uses VALUES (?, ?, ?, ?, ?) ON CONFLICT (scope, memory, day) DO UPDATE SET "
        "recalled = uses.recalled + excluded.recalled, repeated = uses.repeated + excluded.repeated",
        [(scope, *key, recalled[key], repeated[key]) for key in sorted({*recalled, *repeated})],
    )
    if (reply, receipt) == (row or (0, 0)):
        return
    database.execute(upsert("uses_read", "scope, reply, receipt", "scope"), (scope, reply, receipt))


def _listed(body: str) -> list[Any]:
    """Decode a list of the journal. Return none if it can't be decoded, since a lost use is harmless."""
    try:
        found = json.loads(body)
    except ValueError:
        return []
    return [item for item in found if isinstance(item, str | list)] if isinstance(found, list) else []


def used(database: Database, scope: str, *, uses: int, days: int) -> dict[str, Uses]:
    """Return the uses, by memory, of those with at least so many uses on so many days."""
    rows = database.execute(
        "SELECT memory, sum(recalled), sum(repeated), count(*) FROM uses WHERE scope = ? GROUP BY memory "
        "HAVING sum(recalled + repeated) >= ? AND count(*) >= ?",
        (scope, uses, days),
    )
    return {memory: Uses(recalled=recalled, repeated=repeated, days=on) for memory, recalled, repeated, on in rows}


def important(database: Database, scope: str) -> list[str]:
    """Return the active important memories outside MEMORY.md, oldest first."""
    rows = database.execute(
        "SELECT id FROM memories WHERE scope = ? AND state = 'active' AND importance = 'high' "
        "AND file <> 'MEMORY.md' ORDER BY at",
        (scope,),
    )
    return [str(row[0]) for row in rows]


def distilled_before(database: Database, scope: str) -> set[str]:
    """Return the memories that were distilled before. One that a user moved back is not moved again."""
    rows = database.execute("SELECT DISTINCT memory FROM history WHERE scope = ? AND event = 'distill'", (scope,))
    return {str(row[0]) for row in rows}
