"""Tells the other sessions what one of them has learnt: by a bus in the process, by MQTT between processes."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from notifier.announcer import Announcer, BusChannel, Channel
    from notifier.bus import Bus, Inbox, Subscription
    from notifier.mqtt import Credentials, LinkError, connect, credentials
    from notifier.notifier import Notifier
    from notifier.settings import MqttSettings, NotifierSettings
    from notifier.types import (
        Event,
        EventLog,
        Host,
        MemoryChange,
        NotifierError,
        NotifierStatus,
        decode,
        encode,
        journal_of,
        split,
    )
    from notifier.wire import DroppedError, EventMessage, Wire, read_secrets

__all__ = [
    "Announcer",
    "Bus",
    "BusChannel",
    "Channel",
    "Credentials",
    "DroppedError",
    "Event",
    "EventLog",
    "EventMessage",
    "Host",
    "Inbox",
    "LinkError",
    "MemoryChange",
    "MqttSettings",
    "Notifier",
    "NotifierError",
    "NotifierSettings",
    "NotifierStatus",
    "Subscription",
    "Wire",
    "connect",
    "credentials",
    "decode",
    "encode",
    "journal_of",
    "read_secrets",
    "split",
]

_HOMES = {
    "Announcer": "announcer",
    "Bus": "bus",
    "BusChannel": "announcer",
    "Channel": "announcer",
    "Credentials": "mqtt",
    "DroppedError": "wire",
    "EventLog": "types",
    "EventMessage": "wire",
    "Host": "types",
    "Inbox": "bus",
    "LinkError": "mqtt",
    "MqttSettings": "settings",
    "Notifier": "notifier",
    "NotifierSettings": "settings",
    "NotifierStatus": "types",
    "Subscription": "bus",
    "Wire": "wire",
    "connect": "mqtt",
    "credentials": "mqtt",
    "decode": "types",
    "encode": "types",
    "read_secrets": "wire",
    "split": "types",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: what MQTT needs is loaded only where it is switched on."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES.get(name, 'types')}"), name)
    globals()[name] = value
    return value
