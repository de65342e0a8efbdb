"""Announces every event of this process to every channel."""

from collections.abc import Callable, Sequence
from typing import Protocol

from gateway_memory.ground.logs import get_logger
from notifier.bus import Bus
from notifier.events import Event

log = get_logger(__name__)


class Channel(Protocol):
    """Something that hears of changes: the sessions of this process, MQTT, a webhook.

    early: it hears of an event once the Markdown is written, before the commit. After a crash in between it hears of it
    again. Other channels hear of an event after its commit. After a crash right behind it, a channel without a log of
    its own misses it.
    """

    @property
    def name(self) -> str: ...

    @property
    def early(self) -> bool: ...

    def announce(self, event: Event) -> None:
        """Take in an event. It is called on the event loop, and must not block."""


class BusChannel:
    """The sessions of this process.

    origin: if MQTT is on, this process's own origin: events of others arrive over MQTT. None takes all.
    """

    name = "bus"
    early = True

    def __init__(self, bus: Bus, *, origin: str | None) -> None:
        self._bus = bus
        self._origin = origin

    def announce(self, event: Event) -> None:
        if self._origin is None or event.origin == self._origin:
            self._bus.publish(event)


class Announcer:
    """Hands events to channels. A channel that fails is logged, and holds up no other. on_error: counts it by place."""

    def __init__(self, channels: Sequence[Channel], *, on_error: Callable[[str, BaseException], None]) -> None:
        self._channels = list(channels)
        self._on_error = on_error

    def add(self, channel: Channel) -> None:
        """Let a channel hear of what happens from now on."""
        self._channels.append(channel)

    def announce(self, event: Event) -> None:
        """Announce an event that is committed already to all channels."""
        self.written(event)
        self.committed(event)

    def written(self, event: Event) -> None:
        """Announce an event to the early channels, once its changes are in the Markdown."""
        self._tell(event, early=True)

    def committed(self, event: Event) -> None:
        """Announce an event to the other channels: the index and the journal have it too."""
        self._tell(event, early=False)

    def _tell(self, event: Event, *, early: bool) -> None:
        for channel in self._channels:
            if channel.early is early:
                try:
                    channel.announce(event)
                except Exception as error:  # noqa: BLE001 - the other channels and the memory itself go on
                    log.error("notify.channel_failed", channel=channel.name, error=type(error).__name__)
                    self._on_error("notify", error)
