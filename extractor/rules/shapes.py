"""The form that a rule has in both languages."""

import re
from dataclasses import dataclass, field

from extractor.types import Category, Importance, MemoryType

__all__ = ["Shape"]


@dataclass(frozen=True, slots=True)
class Shape:
    """A statement worth keeping: what it is, how much it weighs, and how its clause begins."""

    category: Category
    type: MemoryType
    importance: Importance
    confidence: float
    source: str
    pattern: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pattern", re.compile(self.source, re.IGNORECASE))
