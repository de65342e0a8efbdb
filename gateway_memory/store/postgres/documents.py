"""Markdown documents as rows. The text is the same as in files; what edits a text is in `store.documents`."""

import asyncio
import secrets
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from gateway_memory.errors import StoreBusyError, StoreError
from gateway_memory.ground.databases import EVERY, Database
from gateway_memory.ground.logs import get_logger
from gateway_memory.scope import Scope
from gateway_memory.store.document_store import Change, Documents, Stamps
from gateway_memory.store.documents import text_of
from gateway_memory.store.journal.sql import SqlConnection, distinct
from gateway_memory.store.summaries import newest_of
from recall import Stamp

log = get_logger(__name__)

_LOCK_SECONDS: Final = 30
_POLL_SECONDS: Final = 0.02


class DocumentRows(Documents):
    """In a table.

    A writer leases the lock of a scope; an edit by one whose lease has ended is refused.
    """

    def __init__(self, connection: SqlConnection) -> None:
        self._connection = connection
        self._writing: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._tokens: dict[str, str] = {}

    @asynccontextmanager
    async def writing(self, scope: Scope) -> AsyncIterator[None]:
        async with self._writing[scope.key]:
            token = await self._acquire(scope)
            self._tokens[scope.folder] = token
            try:
                yield
            finally:
                del self._tokens[scope.folder]
                await asyncio.shield(self._release(scope, token))

    async def _acquire(self, scope: Scope) -> str:
        token, loop = secrets.token_hex(8), asyncio.get_running_loop()
        until = loop.time() + _LOCK_SECONDS
        query = (
            f"INSERT INTO locks VALUES (?, ?, now() + interval '{_LOCK_SECONDS} seconds') ON CONFLICT (folder) "
            "DO UPDATE SET token = excluded.token, until = excluded.until WHERE locks.until < now()"
        )
        while not await self._change(query, scope.folder, token):
            if loop.time() > until:
                raise StoreBusyError(f"another process has held the lock of a scope for {_LOCK_SECONDS} s")
            await asyncio.sleep(_POLL_SECONDS)
        return token

    async def _release(self, scope: Scope, token: str) -> None:
        try:
            await self._change("DELETE FROM locks WHERE folder = ? AND token = ?", scope.folder, token)
        except StoreError as error:  # its lease ends by itself
            log.warning("documents.lock_kept", error=type(error).__name__)

    async def _change(self, query: str, *values: object) -> int:
        folder = f"folder {values[0]}"
        return await self._connection.transact(
            lambda database: database.execute(query, values).rowcount, exclusive=[folder]
        )

    async def scan(self, scope: Scope) -> Stamps:
        query = "SELECT name, saved, octet_length(content) FROM documents WHERE folder = ?"
        rows = await self._connection.rows(query, (scope.folder,), scopes=_folder(scope))
        return {str(name): (int(saved), int(size)) for name, saved, size in rows}

    async def read(self, scope: Scope, name: str) -> tuple[str, Stamp] | None:
        query = "SELECT content, saved FROM documents WHERE folder = ? AND name = ?"
        rows = await self._connection.rows(query, (scope.folder, name), scopes=_folder(scope))
        if not rows:
            return None
        ((content, saved),) = rows
        return text_of(bytes(content), int(saved))

    async def _rewrite(self, scope: Scope, names: Sequence[str], change: Change) -> None:
        def work(database: Database) -> None:
            self._check_lock(database, scope)
            query = "SELECT content FROM documents WHERE folder = ? AND name = ?"
            for name in names:
                row = database.execute(query, (scope.folder, name)).fetchone()
                before = bytes(row[0]) if row else None
                after = change(name, before)
                if after is None:
                    database.execute("DELETE FROM documents WHERE folder = ? AND name = ?", (scope.folder, name))
                elif after != before:
                    database.execute(
                        "INSERT INTO documents VALUES (?, ?, ?, ?) ON CONFLICT (folder, name) DO UPDATE SET "
                        "content = excluded.content, saved = max(documents.saved + 1, excluded.saved)",
                        (scope.folder, name, after, time.time_ns()),
                    )

        await self._connection.transact(work, scopes=_folder(scope), exclusive=[_folder(scope)])

    def _check_lock(self, database: Database, scope: Scope) -> None:
        query = (
            f"UPDATE locks SET until = now() + interval '{_LOCK_SECONDS} seconds' WHERE folder = ? AND token = ? "
            "AND until > now()"
        )
        if not database.execute(query, (scope.folder, self._tokens.get(scope.folder, ""))).rowcount:
            raise StoreError("the lock of a scope was lost: this process took too long, or the database was restarted")

    async def folders(self) -> list[str]:
        rows = await self._connection.rows(distinct("documents", "folder"), scopes=EVERY)
        return sorted(str(row[0]) for row in rows if row[0])


def _folder(scope: Scope) -> str:
    """Return the name by which a transaction locks and sees the documents of a scope."""
    return f"folder {scope.folder}"


class RecordRows:
    """The session records of one scope as lines: a `RecordFile` within a transaction."""

    def __init__(self, database: Database, scope: str) -> None:
        self._database = database
        self._scope = scope

    def read(self, start: int = 0) -> bytes | None:
        query = "SELECT substring(content FROM CAST(? AS INTEGER)) FROM record_files WHERE scope = ?"
        row = self._database.execute(query, (start + 1, self._scope)).fetchone()
        return bytes(row[0]) if row else None

    def last(self) -> dict[str, Any] | None:
        return newest_of(self.read() or b"")

    def append(self, lines: bytes) -> None:
        self._put(lines, "record_files.content || excluded.content")

    def rewrite(self, change: Callable[[bytes | None], bytes | None]) -> None:
        before = self.read()
        after = change(before)
        if after != before:
            self._put(after, "excluded.content")

    def _put(self, content: bytes | None, result: str) -> None:
        """Write the lines. result: what becomes of those that are there, in SQL."""
        query = "INSERT INTO record_files (scope, content) VALUES (?, ?) ON CONFLICT (scope) DO UPDATE SET content = "
        self._database.execute(f"{query}{result}", (self._scope, content))

    def put_aside(self, lines: bytes) -> None:
        query = "UPDATE record_files SET damaged = damaged || ? WHERE scope = ?"
        self._database.execute(query, (lines, self._scope))
