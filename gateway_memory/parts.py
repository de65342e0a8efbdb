"""The parts of an open memory: made in the order in which they need each other, closed in reverse."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Final

import structlog

from extractor import Debouncer, Model, has_model
from gateway_memory.context import ContextBuilder
from gateway_memory.errors import WorkspaceError, place_of
from gateway_memory.follow import Follower
from gateway_memory.ingest import Ingest
from gateway_memory.lifecycle import Lifecycle
from gateway_memory.merging import Merger
from gateway_memory.metrics import Metrics
from gateway_memory.opening import OpeningBuilder
from gateway_memory.reading import Extract, Reader
from gateway_memory.sessions import Sessions
from gateway_memory.settings import MemorySync
from gateway_memory.store.files import MarkdownFiles
from gateway_memory.store.journal import Journal
from gateway_memory.store.ledger import Ledger
from gateway_memory.store.session_state import release
from gateway_memory.store.slots import Slot
from gateway_memory.worker import Worker
from notifier import Bus
from recall import Recaller

__all__ = ["Parts", "open_parts"]

log = structlog.get_logger()

_STATE_FOLDER: Final = ".gateway-memory"
_GRACE_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What an open memory works with; the worker runs already."""

    slot: Slot
    bus: Bus
    journal: Journal
    ledger: Ledger
    recaller: Recaller
    files: MarkdownFiles
    follower: Follower
    context: ContextBuilder
    ingest: Ingest
    worker: Worker
    openings: OpeningBuilder
    lifecycle: Lifecycle


async def open_parts(
    stack: AsyncExitStack,
    *,
    workspace: Path,
    settings: MemorySync,
    zone: tzinfo | None,
    sessions: Sessions,
    metrics: Metrics,
    clock: Callable[[], datetime],
    fail: Callable[[str, BaseException], None],
    extract: Extract | None,
) -> Parts:
    """Open the parts, and leave closing them to the stack.

    Raises:
        WorkspaceError: the folder can't be made, read or written.
        StoreError: the journal can't be opened.
    """
    state = workspace / _STATE_FOLDER
    slot = Slot(state / "slots")
    await asyncio.to_thread(_prepare, workspace, state, slot)
    stack.callback(slot.release)
    bus = Bus()
    journal = Journal(workspace / "journal.sqlite")
    await journal.open(slot.number)
    stack.push_async_callback(journal.close)
    recaller = Recaller(workspace / "index.sqlite", settings.auto_recall)
    if await recaller.open():
        log.info("index.rebuilding")
    stack.push_async_callback(recaller.close)
    await asyncio.to_thread(_keep_to_the_owner, workspace)
    files = MarkdownFiles(workspace, state)
    stack.callback(files.close)
    follower = Follower(files=files, journal=journal, recaller=recaller, zone=zone)
    ledger = Ledger(journal)
    context = ContextBuilder(
        follower=follower, recaller=recaller, journal=journal, ledger=ledger, metrics=metrics, zone=zone, fail=fail
    )
    extraction = settings.auto_extract
    model = Model(extraction) if extract is None and has_model(extraction) else None
    if model:
        stack.push_async_callback(model.close)
    reader = Reader(
        ledger=ledger,
        recaller=recaller,
        metrics=metrics,
        zone=zone,
        clock=clock,
        fail=fail,
        extract=extract,
        model=model,
    )
    merger = Merger(
        files=files,
        journal=journal,
        recaller=recaller,
        metrics=metrics,
        zone=zone,
        settings_of=sessions.settings_of,
    )
    ingest = Ingest(
        files=files,
        journal=journal,
        ledger=ledger,
        recaller=recaller,
        reader=reader,
        merger=merger,
        follower=follower,
        metrics=metrics,
        zone=zone,
        clock=clock,
        settings_of=sessions.settings_of,
        scope_of=sessions.scope_of,
        publish=bus.publish,
        hold=sessions.hold,
    )
    worker = Worker(
        journal=journal,
        ingest=ingest,
        recaller=recaller,
        slot=slot,
        debouncer=Debouncer(extraction.debounce_seconds, extraction.max_wait_seconds),
        fail=fail,
    )
    running = asyncio.create_task(worker.run(), name="gateway-memory")
    stack.push_async_callback(_stop, worker, running)
    stack.push_async_callback(_leave_open, journal)
    lifecycle = Lifecycle(
        workspace=workspace,
        files=files,
        journal=journal,
        ingest=ingest,
        reader=reader,
        worker=worker,
        slot=slot,
        metrics=metrics,
        zone=zone,
        clock=clock,
        settings=settings,
        settings_of=sessions.settings_of,
        scope_of=sessions.scope_of,
        closed=sessions.let_go,
    )
    idle = asyncio.create_task(lifecycle.run(), name="gateway-memory-idle")
    stack.push_async_callback(_cancel, idle)
    kept_since = clock() - timedelta(days=settings.observations.keep_days)
    await journal.tidy(observations_before=kept_since.timestamp())
    return Parts(
        slot=slot,
        bus=bus,
        journal=journal,
        ledger=ledger,
        recaller=recaller,
        files=files,
        follower=follower,
        context=context,
        ingest=ingest,
        worker=worker,
        openings=OpeningBuilder(
            workspace=workspace,
            files=files,
            recaller=recaller,
            zone=zone,
            min_score=settings.auto_recall.min_score,
        ),
        lifecycle=lifecycle,
    )


def _prepare(workspace: Path, state: Path, slot: Slot) -> None:
    try:
        state.mkdir(parents=True, exist_ok=True)
        next(workspace.iterdir(), None)
        slot.take()
    except OSError as error:
        reason = error.strerror or error
        raise WorkspaceError(
            f"{workspace}: {reason}; gateway-memory must be able to read and write this folder"
        ) from error


def _keep_to_the_owner(workspace: Path) -> None:
    for file in ("journal.sqlite", "index.sqlite"):
        (workspace / file).chmod(0o600)


async def _leave_open(journal: Journal) -> None:
    """A process that closes in order leaves its sessions to be resumed; those of one that dies are abandoned."""
    await journal.transact(lambda database: release(database, journal.slot))


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


async def _stop(worker: Worker, running: asyncio.Task[None]) -> None:
    """Finish what is in flight within the grace period; the rest is rows, and resumes at the next start."""
    try:
        async with asyncio.timeout(_GRACE_SECONDS):
            await worker.flush()
    except Exception as error:  # noqa: BLE001 - the turns are rows whatever it was, and all has to be closed
        log.warning("memory.closed_early", error=type(error).__name__)
    running.cancel()
    await asyncio.wait([running])
    if not running.cancelled() and (failure := running.exception()):
        log.error("memory.worker_died", error=type(failure).__name__, place=place_of(failure))
