"""The store of a memory with its index, and how it is opened: files and SQLite in a workspace, or all in memory."""

import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gateway_memory.config.settings import MemorySync, StoreSettings
from gateway_memory.errors import ConfigError, WorkspaceError, how_to_install
from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.metrics import Metrics
from gateway_memory.ground.policies import Breaker
from gateway_memory.ground.runtime import Runtime
from gateway_memory.ground.threads import compute
from gateway_memory.scope import Scope
from gateway_memory.store.disk.files import MarkdownFiles
from gateway_memory.store.disk.in_memory import DocumentsInMemory, RecordsInMemory
from gateway_memory.store.disk.records import DiskRecords
from gateway_memory.store.disk.slots import NoSlot, Slot
from gateway_memory.store.disk.workspace import INDEX_FILE, SPOOL_FILE, STATE_FOLDER, private_folder
from gateway_memory.store.journal.connection import IN_MEMORY
from gateway_memory.store.journal.store import Store, open_sqlite
from gateway_memory.store.summaries import SESSIONS_FILE
from gateway_memory.sync.episodes import EpisodeFollower
from gateway_memory.sync.follower import Follower
from gateway_memory.sync.mending import Mender
from notifier import Announcer
from recall import Recaller, RecallError, Rows

if TYPE_CHECKING:
    from recall import GivenEncoder, TextEncoder

log = get_logger(__name__)

_EMBEDDING_BACKOFF_SECONDS: Final = 30.0
"""The pause after repeated failures of an embedding server, which may be restarting. Search is lexical meanwhile."""

