"""The parts of an open memory: made in the order in which they need each other, closed in reverse."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from extractor import Debouncer, Model, has_model
from extractor.model.breaker import Breaker
from gateway_memory.capture.distiller import Distiller
from gateway_memory.capture.executor import Carrier
from gateway_memory.capture.ingest import Ingest
from gateway_memory.capture.merger import Merger
from gateway_memory.capture.reader import Extract, Reader
from gateway_memory.capture.worker import Worker
from gateway_memory.compute import compute, compute_threads
from gateway_memory.config.settings import MemorySync
from gateway_memory.context.builder import ContextBuilder
from gateway_memory.context.opening import OpeningBuilder
from gateway_memory.errors import StoreError, WorkspaceError
from gateway_memory.observability.logger import get_logger
from gateway_memory.observability.metrics import Metrics
from gateway_memory.sessions.lifecycle import Lifecycle
from gateway_memory.sessions.registry import Sessions
from gateway_memory.sessions.saver import Saver
from gateway_memory.store.files import MarkdownFiles
from gateway_memory.store.journal.journal import Journal
from gateway_memory.store.journal.ledger import Ledger
from gateway_memory.store.journal.retention import Retention
from gateway_memory.store.journal.session_state import release
from gateway_memory.store.slots import Slot
from gateway_memory.store.workspace import INDEX_FILE, STATE_FOLDER
from gateway_memory.sync.edits import Edits
from gateway_memory.sync.follower import Follower
from gateway_memory.sync.watch import check_watching, watch
from gateway_memory.tasks import run_beside
from gateway_memory.transfer.exporter import Exporter
from gateway_memory.transfer.importer import Importer
from notifier import Announcer, Bus, BusChannel, Channel
from recall import Recaller, RecallError

if TYPE_CHECKING:
    from notifier.notifier import Notifier

__all__ = ["Parts", "open_parts"]

log = get_logger(__name__)

_GRACE_SECONDS: Final = 5.0
_EMBEDDING_REST_SECONDS: Final = 30.0
"""For so long an embedding server that keeps failing is left alone: words answer, and it may only be starting anew."""


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
    saver: Saver
    distiller: Distiller
    importer: Importer
    exporter: Exporter
    lifecycle: Lifecycle
    retention: Retention
    notifier: "Notifier | None"


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
    channels: Sequence[Channel] = (),
) -> Parts:
    """Open the parts, and leave closing them to the stack.

    Raises:
        WorkspaceError: the folder can't be made, read or written.
        StoreError: the journal can't be opened.
        ConfigError: something that the config names isn't there.
    """
    stack.enter_context(compute_threads())
    state = workspace / STATE_FOLDER
    slot = await _place(stack, workspace, state)
    bus = Bus()
    journal = Journal(workspace / "journal.sqlite")
    mqtt = settings.notify.mqtt if settings.notify.enabled and settings.notify.mqtt.enabled else None
    await journal.open(
        slot.number,
        is_alone=slot.is_alone,
        sends=mqtt is not None,
        history=settings.notify.mqtt.history_events,
    )
    stack.push_async_callback(journal.close)
    slot.started()
    recaller = await _open_recaller(stack, workspace, settings, zone)
    await compute(_keep_to_the_owner, workspace)
    files = MarkdownFiles(workspace, state)
    stack.callback(files.close)
    follower = Follower(files=files, journal=journal, recaller=recaller, zone=zone)
    ledger = Ledger(journal)
    context = ContextBuilder(
        follower=follower,
        recaller=recaller,
        journal=journal,
        heard=bus.heard,
        metrics=metrics,
        zone=zone,
        fail=fail,
    )
    extraction = settings.auto_extract
    model, summaries = _open_models(stack, settings, extract)
    reader = Reader(
        ledger=ledger,
        recaller=recaller,
        metrics=metrics,
        zone=zone,
        clock=clock,
        fail=fail,
        extract=extract,
        model=model,
        summaries=summaries,
    )

    def seconds() -> float:
        return clock().timestamp()

    notifier = None
    if mqtt is not None:
        from gateway_memory.mqtt import open_notifier

        notifier = await open_notifier(
            stack,
            mqtt,
            event_log=journal.event_log,
            slot=slot,
            publish=bus.publish,
            scope_of=sessions.scope_of,
            refresh=follower.refresh,
            metrics=metrics,
            clock=seconds,
            on_error=fail,
        )

    here = BusChannel(bus, origin=journal.event_log.instance if notifier else None)
    announcer = Announcer([here, *([notifier] if notifier else ()), *channels], on_error=fail)
    merger = Merger(
        files=files,
        journal=journal,
        recaller=recaller,
        metrics=metrics,
        zone=zone,
        settings_of=sessions.settings_of,
    )
    carrier = Carrier(
        files=files,
        journal=journal,
        follower=follower,
        metrics=metrics,
        clock=clock,
        settings_of=sessions.settings_of,
        announcer=announcer,
        hold=sessions.hold,
        hide=sessions.hide,
    )
    ingest = Ingest(
        files=files,
        ledger=ledger,
        recaller=recaller,
        reader=reader,
        merger=merger,
        follower=follower,
        carrier=carrier,
        zone=zone,
        clock=clock,
        settings_of=sessions.settings_of,
        scope_of=sessions.scope_of,
    )
    worker = Worker(
        files=files,
        journal=journal,
        ingest=ingest,
        carrier=carrier,
        recaller=recaller,
        slot=slot,
        debouncer=Debouncer(extraction.debounce_seconds, extraction.max_wait_seconds),
        fail=fail,
    )
    if settings.notify.enabled:
        edits = Edits(journal.event_log, announcer=announcer, clock=seconds, fail=fail)
        follower.found = edits.found
    if settings.incremental_sync.enabled and settings.incremental_sync.watch:
        check_watching()
        run_beside(stack, watch(workspace, sessions.scopes, follower.refresh), "watch")
    run_beside(stack, worker.run(), "worker")
    stack.push_async_callback(_finish, worker)
    saver = Saver(
        workspace=workspace,
        files=files,
        journal=journal,
        ingest=ingest,
        reader=reader,
        metrics=metrics,
        zone=zone,
        clock=clock,
        settings_of=sessions.settings_of,
    )
    distiller = Distiller(
        files=files,
        journal=journal,
        recaller=recaller,
        follower=follower,
        merger=merger,
        carrier=carrier,
        zone=zone,
        clock=clock,
    )
    importer = Importer(
        workspace=workspace,
        files=files,
        journal=journal,
        ledger=ledger,
        recaller=recaller,
        follower=follower,
        merger=merger,
        carrier=carrier,
        zone=zone,
        clock=clock,
        scope_of=sessions.scope_of,
    )
    lifecycle = Lifecycle(
        files=files,
        journal=journal,
        carrier=carrier,
        saver=saver,
        distiller=distiller,
        worker=worker,
        slot=slot,
        metrics=metrics,
        clock=clock,
        settings=settings,
        settings_of=sessions.settings_of,
        scope_of=sessions.scope_of,
        closed=sessions.let_go,
        prompts_for=partial(sessions.prompts, workspace),
    )
    _close_idle_sessions(stack, lifecycle, journal)
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
            journal=journal,
            recaller=recaller,
            zone=zone,
            min_score=settings.auto_recall.min_score,
        ),
        saver=saver,
        distiller=distiller,
        importer=importer,
        exporter=Exporter(workspace=workspace, files=files, journal=journal, recaller=recaller, follower=follower),
        lifecycle=lifecycle,
        retention=await _retaining(stack, Retention(journal, settings, clock=seconds, fail=fail)),
        notifier=notifier,
    )


def _open_models(
    stack: AsyncExitStack, settings: MemorySync, extract: Extract | None
) -> tuple[Model | None, Model | None]:
    """Return the model that reads batches, and the one that makes summaries: the same, unless the config names one."""
    extraction, named = settings.auto_extract, settings.sessions.summary_model
    model = Model(extraction) if extract is None and has_model(extraction) else None
    summaries = model
    if named:
        for_summaries = replace(extraction, model=named)
        summaries = Model(for_summaries) if has_model(for_summaries) else None
    for each in {model, summaries}:
        if each:
            stack.push_async_callback(each.close)
    return model, summaries


async def _open_recaller(stack: AsyncExitStack, workspace: Path, settings: MemorySync, zone: tzinfo | None) -> Recaller:
    recaller = Recaller(
        workspace / INDEX_FILE,
        settings.auto_recall,
        zone=zone,
        breaker=Breaker(open_seconds=_EMBEDDING_REST_SECONDS),
    )
    try:
        if await recaller.open():
            log.info("index.rebuilding")
    except RecallError as error:
        raise WorkspaceError(f"{error}; another process may have it locked") from error
    stack.push_async_callback(recaller.close)
    return recaller


async def _place(stack: AsyncExitStack, workspace: Path, state: Path) -> Slot:
    slot = Slot(state / "slots")
    stack.callback(slot.release)
    await compute(_prepare, workspace, state, slot)
    return slot


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


async def _retaining(stack: AsyncExitStack, retention: Retention) -> Retention:
    await retention.keep()
    run_beside(stack, retention.run(), "retention")
    return retention


def _close_idle_sessions(stack: AsyncExitStack, lifecycle: Lifecycle, journal: Journal) -> None:
    """Let them be closed now and then.

    A process that closes in order leaves its own to be resumed; those of one that dies are abandoned.
    """
    stack.push_async_callback(_release, journal)
    run_beside(stack, lifecycle.run(), "sessions")


async def _release(journal: Journal) -> None:
    try:
        await journal.transact(lambda database: release(database, journal.slot))
    except (OSError, sqlite3.Error, StoreError) as error:  # then they are closed as abandoned; all has to be closed now
        log.warning("memory.sessions_not_released", error=type(error).__name__)


async def _finish(worker: Worker) -> None:
    """Finish what is in flight within the grace period; the rest is rows, and resumes at the next start."""
    try:
        async with asyncio.timeout(_GRACE_SECONDS):
            await worker.flush()
    except Exception as error:  # noqa: BLE001 - the turns are rows whatever it was, and all has to be closed
        log.warning("memory.closed_early", error=type(error).__name__)
