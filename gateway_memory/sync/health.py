"""Keeps the health of a workspace in its journal, so that every process reports the same."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from gateway_memory.errors import StoreError
from gateway_memory.ground.metrics import Failure
from gateway_memory.ground.runtime import Runtime
from gateway_memory.store.journal.health import Health, ProcessState

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
