"""Lines that a person or a tool wrote or deleted: announced once, by whichever process notices them first."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from gateway_memory.observability.logger import get_logger
from gateway_memory.store.journal.event_log import EventLog
from gateway_memory.store.markdown import one_line
from notifier import Announcer, MemoryChange
from recall import Stored

__all__ = ["Edited", "Edits"]

log = get_logger(__name__)

_ANNOUNCED_AT_ONCE: Final = 64
"""Of a file that somebody filled with a thousand lines the last ones are told; recall finds the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """Lines that were added or removed, or whose words changed (they count as added). `source` wrote `file`."""

    added: tuple[Stored, ...] = ()
    removed: tuple[Stored, ...] = ()
    file: str = ""
    source: str = ""


class Edits:
    """Announces what the follower finds. clock: epoch seconds."""

    def __init__(
        self,
        event_log: EventLog,
        *,
        announcer: Announcer,
        clock: Callable[[], float],
        fail: Callable[[str, BaseException], None],
    ) -> None:
        self._event_log = event_log
        self._announcer = announcer
        self._clock = clock
        self._fail = fail

    async def found(self, scope: str, edited: Edited) -> None:
        """Announce edits that are not ours. The index has followed them already, so a failure here holds nothing up."""
        now = self._clock()
        changes = [
            MemoryChange(
                id=row.entry.id,
                text=one_line(row.entry.text),
                at=now,
                action="removed" if gone else "added",
                source=edited.source if row.file == edited.file else "",
                by_hand=True,
            )
            for gone, rows in ((True, edited.removed), (False, edited.added))
            for row in rows[-_ANNOUNCED_AT_ONCE:]
        ]
        try:
            events = await self._event_log.notice(scope, changes, now)
        except sqlite3.Error as error:
            log.warning("edits.not_announced", error=type(error).__name__, lines=len(changes))
            self._fail("edits", error)
            return
        for event in events:
            self._announcer.announce(event)
