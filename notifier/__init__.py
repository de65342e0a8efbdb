"""Tells the other sessions what one of them has learnt.

The modules for MQTT (`notifier.notifier`, `notifier.protocol.wire`, `notifier.transport`) are imported only
where MQTT is switched on.
"""

from notifier.announcer import Announcer, BusChannel, Channel
from notifier.bus import Bus
from notifier.delivery.subscription import Subscription
from notifier.inbox import Inbox
from notifier.ports import NotifierStatus
from notifier.protocol.codec import decode, encode, split
from notifier.settings import MqttSettings, NotifierSettings
from notifier.types import Event, MemoryChange, NotifierError, journal_of

__all__ = [
    "Announcer",
    "Bus",
    "BusChannel",
    "Channel",
    "Event",
    "Inbox",
    "MemoryChange",
    "MqttSettings",
    "NotifierError",
    "NotifierSettings",
    "NotifierStatus",
    "Subscription",
    "decode",
    "encode",
    "journal_of",
    "split",
]
