"""Who must know: tells the other sessions what one of them has learnt."""

from notifier.bus import Bus
from notifier.codec import decode, encode
from notifier.inbox import Inbox
from notifier.settings import NotifierSettings
from notifier.types import Change, Event, NotifierError

__all__ = ["Bus", "Change", "Event", "Inbox", "NotifierError", "NotifierSettings", "decode", "encode"]