_SHARED: Final = {"postgres": "gateway_memory.store.postgres.storage"}
"""The adapters of stores that machines share: by `store.backend`, the module whose `open_shared` opens one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage(Store):
    """The store of one open memory, its index, and what keeps the index equal to it.

    mender: mends the files that the follower finds damaged.
    """

    recaller: Recaller
    follower: Follower
    mender: Mender
    episode_follower: EpisodeFollower


async def open_storage(
    stack: AsyncExitStack, workspace: Path | None, runtime: Runtime, announcer: Announcer
) -> Storage:
    """Open the store, the index and its followers. The stack closes them.

    workspace: the folder, created if it is missing; None keeps everything in memory.
    announcer: announces edits by hand.

    Raises:
        WorkspaceError: the folder can't be created, read or written.
        StoreError: the journal can't be opened.
    """
    notify = runtime.settings.notify
    store, index = await open_ports(stack, workspace, runtime.settings, runtime.metrics)
    recaller = await _open_recaller(stack, index, runtime)
    announces = announcer if notify.enabled else None
    follower = Follower(runtime, store, recaller, announces)
    return Storage(
        **{field.name: getattr(store, field.name) for field in fields(store)},
        recaller=recaller,
        follower=follower,
        mender=Mender(runtime, store, follower),
        episode_follower=EpisodeFollower(store.episodes, recaller),
    )


async def open_ports(
    stack: AsyncExitStack, workspace: Path | None, settings: MemorySync, metrics: Metrics
) -> tuple[Store, Path | Sequence[Rows] | None]:
    """Open the store where the settings say, and return it with the place of the index: see `Recaller`."""
    notify = settings.notify
    sends, history = notify.enabled and notify.mqtt.enabled, notify.mqtt.history_events
    if adapter := _SHARED.get(settings.store.backend):
        spool = None if workspace is None else workspace / STATE_FOLDER / SPOOL_FILE
        dsn, shards = dsn_of(settings.store), shards_of(settings.store)
        try:
            shared = import_module(adapter)
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"store.backend is {settings.store.backend}, and {error.name} is missing: "
                f"{how_to_install(settings.store.backend)}"
            ) from error
        opened: tuple[Store, Sequence[Rows]] = await shared.open_shared(
            stack, dsn, settings.store, shards=shards, spool=spool, sends=sends, history=history, metrics=metrics
        )
        return opened

    def refused(error: OSError) -> None:
        log.warning("files.not_read", reason=error.strerror)
        metrics.fail(datetime.now(UTC), "files", error)

    store = await open_store(stack, workspace, sends=sends, history=history, refused=refused)
    return store, None if workspace is None else workspace / INDEX_FILE


async def open_store(
    stack: AsyncExitStack,
    workspace: Path | None,
    *,
    sends: bool = False,
    history: int = 1000,
    refused: Callable[[OSError], None] = lambda _: None,
) -> Store:
    """Open only the store.

    sends: events leave this process. history: the number of stored events of each origin.
    refused: called once for each file of a scope's folder that is not read.
    """
    opened = partial(open_sqlite, stack, sends=sends, history=history)
    if workspace is None:
        files = defaultdict[str, RecordsInMemory](RecordsInMemory)
        return await opened(IN_MEMORY, NoSlot(), DocumentsInMemory(), file_of=lambda scope, _: files[scope.key])
    state = workspace / STATE_FOLDER
    slot = Slot(state / "slots")
    stack.callback(slot.release)
    await compute(_prepare, workspace, state, slot)

    def file_of(scope: Scope, _: object) -> DiskRecords:
        return DiskRecords(workspace / scope.folder / SESSIONS_FILE, workspace)

    path = workspace / "journal.sqlite"
    documents = MarkdownFiles(workspace, state, refused)
    store = await opened(path, slot, documents, file_of=file_of)
    stack.callback(documents.close)
    await compute(_hide, path)
    slot.started()
    log.info("store.open", slot=slot.number)
    return store


def _prepare(workspace: Path, state: Path, slot: Slot) -> None:
    try:
        private_folder(state)
        next(workspace.iterdir(), None)
        slot.take()
    except OSError as error:
        reason = error.strerror or error
        raise WorkspaceError(
            f"{workspace}: {reason}; gateway-memory must be able to read and write this folder"
        ) from error


def _hide(database: Path) -> None:
    """Let this user alone read a database, and its write-ahead log, which has the mode that the new file had."""
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            database.with_name(f"{database.name}{suffix}").chmod(0o600)


def dsn_of(settings: StoreSettings) -> str:
    """Return the DSN of PostgreSQL. Raises ConfigError if the environment variable that the settings name isn't set."""
    return _dsn_in(settings.dsn_env, "dsnEnv")


def shards_of(settings: StoreSettings) -> list[str]:
    """Return the DSNs of the servers over which the index is spread. Raises ConfigError as `dsn_of` does."""
    return [_dsn_in(name, "shards") for name in settings.shards]


def _dsn_in(name: str, key: str) -> str:
    dsn = os.environ.get(name)
    if not dsn:
        raise ConfigError(
            f"agents.defaults.memorySync.store.{key}: the environment variable {name} is not set; "
            "it holds the connection string of PostgreSQL"
        )
    return dsn


def _given(make: "Callable[[], TextEncoder]") -> "GivenEncoder":
    from recall import GivenEncoder  # in the encoder's thread, which alone imports numpy

    return GivenEncoder(make())


async def _open_recaller(stack: AsyncExitStack, path: Path | Sequence[Rows] | None, runtime: Runtime) -> Recaller:
    breaker = Breaker(open_seconds=_EMBEDDING_BACKOFF_SECONDS)
    encoder = None if runtime.encoder is None else partial(_given, runtime.encoder)
    recaller = Recaller(path, runtime.settings.auto_recall, encoder=encoder, breaker=breaker, zone=runtime.zone)
    try:
        if await recaller.open():
            log.info("index.rebuilding")
    except RecallError as error:
        raise WorkspaceError(f"{error}; another process may have it locked") from error
    stack.push_async_callback(recaller.close)
    if isinstance(path, Path):
        await compute(_hide, path)
    return recaller
