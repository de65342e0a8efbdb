"""One remembered line, with everything that is known of it: what is stored, exported, imported and shown."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any, Final, Literal

from extractor import traits_of
from gateway_memory.store.markdown import MemoryType

__all__ = ["RECORD_FIELDS", "SAID", "MemoryRecord"]

SAID: Final = "said"
"""The category of what was said and asked to be forgotten, and was never a memory: it stands in no document."""


_NOT_EXPORTED: Final = ("session_key", "session_id", "turn", "quote")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRecord:
    """A memory. A new field needs a default: records that were written before have none of it.

    at: when it was said, in epoch seconds. turn: the number of the turn that it was read from, 0 where it was from
    none. expires: the last day (YYYY-MM-DD) on which it holds, "" where it has no end. quote: the user's own words that
    a model read it from, "" where none did.
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
    turn: int = 0
    expires: str = ""
    quote: str = ""

    @property
    def announced(self) -> bool:
        """Whether other sessions hear of it: not of stage summaries, nor of what was never a memory."""
        return self.type != "S" and self.category != SAID and traits_of(self.category).announced

    @property
    def distilled(self) -> bool:
        """Whether it may move to MEMORY.md, once it has earned it."""
        return self.type != "S" and traits_of(self.category).distilled

    def to_json(self) -> dict[str, Any]:
        """Return the record as a mapping that JSON can hold."""
        return asdict(self)

    def exported(self) -> dict[str, Any]:
        """Return what an export tells of it: every field but those that mean something in this store alone."""
        row = {name: value for name, value in asdict(self).items() if name not in _NOT_EXPORTED}
        at = datetime.fromtimestamp(self.at, UTC).isoformat()
        return {**row, "entities": list(self.entities), "at": at, "session": self.session_key}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "MemoryRecord":
        """Return the record that `to_json` made a mapping of, also by an earlier version.

        Raises:
            ValueError, TypeError: it is no such mapping.
        """
        record = cls(**{**raw, "entities": tuple(raw["entities"])})
        if not isinstance(raw["text"], str) or not isinstance(raw["at"], int | float):
            raise TypeError("a memory of another shape")
        return record


RECORD_FIELDS: Final = tuple(field.name for field in fields(MemoryRecord))
