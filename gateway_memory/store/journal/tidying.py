"""Rows of the journal that nothing needs are deleted, some at a time; those that can't be decoded are quarantined."""

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from gateway_memory.runtime.ground import EVERY, Database, get_logger
from gateway_memory.store.journal.sql import AMONG, UNDECODABLE, SqlConnection

log = get_logger(__name__)

# Quarantine rows of the journal that can't be decoded, so that one flipped byte blocks nothing else.

T = TypeVar("T")


async def decoded(
    connection: SqlConnection, table: str, key: str, rows: Sequence[Sequence[Any]], decode: Callable[[Sequence[Any]], T]
) -> list[T]:
    """Return the decoded rows (key, scope, body, …) of a table. Rows that can't be decoded are quarantined.

    key: the column of the rows' keys.
    """
    values: list[T] = []
    bad: list[Sequence[Any]] = []
    for row in rows:
        try:
            values.append(decode(row))
        except UNDECODABLE:
            bad.append(row)

    def work(database: Database) -> None:
        for row in bad:
            if database.execute(f"DELETE FROM {table} WHERE {key} = ?", (row[0],)).rowcount:
                quarantine(database, table, row[1], row[2])

    if bad:
        await connection.transact(work, scopes=EVERY)
    return values


def quarantine(database: Database, table: str, scope: object, body: object) -> None:
    """Keep a body that can't be decoded apart, within the caller's transaction."""
    log.error("journal.row_unreadable", table=table)
    database.execute("INSERT INTO unreadable (scope, place, body) VALUES (?, ?, ?)", (str(scope), table, str(body)))


FAILED: Final = 2
"""The value of the column `stage` for a turn whose model failed."""
_AT_ONCE: Final = 2_000
_RECEIPTS_KEPT: Final = 20_000
"""The number of a scope's newest receipts, and of its newest replies."""
_CHANGES_KEPT: Final = 2_000
"""The number of a scope's newest changes, which an undo can reach."""
_REPEATED_SECONDS: Final = 7 * 86_400.0
"""So long a reply is kept in any case: the id of its turn may come again."""
_LOOKED_AT_FIRST: Final = 50_000
_SCOPES_AT_ONCE: Final = 200


class Tidier:
    """Deletes expired rows, and those that a scope has too many of."""

    def __init__(self, connection: SqlConnection) -> None:
        self._connection = connection.unhurried
        self._trimmed: dict[str, int] = {}
        """Up to which row each table was looked through for scopes that have too many."""

    async def tidy(self, *, before: float, now: float) -> None:
        """See `Turns.tidy`. Raises StoreBusyError: another host is tidying."""
        await self._delete("observations", "id", "at < ?", before)
        await self._delete("turns", "id", f"stage = {FAILED} AND at < ?", before)
        await self._trim("receipts", "id", _RECEIPTS_KEPT)
        await self._trim("changes", "receipt", _CHANGES_KEPT)
        await self._trim("replies", "turn", _RECEIPTS_KEPT, "at < ?", now - _REPEATED_SECONDS)

    async def _delete(self, table: str, key: str, where: str, *values: object) -> None:
        """Delete the rows of a table that a condition names."""
        some = f"SELECT {key} AS number FROM {table} WHERE {where} ORDER BY {key} LIMIT {_AT_ONCE}"
        # A range of keys: a database reads it by its index, whatever it knows of the table.
        query = f"DELETE FROM {table} WHERE {where} AND {key} <= (SELECT max(number) FROM ({some}) AS oldest)"
        deleted = _AT_ONCE
        while deleted == _AT_ONCE:
            deleted = await self._connection.transact(
                lambda it: it.execute(query, (*values, *values)).rowcount,
                scopes=EVERY,
                exclusive=["tidying"],
                waits=False,
            )

    async def _trim(self, table: str, key: str, most: int, where: str = "TRUE", *values: object) -> None:
        """Delete the oldest rows of each scope that has more than so many, where a condition holds of them.

        Only scopes that have got rows since the last call are looked at, and at first those of the newest rows.
        """
        rows = self._connection.rows
        ((newest,),) = await rows(f"SELECT coalesce(max({key}), 0) FROM {table}", scopes=EVERY)
        since = self._trimmed.get(table, newest - _LOOKED_AT_FIRST)
        recent = await rows(f"SELECT DISTINCT scope FROM {table} WHERE {key} > ?", (since,), scopes=EVERY)
        query = f"SELECT scope FROM {table} WHERE scope IN {AMONG} GROUP BY scope HAVING count(*) > ?"
        for start in range(0, len(recent), _SCOPES_AT_ONCE):
            scopes = [str(row[0]) for row in recent[start : start + _SCOPES_AT_ONCE]]
            for (scope,) in await rows(query, (json.dumps(scopes), most), scopes=EVERY):
                last = f"SELECT {key} FROM {table} WHERE scope = ? ORDER BY {key} DESC LIMIT 1 OFFSET {most}"
                await self._delete(table, key, f"scope = ? AND {key} <= ({last}) AND {where}", scope, scope, *values)
        self._trimmed[table] = newest
