"""Announce lines that a person or a tool wrote or deleted. The first process that notices them announces them once."""

from dataclasses import dataclass
from typing import Final

from gateway_memory.errors import StoreError
from gateway_memory.observability.logger import get_logger
from gateway_memory.runtime.runtime import Runtime
from gateway_memory.store.journal.event_log import EventLog
from gateway_memory.store.markdown import one_line
from notifier import Announcer, MemoryChange
from recall import Stored

__all__ = ["Edited", "Edits"]

log = get_logger(__name__)

_ANNOUNCED_AT_ONCE: Final = 64
"""The maximum number of lines to announce at once: the last ones of a large edit. Recall finds the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """Lines that were added or removed. A line with changed text counts as added. `source` wrote `file`."""

    added: tuple[Stored, ...] = ()
    removed: tuple[Stored, ...] = ()
    file: str = ""
    source: str = ""


class Edits:
    """Announces the edits that the follower finds."""

    def __init__(self, runtime: Runtime, event_log: EventLog, announcer: Announcer) -> None:
        self._runtime = runtime
        self._event_log = event_log
        self._announcer = announcer

    async def found(self, scope: str, edited: Edited) -> None:
        """Announce edits by hand. The index has them already, so a failure is only logged."""
        now = self._runtime.timestamp()
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
        except StoreError as error:
            log.warning("edits.not_announced", error=type(error).__name__, lines=len(changes))
            self._runtime.on_error("edits", error)
            return
        for event in events:
            self._announcer.announce(event)
