"""The form of a rule, in both languages."""

import re
from dataclasses import dataclass, field

from extractor.types import Importance, MemoryType

from .reading import Reading

__all__ = ["Shape"]


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of statement to keep: its category, type, importance and confidence, and the pattern of its clause."""

    category: str
    type: MemoryType
    importance: Importance
    confidence: float
    source: str
    reading: Reading = field(init=False, repr=False, compare=False)
    pattern: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pattern", re.compile(self.source, re.IGNORECASE))
        object.__setattr__(self, "reading", Reading(self.category, self.type, self.importance, self.confidence))
