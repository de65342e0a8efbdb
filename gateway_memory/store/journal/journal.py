"""The journal: the state that must survive a crash and that Markdown can't hold, in SQLite or PostgreSQL."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gateway_memory.scope import Scope
from gateway_memory.store.journal.connection import IN_MEMORY, Connection
from gateway_memory.store.journal.database import open_database
from gateway_memory.store.journal.episodes import SqlEpisodes
from gateway_memory.store.journal.event_log import EventLog
from gateway_memory.store.journal.health import SqlHealth
from gateway_memory.store.journal.ledger import SqlLedger
from gateway_memory.store.journal.links import SqlLinks
from gateway_memory.store.journal.records import SqlRecords
from gateway_memory.store.journal.requests import SqlRequests
from gateway_memory.store.journal.reviews import SqlReviews
from gateway_memory.store.journal.sessions import SqlSessions
from gateway_memory.store.journal.sql import Database, SqlConnection
from gateway_memory.store.journal.turns import SqlTurns
from gateway_memory.store.ports.lease import Lease
from gateway_memory.store.ports.record_file import RecordFile

__all__ = ["Journal", "journal_of", "open_journal"]

_BUSY_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """The ports over one connection. Each change is one transaction."""

    turns: SqlTurns
    episodes: SqlEpisodes
    sessions: SqlSessions
    ledger: SqlLedger
    links: SqlLinks
    reviews: SqlReviews
    records: SqlRecords
    requests: SqlRequests
    health: SqlHealth
    notices: EventLog


async def open_journal(
    stack: AsyncExitStack,
    path: Path,
    slot: Lease,
    *,
    file_of: Callable[[Scope, Database], RecordFile],
    sends: bool = False,
    history: int = 1000,
) -> Journal:
    """Open the journal for the process that holds a slot, and create it if it is missing. The stack closes it.

    path: the file, or `IN_MEMORY`.
    slot: the process's lease.
    file_of: returns the file of a scope's session records, for a transaction.
    sends, history: see EventLog.

    Raises:
        JournalDamagedError: the file was not a readable database. It was renamed, unless another process has it open.
        SchemaFromFutureError: a newer version wrote it.
        StoreError: it can't be opened.
    """
    connection = await open_database(path, is_alone=slot.is_alone)
    stack.push_async_callback(connection.close)
    reader = connection
    if sends and path != IN_MEMORY:
        reader = await Connection.open(path, busy_seconds=_BUSY_SECONDS)
        stack.push_async_callback(reader.close)
    return await journal_of(connection, reader, slot, file_of=file_of, sends=sends, history=history)


async def journal_of(
    connection: SqlConnection,
    reader: SqlConnection,
    slot: Lease,
    *,
    file_of: Callable[[Scope, Database], RecordFile],
    sends: bool = False,
    history: int = 1000,
    published: Callable[[], None] = lambda: None,
    turns_of: Callable[[SqlConnection, Lease, EventLog], SqlTurns] = SqlTurns,
    episodes_of: Callable[[SqlConnection], SqlEpisodes] = SqlEpisodes,
) -> Journal:
    """Return the ports over a connection, for the process that holds a slot. The rest: see `open_journal`.

    reader: the connection from which events are read to be sent.
    published: see EventLog.
    turns_of, episodes_of: what adapts these ports.
    """
    notices = EventLog(connection, reader, slot=slot, sends=sends, history=history, published=published)
    await notices.open()
    turns = turns_of(connection, slot, notices)
    await turns.open()
    return Journal(
        turns=turns,
        episodes=episodes_of(connection),
        sessions=SqlSessions(connection, slot),
        ledger=SqlLedger(connection),
        links=SqlLinks(connection),
        reviews=SqlReviews(connection),
        records=SqlRecords(connection, file_of),
        requests=SqlRequests(connection),
        health=SqlHealth(connection, slot),
        notices=notices,
    )
