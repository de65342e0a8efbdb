"""Repeatable requests in SQLite."""

from typing import TYPE_CHECKING, Final

from gateway_memory.store.journal.sql import EVERY
from gateway_memory.store.ports.requests import Request

if TYPE_CHECKING:
    from gateway_memory.store.journal.sql import Database, SqlConnection

__all__ = ["SqlRequests", "begin"]

_KEPT_SECONDS: Final = 7 * 86_400.0
_ONE: Final = "call = ? AND caller = ? AND id = ?"


def begin(database: "Database", request: Request, at: float) -> str | None:
    """Record that a request begins; return as `Requests.begin` does. Within a transaction."""
    database.execute("DELETE FROM requests WHERE at < ?", (at - _KEPT_SECONDS,))
    row = (request.call, request.caller, request.id, request.scope, at)
    query = "INSERT INTO requests (call, caller, id, scope, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
    new = database.execute(query, row)
    if new.rowcount:
        return None
    return str(database.execute(f"SELECT answer FROM requests WHERE {_ONE}", _key(request)).fetchone()[0])


class SqlRequests:
    """The port `Requests`."""

    def __init__(self, connection: "SqlConnection") -> None:
        self._connection = connection

    async def begin(self, request: Request, at: float) -> str | None:
        return await self._connection.transact(lambda database: begin(database, request, at), of=EVERY)

    async def answer(self, request: Request, answer: str) -> None:
        await self._write(f"UPDATE requests SET answer = ? WHERE {_ONE}", answer, *_key(request))

    async def forget(self, request: Request) -> None:
        await self._write(f"DELETE FROM requests WHERE {_ONE}", *_key(request))

    async def _write(self, query: str, *values: str) -> None:
        await self._connection.transact(lambda database: database.execute(query, values).rowcount, of=EVERY)


def _key(request: Request) -> tuple[str, str, str]:
    return request.call, request.caller, request.id
