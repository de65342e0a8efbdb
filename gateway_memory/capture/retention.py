"""Deletes expired data, also while a process runs for months."""

import asyncio
from typing import Final

from gateway_memory.errors import StoreBusyError, StoreError
from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.runtime import Runtime
from gateway_memory.sync.storage import Storage

log = get_logger(__name__)


_EVERY_SECONDS: Final = 3600.0
_LOOKS_SECONDS: Final = 60.0
_DAY_SECONDS: Final = 86400.0


class Retention:
    """Tidies one store once an hour by the runtime's clock, which may be adjusted."""

    def __init__(self, runtime: Runtime, storage: Storage) -> None:
        self._runtime = runtime
        self._storage = storage
        self._last: float | None = None
        self._tidying = asyncio.Lock()

    async def keep(self) -> None:
        """Tidy if it is due. A failure is recorded, and the next call retries."""
        async with self._tidying:
            storage, settings, now = self._storage, self._runtime.settings, self._runtime.timestamp()
            if self._last is not None and abs(now - self._last) < _EVERY_SECONDS:
                return
            notify, days = settings.notify, settings.episodes.keep_days
            sent_seconds = notify.mqtt.expiry_seconds if notify.enabled and notify.mqtt.enabled else 0
            try:
                await storage.turns.tidy(before=now - settings.observations.keep_days * _DAY_SECONDS, now=now)
                if days and await storage.episodes.delete_before(now - days * _DAY_SECONDS):
                    storage.episode_follower.look_again(await storage.episodes.unindexed_scopes())
                await storage.event_log.tidy(before=now - max(notify.pending_max_age_seconds, sent_seconds))
            except StoreBusyError:  # another process is at it
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
            await asyncio.sleep(_LOOKS_SECONDS)
