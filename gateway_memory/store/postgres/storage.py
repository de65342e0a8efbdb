"""Open the store over PostgreSQL."""

import os
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from gateway_memory.config.settings import StoreSettings
from gateway_memory.errors import StoreError
from gateway_memory.ground.databases import Database
from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.metrics import Metrics
from gateway_memory.ground.threads import compute, run_in_background
from gateway_memory.scope import Scope
from gateway_memory.store.journal.store import Store, store_of
from gateway_memory.store.postgres.connection import PostgresConnection, in_schema
from gateway_memory.store.postgres.documents import DocumentRows, RecordRows
from gateway_memory.store.postgres.hosts import HostSlot
from gateway_memory.store.postgres.notifications import Notifications
from gateway_memory.store.postgres.schema import check
from gateway_memory.store.postgres.shards import places_of
from gateway_memory.store.postgres.spool import Spool, SpooledTurns
from gateway_memory.store.postgres.turns import PostgresEpisodes, PostgresEvents, PostgresTurns, make_room
from recall import PostgresRows, Rows

log = get_logger(__name__)


async def open_shared(
    stack: AsyncExitStack,
    dsn: str,
    settings: StoreSettings,
    *,
    shards: Sequence[str] = (),
    spool: Path | None = None,
    sends: bool = False,
    history: int = 1000,
    metrics: Metrics | None = None,
) -> tuple[Store, Sequence[Rows]]:
    """Open the store of the memory in a schema, and the rows of its index. The stack closes them.

    shards: the DSNs of the servers over which the rows are spread; none: they are with the store.
    spool: the file in which turns wait for the database; None: they go there at once.
    sends, history: see EventLog.
    metrics: gets the histogram "postgres", the gauges "spool.waiting" and "spool.refused", the counter
        "failures.postgres", and turns that the database refuses.

    Raises:
        StoreError: the server can't be reached, or the schema is not up to date.
    """
    schema = settings.schema
    metrics = metrics or Metrics()
    replica = os.environ.get(settings.replica_dsn_env, "")
    for doubt in await compute(partial(check, dsn, schema, replica=replica, shards=shards)):
        log.warning(doubt.event, reason=doubt.words)
    connection = PostgresConnection(dsn, schema=schema, metrics=metrics)
    stack.push_async_callback(connection.close)
    await connection.open()
    try:
        await make_room(connection)
    except StoreError as error:  # there is a place for turns that lie beyond, and tidying tries again
        log.warning("postgres.no_room", error=type(error).__name__)
    slot = HostSlot(connection)
    await slot.take()
    stack.push_async_callback(slot.release)
    run_in_background(stack, slot.run(), "host")

    def file_of(scope: Scope, database: Database) -> RecordRows:
        return RecordRows(database, scope.key)

    # NOTIFY needs a connection that no pooler lends to others between transactions.
    notifications = Notifications(os.environ.get(settings.direct_dsn_env) or dsn, schema)
    stack.callback(notifications.close)
    waiting = Spool(spool) if spool else None
    if waiting:
        stack.push_async_callback(waiting.close)
        await waiting.open()
        metrics.sources.append(
            lambda: {"spool.waiting": float(waiting.number), "spool.refused": float(waiting.number_refused)}
        )
    store = await store_of(
        connection,
        slot,
        DocumentRows(connection),
        PostgresEvents(connection, connection, slot=slot, sends=sends, history=history, published=notifications.send),
        file_of=file_of,
        turns_of=PostgresTurns if waiting is None else partial(SpooledTurns, spool=waiting, metrics=metrics),
        episodes_of=PostgresEpisodes,
        wait_notified=notifications.wait,
    )
    slot.regained, notifications.key = store.turns.open, store.event_log.journal.encode()
    if isinstance(store.turns, SpooledTurns):
        stack.push_async_callback(store.turns.send_last)
        run_in_background(stack, store.turns.run(), "spool")
    rows = [
        PostgresRows(
            place.dsn,
            in_schema(schema),
            resident_rows=settings.resident_rows,
            large_rows=settings.large_scope_rows,
            replica=replica if place.dsn == dsn else "",
            shard=place.label,
        )
        for place in places_of(dsn, shards, store.event_log.journal)
        if place.number
    ]
    return store, rows
