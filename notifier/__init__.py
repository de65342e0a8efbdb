"""Tells the other sessions what one of them has learnt: by a bus in the process, by MQTT between processes."""

from typing import TYPE_CHECKING

from gateway_memory.runtime.ground import lazy

if TYPE_CHECKING:
    from notifier.events import (
        Announcer,
        Bus,
        BusChannel,
        Channel,
        Event,
        EventLog,
        Host,
        Inbox,
        MemoryChange,
        NotifierError,
        NotifierStatus,
        Subscription,
        decode,
        encode,
        journal_of,
        split,
    )
    from notifier.mqtt import Credentials, LinkError, connect, credentials
    from notifier.notifier import Notifier
    from notifier.settings import MqttSettings, NotifierSettings
    from notifier.wire import DroppedError, EventMessage, Wire, read_secrets

_HOMES = {
    "mqtt": "Credentials LinkError connect credentials",
    "notifier": "Notifier",
    "settings": "MqttSettings NotifierSettings",
    "wire": "DroppedError EventMessage Wire read_secrets",
    "events": (
        "Announcer Bus BusChannel Channel Event EventLog Host Inbox MemoryChange NotifierError NotifierStatus "
        "Subscription decode encode journal_of split"
    ),
}
"""The public names by the module that has them."""

__all__ = [name for names in _HOMES.values() for name in names.split()]
__getattr__ = lazy(__name__, _HOMES)  # what MQTT needs is loaded only where it is switched on
