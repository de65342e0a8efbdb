"""The store: the memory files and the journal. Opens them over a connection."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from gateway_memory.ground.databases import Database
from gateway_memory.scope import Scope
from gateway_memory.store.document_store import Documents
from gateway_memory.store.journal.connection import IN_MEMORY, Connection
from gateway_memory.store.journal.episodes import Episodes
from gateway_memory.store.journal.event_log import EventLog
from gateway_memory.store.journal.health import Health
from gateway_memory.store.journal.ledger import Ledger
from gateway_memory.store.journal.links import Links
from gateway_memory.store.journal.names import Names
from gateway_memory.store.journal.opening import BUSY_SECONDS, open_database
from gateway_memory.store.journal.records import Records
from gateway_memory.store.journal.requests import Requests
from gateway_memory.store.journal.reviews import Reviews
from gateway_memory.store.journal.sessions import Sessions
from gateway_memory.store.journal.sql import ProcessSlot, SqlConnection, WaitNotified
from gateway_memory.store.journal.turns import Turns
from gateway_memory.store.summaries import RecordFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """The documents, and everything else over one connection. Each change is one transaction.

    wait_notified: waits for other processes on a shared store (PostgreSQL); None for files, which have none.
    """

    documents: Documents
    records: Records
    requests: Requests
    turns: Turns
    episodes: Episodes
    sessions: Sessions
    ledger: Ledger
    links: Links
    names: Names
    reviews: Reviews
    health: Health
    event_log: EventLog
    wait_notified: WaitNotified | None = None


FileOf: TypeAlias = Callable[[Scope, Database], RecordFile]
"""Returns the file of a scope's session records, for a transaction."""


async def open_sqlite(
    stack: AsyncExitStack,
    path: Path,
    slot: ProcessSlot,
    documents: Documents,
    *,
    file_of: FileOf,
    sends: bool = False,
    history: int = 1000,
) -> Store:
    """Open the journal for the process that holds a slot, and create it if it is missing. The stack closes it.

    path: the file, or `IN_MEMORY`.
    slot: the process's lease.
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
        reader = await Connection.open(path, busy_seconds=BUSY_SECONDS)
        stack.push_async_callback(reader.close)
    event_log = EventLog(connection, reader, slot=slot, sends=sends, history=history)
    return await store_of(connection, slot, documents, event_log, file_of=file_of)


async def store_of(
    connection: SqlConnection,
    slot: ProcessSlot,
    documents: Documents,
    event_log: EventLog,
    *,
    file_of: FileOf,
    turns_of: Callable[[SqlConnection, ProcessSlot, EventLog], Turns] = Turns,
    episodes_of: Callable[[SqlConnection], Episodes] = Episodes,
    wait_notified: WaitNotified | None = None,
) -> Store:
    """Return the store over a connection, for the process that holds a slot.

    turns_of, episodes_of: what a database needs in the place of these classes.
    """
    await event_log.open()
    turns = turns_of(connection, slot, event_log)
    await turns.open()
    return Store(
        documents=documents,
        records=Records(connection, file_of),
        requests=Requests(connection),
        turns=turns,
        episodes=episodes_of(connection),
        sessions=Sessions(connection, slot),
        ledger=Ledger(connection),
        links=Links(connection),
        names=Names(connection),
        reviews=Reviews(connection),
        health=Health(connection, slot),
        event_log=event_log,
        wait_notified=wait_notified,
    )
