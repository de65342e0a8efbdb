"""Tells the other sessions what one of them has learnt: by a bus in the process, by MQTT between processes."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from notifier.announcer import Announcer, BusChannel, Channel
    from notifier.bus import Bus
    from notifier.delivery.subscription import Subscription
    from notifier.inbox import Inbox
    from notifier.notifier import Notifier
    from notifier.ports import EventLog, Host, NotifierStatus
    from notifier.protocol.codec import decode, encode, split
    from notifier.protocol.messages import DroppedError, EventMessage
    from notifier.protocol.wire import Wire, read_secrets
    from notifier.settings import MqttSettings, NotifierSettings
    from notifier.transport.credentials import Credentials, credentials
    from notifier.transport.errors import LinkError
    from notifier.transport.mqtt import connect
    from notifier.types import Event, MemoryChange, NotifierError, journal_of

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
    "Credentials": "transport.credentials",
    "DroppedError": "protocol.messages",
    "EventLog": "ports",
    "EventMessage": "protocol.messages",
    "Host": "ports",
    "Inbox": "inbox",
    "LinkError": "transport.errors",
    "MqttSettings": "settings",
    "Notifier": "notifier",
    "NotifierSettings": "settings",
    "NotifierStatus": "ports",
    "Subscription": "delivery.subscription",
    "Wire": "protocol.wire",
    "connect": "transport.mqtt",
    "credentials": "transport.credentials",
    "decode": "protocol.codec",
    "encode": "protocol.codec",
    "read_secrets": "protocol.wire",
    "split": "protocol.codec",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: what MQTT needs is loaded only where it is switched on."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES.get(name, 'types')}"), name)
    globals()[name] = value
    return value
