"""A memory as the journal has it."""

from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any, Final, Literal

from extractor import traits_of
from gateway_memory.store.markdown import MemoryType

SAID: Final = "said"
"""The category of text that the user said and asked to forget, but that was never a memory. No document contains it."""
EXCHANGE: Final = "exchange"
"""The category of a turn that was forgotten as a whole. Its text only names the turn."""
TALK: Final = "talk"
"""The category of a session that was forgotten as a whole. Its text is the session's id."""
UNWRITTEN: Final = frozenset({SAID, EXCHANGE, TALK})
_NOT_EXPORTED: Final = ("session_key", "session_id", "turn", "quote")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRecord:
    """A memory. A new field needs a default, since older stored records lack it.

    at: when it was said, in epoch seconds.
    cues: words and short questions by which somebody may ask for it; they are searched, and never told.
    turn: the number of the turn that it was extracted from, or 0.
    expires: the last day (YYYY-MM-DD) on which it holds, or "".
    quote: the user's own words from which a model extracted it, or "".
    outdates: the id of an older memory that may no longer hold since this one was said, or "".
    speaker: in a room, the key of the scope of whoever said it, or "". The text begins with their name.
    annotations: what comments of its line say, as in OpenClaw's files. Its document alone keeps them.
    """

    id: str
    text: str
    file: str
    at: float
    session_key: str = ""
    session_id: str = ""
    type: MemoryType = "W"
    category: str = ""
    importance: Literal["high", "normal"] = "normal"
    confidence: float = 1.0
    entities: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()
    turn: int = 0
    expires: str = ""
    quote: str = ""
    outdates: str = ""
    speaker: str = ""
    annotations: tuple[str, ...] = ()

    @property
    def announced(self) -> bool:
        """Whether other sessions are notified of it. Stage summaries and text that was never a memory are excluded."""
        return self.type != "S" and self.category not in UNWRITTEN and traits_of(self.category).announced

    @property
    def distilled(self) -> bool:
        """Whether it may move to MEMORY.md if it qualifies."""
        return self.type != "S" and traits_of(self.category).distilled

    def exported(self) -> dict[str, Any]:
        """Return the record for an export: every field except those that are only meaningful in this store."""
        row = {name: value for name, value in asdict(self).items() if name not in _NOT_EXPORTED}
        at = datetime.fromtimestamp(self.at, UTC).isoformat()
        lists = {name: list(getattr(self, name)) for name in ("entities", "cues", "annotations")}
        return {**row, **lists, "at": at, "session": self.session_key}


RECORD_FIELDS: Final = tuple(field.name for field in fields(MemoryRecord))
