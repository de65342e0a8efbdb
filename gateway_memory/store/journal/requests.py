"""Requests that a caller may repeat."""

from dataclasses import dataclass
from typing import Final

from gateway_memory.runtime.ground import EVERY, Database
from gateway_memory.store.journal.sql import Table

_KEPT_SECONDS: Final = 7 * 86_400.0
_ONE: Final = "call = ? AND caller = ? AND id = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A write of a caller. The same call, caller and id are the same request.

    call: the name of the call. caller: who asks, since ids of different callers may be equal. id: the caller's id.
    scope: the scope whose texts the answer may hold.
    """

    call: str
    caller: str
    id: str
    scope: str


def begin(database: Database, request: Request, at: float) -> str | None:
    """Record that a request begins; return as `Requests.begin` does. Within a transaction."""
    database.execute("DELETE FROM requests WHERE at < ?", (at - _KEPT_SECONDS,))
    row = (request.call, request.caller, request.id, request.scope, at)
    query = "INSERT INTO requests (call, caller, id, scope, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
    new = database.execute(query, row)
    if new.rowcount:
        return None
    return str(database.execute(f"SELECT answer FROM requests WHERE {_ONE}", _key(request)).fetchone()[0])


class Requests(Table):
    """Writes that a caller may repeat: which of them began, and what they were answered. Kept for seven days.

    Every call may raise StoreError, and has then changed nothing.
    """

    async def begin(self, request: Request, at: float) -> str | None:
        """Record that a request begins, durably; return None if it is new.

        Otherwise return its answer, or "" if it began before and was not answered. at: epoch seconds.
        """
        return await self._write(EVERY, begin, request, at)

    async def answer(self, request: Request, answer: str) -> None:
        """Record the answer to a request that began. The answer is not empty."""
        await self._change(EVERY, f"UPDATE requests SET answer = ? WHERE {_ONE}", answer, *_key(request))

    async def forget(self, request: Request) -> None:
        """Record that a request has done nothing, so that a repeat of it is new."""
        await self._change(EVERY, f"DELETE FROM requests WHERE {_ONE}", *_key(request))


def _key(request: Request) -> tuple[str, str, str]:
    return request.call, request.caller, request.id
