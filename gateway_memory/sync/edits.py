"""Lines that a person or a tool wrote or deleted: announced once, by whichever process notices them first."""

from dataclasses import dataclass
from typing import Final

from gateway_memory.errors import StoreError
from gateway_memory.observability.logger import get_logger
from gateway_memory.runtime import Runtime
from gateway_memory.store.markdown import one_line
from gateway_memory.store.ports.notices import Notices
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
    """Announces what the follower finds."""

    def __init__(self, runtime: Runtime, notices: Notices, announcer: Announcer) -> None:
        self._runtime = runtime
        self._notices = notices
        self._announcer = announcer

    async def found(self, scope: str, edited: Edited) -> None:
        """Announce edits that are not ours. The index has followed them already, so a failure here holds nothing up."""
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
            events = await self._notices.notice(scope, changes, now)
        except StoreError as error:
            log.warning("edits.not_announced", error=type(error).__name__, lines=len(changes))
            self._runtime.on_error("edits", error)
            return
        for event in events:
            self._announcer.announce(event)
