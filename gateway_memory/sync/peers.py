"""What others do: files as they are saved, what other processes write into PostgreSQL, and how each process is."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from gateway_memory.errors import ConfigError, StoreError, how_to_install
from gateway_memory.ground import get_logger
from gateway_memory.ground.runtime import Failure, Runtime
from gateway_memory.scope import Scope
from gateway_memory.store.journal.health import Health, ProcessState
from gateway_memory.store.journal.store import Store
from gateway_memory.store.journal.turns import slot_name
from notifier import Bus, Event

log = get_logger(__name__)

# Notice edits of files as they are saved, by the watchfiles package (the extra `watch`).

_SETTLE_MS: Final = 200
"""Editors save in several steps. The files are read this long after the last step."""


def check_watching() -> None:
    """Raise ConfigError if the package is missing."""
    if find_spec("watchfiles") is None:
        raise ConfigError(f"incrementalSync.watch needs the package watchfiles: {how_to_install('watch')}")


async def watch(
    workspace: Path, scopes: Callable[[], Iterable[Scope]], refresh: Callable[[Scope], Awaitable[object]]
) -> None:
    """Refresh the index whenever a file is saved, until cancelled. scopes: returns the scopes of the sessions."""
    from watchfiles import Change, DefaultFilter, awatch

    class Notes(DefaultFilter):
        def __call__(self, change: Change, path: str) -> bool:
            return path.endswith(".md") and super().__call__(change, path)

    async for changes in awatch(workspace, watch_filter=Notes(), debounce=_SETTLE_MS):
        paths = [Path(path) for _, path in changes]
        for scope in list(scopes()):
            folder = workspace / scope.folder
            if any(path.parent == folder or path.is_relative_to(folder / "memory") for path in paths):
                try:
                    await refresh(scope)
                except Exception as error:  # noqa: BLE001 - the next message retries
                    log.warning("watch.refresh_failed", error=type(error).__name__)


# Follow what other processes write into the same PostgreSQL: their events, and turns that they leave to this process.

_LOOK_SECONDS: Final = 5.0
_AT_ONCE: Final = 500


class Peers:
    """Publishes the events of other processes to the sessions of this one, each once and in the order of its origin.

    They include events of this process whose plan another one has completed. `announce` tells it which events the
    sessions have already.

    Sessions read what came before they were opened from the store, so this begins with what is new.

    Events of scopes of which nobody here hears are passed over, and a notification of one wakes nobody.

    bus: delivers events to the sessions. by_mqtt: whether other processes' events arrive over MQTT.
    wake: lets the turns of this process be looked for.
    """

    name = "peers"
    early = True

    def __init__(
        self,
        runtime: Runtime,
        store: Store,
        bus: Bus,
        wake: Callable[[], None],
        *,
        by_mqtt: bool,
    ) -> None:
        self._runtime = runtime
        self._event_log = store.event_log
        self._wait_notified = store.wait_notified
        self._bus = bus
        self._wake = wake
        self._by_mqtt = by_mqtt
        self._upto: dict[str, int] = {}
        self._heard: set[tuple[str, int]] = set()
        """Events, by origin and number, that the sessions have and that the last look did not see."""

    def announce(self, event: Event) -> None:
        """Note that the sessions of this process have an event: its own, or one that it completed for another."""
        if self._follows(event.origin) and event.number > self._upto.get(event.origin, 0):
            self._heard.add((event.origin, event.number))

    def _follows(self, origin: str) -> bool:
        return origin == self._event_log.instance or not self._by_mqtt

    async def start(self) -> None:
        """Begin after the last completed event of each origin. May raise StoreError.

        What a dead process has left is published once its plan is completed.
        """
        self._upto = await self._event_log.completed()

    @property
    def _slot_name(self) -> str:
        return slot_name(int(self._event_log.instance.partition(".")[2]))

    def _names(self) -> set[str]:
        return {*self._bus.scopes(), self._slot_name}

    async def run(self) -> None:
        """Look at each notification that concerns this process, and every five seconds, until cancelled."""
        assert self._wait_notified is not None
        succeeded = True
        while True:
            names = await self._wait_notified(_LOOK_SECONDS, self._names)
            if names and self._slot_name in names:
                self._wake()
            try:
                if names is None or names - {self._slot_name}:
                    await self.look()
                succeeded = True
            except StoreError as error:
                if not succeeded:
                    continue
                succeeded = False
                log.warning("peers.not_seen", error=type(error).__name__)
                self._runtime.on_error("peers", error)

    async def look(self) -> None:
        """Publish what is new. Raises StoreError; what was not published is at the next look."""
        for origin, head in (await self._event_log.sent()).items():
            while self._follows(origin) and self._upto.get(origin, 0) < head:
                after, scopes = self._upto.get(origin, 0), self._bus.scopes()
                events = await self._event_log.ready(origin, after, _AT_ONCE, scopes)
                if self._bus.scopes() - scopes:  # somebody began to listen meanwhile, and hears of these too
                    continue
                if not events:  # the plan of the next one is not complete
                    break
                for event in events:
                    if (origin, event.number) not in self._heard:
                        self._bus.publish(event)
                    self._heard.discard((origin, event.number))
                    self._upto[origin] = event.number


# Keep the health of a workspace in its journal, so that every process reports the same.

_HEALTH_SECONDS: Final = 2.0
_NUMBERS_SECONDS: Final = 60.0
"""Counters alone are written so rarely. What a person acts on is written at the next look."""
_KEPT_SECONDS: Final = 7 * 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceHealth:
    """The processes that have the workspace open, by their slots; what failed in the last seven days, newest first.

    current: this process. A command in a shell is gone before it counts among the processes.
    """

    processes: dict[int, ProcessState]
    failures: list[Failure]
    current: ProcessState

    @property
    def states(self) -> list[ProcessState]:
        """The processes that work on the memory: those that have it open, or else this one."""
        return list(self.processes.values()) or [self.current]


class HealthKeeper:
    """Notes how this process is when that has changed, beside its work. state: returns how it is now."""

    def __init__(self, runtime: Runtime, store: Health, state: Callable[[], ProcessState]) -> None:
        self._runtime = runtime
        self._store = store
        self._state = state
        self._noted: ProcessState | None = None
        self._noted_at = 0.0

    async def run(self) -> None:
        """Note changes until cancelled. A process that is gone at once leaves none."""
        while True:
            await asyncio.sleep(_HEALTH_SECONDS)
            state, now = self._state(), asyncio.get_running_loop().time()
            waited = now - self._noted_at >= _NUMBERS_SECONDS
            if state != self._noted and (waited or self._noted is None or _steady(state) != _steady(self._noted)):
                if await self._note(state):
                    self._noted, self._noted_at = state, now
            else:
                await self._note(None)

    async def close(self) -> None:
        """Note what failed last, and that this process is gone."""
        await self._note(None)
        if self._noted is not None:
            with suppress(StoreError):  # its lease ends too
                await self._store.leave()

    async def read(self) -> WorkspaceHealth:
        """Return the health of the workspace.

        Raises:
            StoreError: the journal could not be read.
        """
        await self._note(None)
        current = self._state()
        processes = await self._store.processes()
        if self._store.slot in processes:
            processes[self._store.slot] = current
        failures = await self._store.failures(since=self._runtime.timestamp() - _KEPT_SECONDS)
        return WorkspaceHealth(processes=processes, failures=failures, current=current)

    async def _note(self, state: ProcessState | None) -> bool:
        """Store a state and what has failed since the last note; return False where that must be tried again."""
        failures = self._runtime.metrics.take_failures()
        if state is None and not failures:
            return True
        try:
            await self._store.note(state, failures, since=self._runtime.timestamp() - _KEPT_SECONDS)
        except BaseException as error:
            self._runtime.metrics.put_back(failures)
            if isinstance(error, StoreError):
                return False
            raise
        return True


def _steady(state: ProcessState) -> ProcessState:
    """Return a state without its counters."""
    mqtt = state.mqtt and replace(state.mqtt, sent=0, received=0, dropped={})
    return replace(state, updates=0, sessions_waiting=0, mqtt=mqtt)
