"""Requests that a caller may repeat: what is stored of them, and running each once."""

import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from gateway_memory.errors import GatewayMemoryError, StoreError
from gateway_memory.ground.databases import EVERY, Database
from gateway_memory.store.journal.sql import AMONG, SqlConnection, Table

if TYPE_CHECKING:
    import asyncio

_KEPT_SECONDS: Final = 7 * 86_400.0
_ONE: Final = "scope = ? AND call = ? AND caller = ? AND id = ?"
_Key: TypeAlias = tuple[str, str, str, str]
_RENEWED_SECONDS: Final = 86_400.0

Work: TypeAlias = Callable[[], Awaitable[Mapping[str, Any]]]
"""Does what a request asks for, and returns the answer as a JSON object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A write of a caller. The same scope, call, caller and id are the same request.

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
    query = "INSERT INTO requests (scope, call, caller, id, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
    new = database.execute(query, (*_key(request), at))
    if new.rowcount:
        return None
    return str(database.execute(f"SELECT answer FROM requests WHERE {_ONE}", _key(request)).fetchone()[0])


class Requests(Table):
    """Writes that a caller may repeat: which of them began, and what they were answered. Kept for seven days.

    Every call may raise StoreError, and has then changed nothing.
    """

    def __init__(self, connection: SqlConnection) -> None:
        super().__init__(connection)
        self._running: dict[_Key, asyncio.Task[str]] = {}

    async def run(
        self, request: Request, work: Work, *, at: float, if_interrupted: Work | None, repeatable: bool
    ) -> dict[str, Any]:
        """Run a request unless it has run before, and return its answer. See `GatewayMemory.once`.

        at: the current time, in epoch seconds.
        """
        import asyncio  # a hook has no event loop

        key = _key(request)
        running = self._running.get(key)
        if running is None:
            running = asyncio.create_task(self._first(request, at, work, if_interrupted or work, repeatable=repeatable))
            self._running[key] = running
            running.add_done_callback(lambda done: self._done(key, done))
        # A caller that goes away cancels neither the work nor the wait of the others.
        answer: dict[str, Any] = json.loads(await asyncio.shield(running))
        return answer

    def _done(self, key: _Key, done: "asyncio.Task[str]") -> None:
        del self._running[key]
        if not done.cancelled():
            done.exception()  # every caller may be gone

    async def _first(self, request: Request, at: float, work: Work, if_interrupted: Work, *, repeatable: bool) -> str:
        known = await self.begin(request, at)
        if known:
            return known
        try:
            answer = json.dumps(await (work if known is None else if_interrupted)())
        except GatewayMemoryError as error:
            if repeatable or not isinstance(error, StoreError):
                with contextlib.suppress(StoreError):
                    await self.forget(request)
            raise
        await self.answer(request, answer)
        return answer

    async def begin(self, request: Request, at: float) -> str | None:
        """Record that a request begins, durably; return None if it is new.

        Otherwise return its answer, or "" if it began before and was not answered. at: epoch seconds.
        """
        return await self._write(EVERY, begin, request, at)

    async def answer(self, request: Request, answer: str) -> None:
        """Record the answer to a request that began. The answer is not empty."""
        await self._change(EVERY, f"UPDATE requests SET answer = ? WHERE {_ONE}", answer, *_key(request))

    async def keep(
        self, request: Request, answer: Mapping[str, Any], at: float, *, anew: bool = False
    ) -> dict[str, Any]:
        """Keep the answer to a request that was done already, durably; return it, or the one that is there before.

        anew: whether it takes the place of the one that is there.
        """
        body = json.dumps(answer)

        def work(database: Database) -> str:
            database.execute("DELETE FROM requests WHERE at < ?", (at - _KEPT_SECONDS,))
            if anew:
                database.execute(f"DELETE FROM requests WHERE {_ONE}", _key(request))
            query = "INSERT INTO requests (scope, call, caller, id, at, answer) VALUES (?, ?, ?, ?, ?, ?)"
            if database.execute(f"{query} ON CONFLICT DO NOTHING", (*_key(request), at, body)).rowcount:
                return body
            return str(database.execute(f"SELECT answer FROM requests WHERE {_ONE}", _key(request)).fetchone()[0])

        kept: dict[str, Any] = json.loads(await self._write(EVERY, work))
        return kept

    async def answers(
        self, scope: str, call: str, caller: str, at: float, *, among: Sequence[str] | None = None
    ) -> dict[str, dict[str, Any]]:
        """Return the answers that a caller was given in a scope, by the ids of the requests.

        They stay for seven days from now. among: the ids that are looked for; None for all.
        """
        which, values = "scope = ? AND call = ? AND caller = ?", [scope, call, caller]
        query = f"SELECT id, answer, at FROM requests WHERE {which} AND answer <> ''"
        if among is not None:
            query = f"{query} AND id IN {AMONG}"
        rows = await self._rows(EVERY, query, *values, *([] if among is None else [json.dumps(among)]))
        if any(since < at - _RENEWED_SECONDS for _, _, since in rows):
            await self._change(EVERY, f"UPDATE requests SET at = ? WHERE {which}", at, *values)
        return {str(identity): json.loads(answer) for identity, answer, _ in rows}

    async def forget(self, request: Request) -> None:
        """Record that a request has done nothing, so that a repeat of it is new."""
        await self._change(EVERY, f"DELETE FROM requests WHERE {_ONE}", *_key(request))


def _key(request: Request) -> _Key:
    return request.scope, request.call, request.caller, request.id
