"""Create the parts of an open memory in the order of their dependencies, and close them in reverse."""

import asyncio
import os
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from extractor import Model, has_model
from gateway_memory.browsing.lists import Lists
from gateway_memory.browsing.portrait import Portraits
from gateway_memory.browsing.reads import Browsing
from gateway_memory.browsing.trial import Trials
from gateway_memory.capture.batches import BatchStage
from gateway_memory.capture.changes import MemoryChanges
from gateway_memory.capture.distiller import Distiller
from gateway_memory.capture.executor import PlanExecutor
from gateway_memory.capture.filing import Filing
from gateway_memory.capture.intake import TurnIntake
from gateway_memory.capture.lifecycle import Lifecycle
from gateway_memory.capture.merger import Merger
from gateway_memory.capture.processor import TurnProcessor
from gateway_memory.capture.reader import Models, Reader
from gateway_memory.capture.retention import Retention
from gateway_memory.capture.ruling import RulesStage
from gateway_memory.capture.saver import Saver
from gateway_memory.commands.command import Commanded, CommandPorts
from gateway_memory.commands.dispatch import Commands
from gateway_memory.config.settings import MemorySync
from gateway_memory.context.builder import ContextBuilder
from gateway_memory.context.finder import Finder
from gateway_memory.context.start import SessionStarter
from gateway_memory.context.subscriptions import Subscriptions
from gateway_memory.errors import ConfigError, StoreError
from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.runtime import Runtime
from gateway_memory.ground.threads import begin_in_background, compute_threads, run_in_background
from gateway_memory.parts import Extract, Reranker, make
from gateway_memory.sessions.registry import SessionRegistry
from gateway_memory.sessions.session import Session
from gateway_memory.store.journal.health import ProcessState
from gateway_memory.store.journal.sessions import Sessions
from gateway_memory.store.journal.speakers import Sender
from gateway_memory.store.plan import ReceiptLine
from gateway_memory.sync.health import HealthKeeper
from gateway_memory.sync.peers import Peers
from gateway_memory.sync.storage import Storage, open_storage
from gateway_memory.sync.watching import check_watching, watch
from gateway_memory.transfer.backlog import Backlog
from gateway_memory.transfer.exporter import Exporter
from gateway_memory.transfer.importer import Importer
from gateway_memory.transfer.joining import ContentLinker
from gateway_memory.transfer.links import LinkBook, SessionEnds
from notifier import Announcer, Bus, BusChannel, Channel

if TYPE_CHECKING:
    from notifier import Notifier

log = get_logger(__name__)

_GRACE_SECONDS: Final = 5.0
_CLOSING_SECONDS: Final = 3.0


