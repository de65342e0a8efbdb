"""What others change: files as they are saved, and what other hosts write into the same store."""

from collections.abc import Awaitable, Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from gateway_memory.errors import ConfigError, StoreError, how_to_install
from gateway_memory.runtime.ground import get_logger
from gateway_memory.runtime.runtime import Runtime
from gateway_memory.scope import Scope
from gateway_memory.store.journal.event_log import EventLog
from gateway_memory.store.journal.sql import WaitNotified
from notifier import Event

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
            if any(path.parent in (folder, folder / "memory") for path in paths):
                try:
                    await refresh(scope)
                except Exception as error:  # noqa: BLE001 - the next message retries
                    log.warning("watch.refresh_failed", error=type(error).__name__)


# Follow what other hosts write into the same store: their events, and turns that they leave to this host.

_LOOK_SECONDS: Final = 5.0
_AT_ONCE: Final = 500


class Peers:
    """Publishes the events of other hosts to the sessions of this one, each once and in the order of its origin.

    Those of this host are among them where another host has completed what this one had begun. It is a `Channel` too,
    to know which events the sessions have already.

    Sessions read what came before they were opened from the store, so this begins with what is new.

    publish: delivers an event to the sessions. by_others: whether the events of other hosts come from elsewhere.
    wake: lets the turns of this host be looked for.
    """

    name = "peers"
    early = True

    def __init__(
        self,
        runtime: Runtime,
        event_log: EventLog,
        wait_notified: WaitNotified,
        publish: Callable[[Event], None],
        wake: Callable[[], None],
        *,
        by_others: bool = False,
    ) -> None:
        self._runtime = runtime
        self._event_log = event_log
        self._wait_notified = wait_notified
        self._publish = publish
        self._wake = wake
        self._by_others = by_others
        self._upto: dict[str, int] = {}
        self._heard: set[tuple[str, int]] = set()
        """Events, by origin and number, that the sessions have and that the last look did not see."""

    def announce(self, event: Event) -> None:
        """Note that the sessions of this host have an event: its own, or one that it completed for another host."""
        if self._follows(event.origin) and event.number > self._upto.get(event.origin, 0):
            self._heard.add((event.origin, event.number))

    def _follows(self, origin: str) -> bool:
        return origin == self._event_log.instance or not self._by_others

    async def start(self) -> None:
        """Begin behind what each host has completed: a host that died has left the rest. Raises StoreError."""
        self._upto = await self._event_log.completed()

    async def run(self) -> None:
        """Look at each notification of another host, and every five seconds, until cancelled."""
        succeeded = True
        while True:
            await self._wait_notified(_LOOK_SECONDS)
            try:
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
        self._wake()
        for origin, head in (await self._event_log.sent()).items():
            while self._follows(origin) and self._upto.get(origin, 0) < head:
                events = await self._event_log.ready(origin, self._upto.get(origin, 0), _AT_ONCE)
                if not events:  # the plan of the next one is not complete
                    break
                for event in events:
                    if (origin, event.number) not in self._heard:
                        self._publish(event)
                    self._heard.discard((origin, event.number))
                    self._upto[origin] = event.number
