"""A connection whose transactions run whole in its own thread."""

import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

from gateway_memory.store.sqlite import transaction

__all__ = ["Connection"]

T = TypeVar("T")


class Connection(aiosqlite.Connection):
    """aiosqlite hops into its thread for each statement; here a transaction is one hop.

    So no other task's statement can come between its begin and its commit, a cancelled task leaves no open
    transaction behind, and the thread that commits has to be waited for once.
    """

    @classmethod
    async def open(cls, path: Path, *, busy_seconds: float) -> "Connection":
        """Open a database, or make it. Raises sqlite3.Error."""

        def connect() -> sqlite3.Connection:
            return sqlite3.connect(path, isolation_level=None, timeout=busy_seconds)

        connection = cls(connect, iter_chunk_size=64)
        _ = await connection  # itself, by the name of its base
        return connection

    async def transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in one transaction, which is on disk when this returns, and is rolled back if anything raises."""
        run: Callable[..., Awaitable[T]] = self._execute  # which aiosqlite leaves untyped
        return await run(self._atomic, work)

    async def use(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work`, which begins its transactions itself."""
        run: Callable[..., Awaitable[T]] = self._execute
        return await run(self._given, work)

    async def rows(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        """Return all rows of a query."""
        run: Callable[..., Awaitable[list[Any]]] = self._execute
        return await run(self._fetch, query, values)

    def _fetch(self, query: str, values: Sequence[object]) -> list[Any]:
        return self._conn.execute(query, values).fetchall()

    def _given(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return work(self._conn)

    def _atomic(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with transaction(self._conn):
            return work(self._conn)
