"""Delete expired data, also while a process runs for months."""

import asyncio
from contextlib import suppress
from typing import Final

from gateway_memory.errors import StoreBusyError, StoreError
from gateway_memory.observability.logger import get_logger
from gateway_memory.runtime.runtime import Runtime
from gateway_memory.sync.storage import Storage

__all__ = ["Retention"]

log = get_logger(__name__)

_EVERY_SECONDS: Final = 3600.0
_LOOKS_SECONDS: Final = 60.0
_DAY_SECONDS: Final = 86400.0


class Retention:
    """Tidies one store once an hour by the runtime's clock, which may be adjusted."""

    def __init__(self, runtime: Runtime, storage: Storage) -> None:
        settings = runtime.settings
        notify = settings.notify
        self._runtime = runtime
        self._storage = storage
        self._episodes_seconds = settings.episodes.keep_days * _DAY_SECONDS
        self._observations_seconds = settings.observations.keep_days * _DAY_SECONDS
        self._events_seconds = max(
            notify.pending_max_age_seconds, notify.mqtt.expiry_seconds if notify.enabled and notify.mqtt.enabled else 0
        )
        self._last: float | None = None
        self._wake = asyncio.Event()
        self._tidying = asyncio.Lock()

    def look(self) -> None:
        """Tidy in the background if it is due, without delaying the caller."""
        if self._due():
            self._wake.set()

    async def keep(self) -> None:
        """Tidy if it is due. A failure is recorded, and the next call retries."""
        async with self._tidying:
            if not self._due():
                return
            now = self._runtime.timestamp()
            try:
                await self._storage.turns.tidy(before=now - self._observations_seconds, now=now)
                if self._episodes_seconds and await self._storage.episodes.delete_before(now - self._episodes_seconds):
                    self._storage.episode_follower.look_again(await self._storage.episodes.unindexed_scopes())
                await self._storage.event_log.tidy(before=now - self._events_seconds)
            except StoreBusyError:  # another host is at it
                log.info("journal.tidied_elsewhere")
            except StoreError as error:
                log.warning("journal.not_tidied", error=type(error).__name__)
                self._runtime.on_error("retention", error)
                return
            self._last = now

    async def run(self) -> None:
        """Tidy whenever it is due, until cancelled."""
        while True:
            await self.keep()
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOKS_SECONDS):
                    await self._wake.wait()
            self._wake.clear()

    def _due(self) -> bool:
        return self._last is None or abs(self._runtime.timestamp() - self._last) >= _EVERY_SECONDS
