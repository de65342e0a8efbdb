"""Deletes rows of the journal that nothing needs, some at a time."""

import json
from typing import Final

from gateway_memory.ground.databases import EVERY
from gateway_memory.store.journal.sql import AMONG, SqlConnection, Table

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


class Tidier(Table):
    """Deletes expired rows, and those that a scope has too many of."""

    def __init__(self, connection: SqlConnection) -> None:
        super().__init__(connection.unhurried)
        self._trimmed: dict[str, int] = {}
        """The last row of each table up to which scopes with too many rows were looked for."""

    async def tidy(self, *, before: float, now: float) -> None:
        """See `Turns.tidy`. Raises StoreBusyError: another process is tidying."""
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
                lambda database: database.execute(query, (*values, *values)).rowcount,
                scopes=EVERY,
                exclusive=["tidying"],
                waits=False,
            )

    async def _trim(self, table: str, key: str, most: int, where: str = "TRUE", *values: object) -> None:
        """Delete the oldest rows of each scope that has more than so many, where a condition holds of them.

        Only scopes that have got rows since the last call are looked at, and at first those of the newest rows.
        """
        (newest,) = await self._column(EVERY, f"SELECT coalesce(max({key}), 0) FROM {table}")
        since = self._trimmed.get(table, newest - _LOOKED_AT_FIRST)
        recent = await self._column(EVERY, f"SELECT DISTINCT scope FROM {table} WHERE {key} > ?", since)
        query = f"SELECT scope FROM {table} WHERE scope IN {AMONG} GROUP BY scope HAVING count(*) > ?"
        for start in range(0, len(recent), _SCOPES_AT_ONCE):
            some = json.dumps(recent[start : start + _SCOPES_AT_ONCE])
            for scope in await self._column(EVERY, query, some, most):
                last = f"SELECT {key} FROM {table} WHERE scope = ? ORDER BY {key} DESC LIMIT 1 OFFSET {most}"
                await self._delete(table, key, f"scope = ? AND {key} <= ({last}) AND {where}", scope, scope, *values)
        self._trimmed[table] = newest
