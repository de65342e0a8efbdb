"""The journal: one SQLite file that holds what must survive a crash, and what a line of Markdown can't carry."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from gateway_memory.scope import Scope
from gateway_memory.store.journal.database import open_database
from gateway_memory.store.journal.event_log import EventLog
from gateway_memory.store.journal.ledger import SqliteLedger
from gateway_memory.store.journal.records import SqliteRecords
from gateway_memory.store.journal.sessions import SqliteSessions
from gateway_memory.store.journal.turns import SqliteTurns
from gateway_memory.store.ports.lease import Lease
from gateway_memory.store.ports.record_file import RecordFile

__all__ = ["Journal", "open_journal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """The ports that SQLite serves, over one connection; each change is one transaction."""

    turns: SqliteTurns
    sessions: SqliteSessions
    ledger: SqliteLedger
    records: SqliteRecords
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
    """Open the file, or make it, for the process that holds a slot; the stack closes it.

    path: `IN_MEMORY` for a database that no file holds. file_of: where a scope's session records are. sends, history:
    see EventLog.

    Raises:
        JournalDamagedError: the file was no readable database; it now stands aside under another name, unless another
            process has it open.
        SchemaFromFutureError: a newer version wrote it.
        StoreError: it can't be opened at all.
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
        sessions=SqliteSessions(connection, slot),
        ledger=SqliteLedger(connection),
        records=SqliteRecords(connection, file_of),
        notices=notices,
    )
