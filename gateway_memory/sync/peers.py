"""Follows what other processes write into the same PostgreSQL: their events, and turns that they leave."""

from collections.abc import Callable
from typing import Final

from gateway_memory.errors import StoreError
from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.runtime import Runtime
from gateway_memory.store.journal.store import Store
from gateway_memory.store.journal.turns import slot_name
from notifier import Bus, Event

log = get_logger(__name__)


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