async def _finish_index(storage: Storage) -> None:
    """Index what a process that was killed left behind; of a new index, every scope. Opening does not wait for it."""
    try:
        if storage.recaller.is_new:
            storage.episode_follower.look_again(await storage.sessions.scopes())
        else:
            storage.episode_follower.look_again(await storage.episodes.unindexed_scopes())
    except StoreError as error:  # each scope follows with its next reply
        log.warning("episodes.not_looked_at", error=type(error).__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The parts that a host brings: its model, its channels, its reranker."""

    extract: Extract | None = None
    channels: Sequence[Channel] = ()
    rerank: Reranker | None = None


class OpenMemory:
    """The parts that the calls of an open memory use, made in the order of their dependencies by `open`."""

    def __init__(self, runtime: Runtime, sessions: SessionRegistry) -> None:
        self.runtime = runtime
        self.sessions = sessions
        self.bus = Bus()

    async def open(
        self,
        stack: AsyncExitStack,
        workspace: Path | None,
        memory: Commanded,
        given: Given,
    ) -> None:
        """Open all parts and run their background tasks. The stack closes them.

        workspace: the folder of the documents; None keeps everything in memory.
        memory: the memory whose commands are answered.
        given: what the host brings.

        Raises:
            WorkspaceError: the folder can't be created, read or written.
            StoreError: the store can't be opened.
            ConfigError: something that the config names is missing.
        """
        runtime, sessions, bus = self.runtime, self.sessions, self.bus
        stack.enter_context(compute_threads())
        stack.callback(bus.close)
        announcer = Announcer(given.channels, on_error=runtime.on_error)
        self.storage = storage = await open_storage(stack, workspace, runtime, announcer)
        self.notifier = notifier = await _open_notifier(stack, runtime, storage, bus)
        announcer.add(BusChannel(bus, origin=storage.event_log.instance if notifier else None))
        if notifier:
            announcer.add(notifier)
        _watch(stack, runtime, storage, sessions)
        self.builder = builder = ContextBuilder(
            runtime, storage, bus.published_upto, given.rerank or _reranker_of(runtime.settings)
        )
        health = self._open_health(stack, models := _open_models(stack, runtime.settings, given.extract))
        reader = Reader(runtime, storage.ledger, storage.recaller, models)
        merger, executor = (
            Merger(runtime, storage, reader.corrects),
            PlanExecutor(runtime, storage, announcer, sessions),
        )
        self.changes = changes = MemoryChanges(runtime, storage, merger, executor)
        filing = Filing(runtime, merger, executor, changes)
        rules, batch = RulesStage(runtime, storage, filing, changes), BatchStage(runtime, storage, filing, reader)
        self.processor = processor = TurnProcessor(runtime, storage, executor, rules, batch)
        run_in_background(stack, storage.recaller.run(), "embed")
        run_in_background(stack, processor.run(), "worker")
        self.saver = Saver(runtime, storage, changes, executor, reader)
        self.distiller = Distiller(runtime, storage, merger, executor)
        self.lifecycle = lifecycle = Lifecycle(runtime, storage, sessions, self.saver, self.distiller, processor)
        stack.push_async_callback(_finish, lifecycle, processor)
        stack.push_async_callback(_release, storage.sessions)
        run_in_background(stack, lifecycle.run(), "sessions")
        self.retention = Retention(runtime, storage)
        run_in_background(stack, self.retention.run(), "retention")
        run_in_background(stack, storage.episode_follower.run(), "episodes")
        for work, name in ((_finish_index(storage), "index"), (storage.mender.run(), "mending")):
            run_in_background(stack, work, name)
        if storage.wait_notified:
            await self._follow_peers(stack, announcer)
        subscriptions = Subscriptions(storage.event_log, bus, notifier.commit if notifier else None)
        self.starter = starter = SessionStarter(runtime, storage, sessions, builder, changes, subscriptions)
        ends = SessionEnds(
            registry=sessions,
            sessions=storage.sessions,
            lifecycle=lifecycle,
            processor=processor,
            unsubscribe=bus.unsubscribe,
        )
        linker = ContentLinker(runtime, storage, merger, executor, changes)
        self.links = LinkBook(runtime, storage.links, storage.event_log.journal, linker, ends)
        ports = CommandPorts(
            memory=memory,
            storage=storage,
            changes=changes,
            links=self.links,
            caught_up=processor.caught_up,
            remember=self._remember,
            records_anew=lifecycle.records_anew,
            switched=starter.switched,
            health=health,
        )
        self.browsing = Browsing(ports, Trials(runtime, storage, sessions, changes, subscriptions, builder.rerank))
        self.commands, self.lists, self.portraits = Commands(ports), Lists(ports, self.browsing), Portraits(ports)
        self.finder = Finder(runtime, storage, builder.runner, builder.rerank)
        self.intake = TurnIntake(runtime, storage, executor.wake)
        self.importer, self.exporter = Importer(runtime, storage, merger, executor), Exporter(storage)
        self.backlog = Backlog(runtime, storage.episodes, storage.turns, processor)
        closing = begin_in_background(stack, lifecycle.close_abandoned(starting=True), "abandoned")
        # A process that was killed may have left thousands. Opening waits until the few of a single person are closed.
        await asyncio.wait([closing], timeout=_CLOSING_SECONDS)
        if closing.done():
            closing.result()

    async def _follow_peers(self, stack: AsyncExitStack, announcer: Announcer) -> None:
        by_mqtt, wake = self.notifier is not None, self.processor.wake
        peers = Peers(self.runtime, self.storage, self.bus, wake, by_mqtt=by_mqtt)
        announcer.add(peers)
        await peers.start()
        run_in_background(stack, peers.run(), "peers")

    async def _remember(self, session: Session, words: str, sender: Sender) -> ReceiptLine | None:
        await self.starter.ready_to_write(session)
        return await self.saver.remember(session, words, sender)

    def _open_health(self, stack: AsyncExitStack, models: Models) -> HealthKeeper:
        runtime, recaller, opened_at = self.runtime, self.storage.recaller, self.runtime.timestamp()

        def state() -> ProcessState:
            updates, sessions_waiting = self.bus.waiting()
            return ProcessState(
                pid=os.getpid(),
                since=opened_at,
                model=models.name,
                model_rests=models.any_rests,
                problem=recaller.problem,
                replaced=recaller.replaced,
                alarm=runtime.metrics.capture_alarm(runtime.clock()),
                updates=updates,
                sessions_waiting=sessions_waiting,
                mqtt=self.notifier.status() if self.notifier else None,
            )

        health = HealthKeeper(runtime, self.storage.health, state)
        stack.push_async_callback(health.close)
        run_in_background(stack, health.run(), "health")
        return health


def _reranker_of(settings: MemorySync) -> Reranker | None:
    """Return the reranker that the settings name. Raises ConfigError: its package failed."""
    name = settings.auto_recall.reranker
    try:
        made: Reranker | None = make("reranker", name) if name else None
    except LookupError as error:
        raise ConfigError(f"agents.defaults.memorySync.autoRecall.reranker: {error}") from error
    return made


def _open_models(stack: AsyncExitStack, settings: MemorySync, extract: Extract | None) -> Models:
    """Return the models for batches and for summaries: the same model, unless the config names another one."""
    extraction, named = settings.auto_extract, settings.sessions.summary_model
    model = Model(extraction) if extract is None and has_model(extraction) else None
    summaries = model
    if named:
        for_summaries = replace(extraction, model=named)
        summaries = Model(for_summaries) if has_model(for_summaries) else None
    for each in {model, summaries}:
        if each:
            stack.push_async_callback(each.close)
    name = "extract" if extract else extraction.model if model else None
    if name is None:
        log.info("model.none", extraction="rules and episodes only")
    return Models(name=name, extract=extract, model=model, summaries=summaries)


async def _open_notifier(stack: AsyncExitStack, runtime: Runtime, storage: Storage, bus: Bus) -> "Notifier | None":
    notify = runtime.settings.notify
    if not (notify.enabled and notify.mqtt.enabled):
        return None
    from gateway_memory.sync.mqtt import open_notifier

    return await open_notifier(stack, runtime, storage, bus.publish)


def _watch(stack: AsyncExitStack, runtime: Runtime, storage: Storage, sessions: SessionRegistry) -> None:
    sync, workspace = runtime.settings.incremental_sync, storage.documents.folder
    if workspace is not None and sync.enabled and sync.watch:
        check_watching()
        run_in_background(stack, watch(workspace, sessions.scopes, storage.follower.refresh), "watch")


async def _release(sessions: Sessions) -> None:
    """Release the open sessions, so that another process can resume them. An orderly close abandons none."""
    try:
        await sessions.release()
    except StoreError as error:  # they are closed as abandoned later; closing must continue
        log.warning("memory.sessions_not_released", error=type(error).__name__)


async def _finish(lifecycle: Lifecycle, processor: TurnProcessor) -> None:
    """Complete ends and process waiting turns within the grace period. The turns left resume at the next start."""
    try:
        async with asyncio.timeout(_GRACE_SECONDS):
            await lifecycle.completed()
            await processor.flush()
    except Exception as error:  # noqa: BLE001 - the turns are stored in any case, and closing must continue
        log.warning("memory.closed_early", error=type(error).__name__)
    finally:
        await lifecycle.close()
