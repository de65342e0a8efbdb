"""Counts how often a memory was used each day: recalled for a reply, or repeated. Counted on demand."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from gateway_memory.ground.databases import Database
from gateway_memory.store.journal.sql import SQL, upsert

_REPEATED: Final = frozenset({"same_text", "known", "known_in_other_language", "richer", "reworded"})
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
    """See `Ledger.useful`. day_of: epoch seconds → YYYY-MM-DD."""
    count_uses(database, scope, day_of)
    rows = database.execute(SQL["uses.most_used"], (scope, min_uses, min_days))
    uses = {memory: Uses(recalled=recalled, repeated=repeated, days=days) for memory, recalled, repeated, days in rows}
    most = sorted(uses, key=lambda identity: -(uses[identity].recalled + uses[identity].repeated))
    ids = dict.fromkeys([*most, *(str(row[0]) for row in database.execute(SQL["uses.important"], (scope,)))])
    if not ids:
        return []
    # A memory that was distilled before, and that a user moved back, is not moved again.
    query = "SELECT DISTINCT memory FROM history WHERE scope = ? AND event = 'distill'"
    distilled = {str(row[0]) for row in database.execute(query, (scope,))}
    return [(identity, uses.get(identity, Uses())) for identity in ids if identity not in distilled]


def uses_of(database: Database, scope: str, memory: str, *, day_of: Callable[[float], str]) -> Uses:
    """Return the uses of a memory. day_of: epoch seconds → YYYY-MM-DD."""
    count_uses(database, scope, day_of)
    recalled, repeated, days = database.execute(SQL["uses.uses_of"], (scope, memory)).fetchone()
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
        recalled.update((str(identity), day_of(at)) for identity in _decode_list(ids))
        reply = turn
    for number, at, outcomes in database.execute(
        "SELECT id, at, outcome FROM receipts WHERE id > ? AND scope = ? ORDER BY id", (receipt, scope)
    ):
        repeated.update(
            (outcome[3], day_of(at))
            for outcome in _decode_list(outcomes)
            if len(outcome) == _OUTCOME and outcome[2] in _REPEATED and isinstance(outcome[3], str) and outcome[3]
        )
        receipt = number
    database.executemany(
        SQL["uses.add_uses"], [(scope, *key, recalled[key], repeated[key]) for key in sorted({*recalled, *repeated})]
    )
    if (reply, receipt) == (row or (0, 0)):
        return
    database.execute(upsert("uses_read", "scope, reply, receipt", "scope"), (scope, reply, receipt))


def _decode_list(body: str) -> list[Any]:
    """Decode a list of the journal. Return none if it can't be decoded, since a lost use is harmless."""
    try:
        items = json.loads(body)
    except ValueError:
        return []
    return [item for item in items if isinstance(item, str | list)] if isinstance(items, list) else []
