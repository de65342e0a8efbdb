"""The journal: one SQLite file with the state that must survive a crash and that Markdown can't hold."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from gateway_memory.scope import Scope
from gateway_memory.store.journal.database import open_database
from gateway_memory.store.journal.episodes import SqliteEpisodes
from gateway_memory.store.journal.event_log import EventLog
from gateway_memory.store.journal.ledger import SqliteLedger
from gateway_memory.store.journal.links import SqliteLinks
from gateway_memory.store.journal.records import SqliteRecords
from gateway_memory.store.journal.requests import SqliteRequests
from gateway_memory.store.journal.reviews import SqliteReviews
from gateway_memory.store.journal.sessions import SqliteSessions
from gateway_memory.store.journal.turns import SqliteTurns
from gateway_memory.store.ports.lease import Lease
from gateway_memory.store.ports.record_file import RecordFile

__all__ = ["Journal", "open_journal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """The ports that SQLite implements, over one connection. Each change is one transaction."""

    turns: SqliteTurns
    episodes: SqliteEpisodes
    sessions: SqliteSessions
    ledger: SqliteLedger
    links: SqliteLinks
    reviews: SqliteReviews
    records: SqliteRecords
    requests: SqliteRequests
    notices: EventLog


async def open_journal(
    stack: AsyncExitStack,
    path: Path,
    slot: Lease,
    *,
    file_of: Callable[[Scope], RecordFile],
    sends: bool = False,
    history: int = 1000,
) -> Journal:
    """Open the journal for the process that holds a slot, and create it if it is missing. The stack closes it.

    path: the file, or `IN_MEMORY`.
    slot: the process's lease.
    file_of: returns the file of a scope's session records.
    sends, history: see EventLog.

    Raises:
        JournalDamagedError: the file was not a readable database. It was renamed, unless another process has it open.
        SchemaFromFutureError: a newer version wrote it.
        StoreError: it can't be opened.
    """
    connection = await open_database(path, is_alone=slot.is_alone)
    stack.push_async_callback(connection.close)
    notices = EventLog(connection, path, slot=slot, sends=sends, history=history)
    await notices.open()
    stack.push_async_callback(notices.close)
    turns = SqliteTurns(connection, slot, notices)
    await turns.open()
    return Journal(
        turns=turns,
        episodes=SqliteEpisodes(connection),
        sessions=SqliteSessions(connection, slot),
        ledger=SqliteLedger(connection),
        links=SqliteLinks(connection),
        reviews=SqliteReviews(connection),
        records=SqliteRecords(connection, file_of),
        requests=SqliteRequests(connection),
        notices=notices,
    )
