"""Lines that a person or a tool wrote into the files: announced once, by whichever process notices them first."""

import hashlib
import sqlite3
from collections.abc import Callable, Sequence
from typing import Final

import structlog

from gateway_memory.store.event_log import EventLog
from gateway_memory.store.markdown import one_line
from notifier import Change, Event, split
from recall import Stored

__all__ = ["Edits"]

log = structlog.get_logger()

_ANNOUNCED_AT_ONCE: Final = 64
"""Of a file that somebody filled with a thousand lines the last ones are told; recall finds the rest."""


class Edits:
    """`publish` tells the sessions of this process, `announce` the other processes. clock: epoch seconds."""

    def __init__(
        self,
        event_log: EventLog,
        *,
        publish: Callable[[Event], None],
        announce: Callable[[Event], None],
        clock: Callable[[], float],
        fail: Callable[[str, BaseException], None],
    ) -> None:
        self._ledger = event_log
        self._publish = publish
        self._announce = announce
        self._clock = clock
        self._fail = fail

    async def found(self, scope: str, rows: Sequence[Stored]) -> None:
        """Announce lines that we did not write. The index has them already, so a failure here holds nothing up."""
        now = self._clock()
        lines = [(row.entry.id, one_line(row.entry.text)) for row in rows[-_ANNOUNCED_AT_ONCE:]]
        changes = tuple(Change(id=identity, text=text, at=now) for identity, text in lines)
        digests = {identity: hashlib.blake2b(text.encode(), digest_size=8).hexdigest() for identity, text in lines}
        try:
            events = await self._ledger.notice(list(split(Event(scope=scope, at=now, changes=changes))), digests, now)
        except sqlite3.Error as error:
            log.warning("edits.not_announced", error=type(error).__name__, lines=len(lines))
            self._fail("edits", error)
            return
        for event in events:
            self._publish(event)
            self._announce(event)
