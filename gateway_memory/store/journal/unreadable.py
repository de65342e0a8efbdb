"""Set aside and count rows of the journal that can't be decoded, so that one flipped byte blocks nothing else."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from gateway_memory.observability.logger import get_logger
from gateway_memory.store.journal.sql import EVERY, UNDECODABLE, Database, SqlConnection

__all__ = ["decoded", "put"]

log = get_logger(__name__)

T = TypeVar("T")


async def decoded(
    connection: SqlConnection, table: str, key: str, rows: Sequence[Sequence[Any]], decode: Callable[[Sequence[Any]], T]
) -> list[T]:
    """Return the decoded rows (key, scope, body, …) of a table. Rows that can't be decoded are moved out of the table.

    key: the column of the rows' keys.
    """
    found: list[T] = []
    bad: list[Sequence[Any]] = []
    for row in rows:
        try:
            found.append(decode(row))
        except UNDECODABLE:
            bad.append(row)

    def work(database: Database) -> None:
        for row in bad:
            if database.execute(f"DELETE FROM {table} WHERE {key} = ?", (row[0],)).rowcount:
                put(database, table, row[1], row[2])

    if bad:
        await connection.transact(work, of=EVERY)
    return found


def put(database: Database, table: str, scope: object, body: object) -> None:
    """Store a body that can't be decoded, within the caller's transaction."""
    log.error("journal.row_unreadable", table=table)
    database.execute("INSERT INTO unreadable (scope, place, body) VALUES (?, ?, ?)", (str(scope), table, str(body)))
