"""What a clause is read as, by the tables or by a shape: the sum of its weights decides whether it is kept."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from extractor.types import Importance, MemoryType

__all__ = ["KEPT", "KEPT_ALONE", "Reading", "Shape", "sets_of", "table_of", "weights_of"]


KEPT: Final = 3.0
"""The sum of weights from which a clause is kept."""
KEPT_ALONE: Final = 2.5
"""The same for a statement in a message that says little else, and so nothing of a task."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A clause that says something lasting: its category, type and importance, and how sure its reader is, 0..1."""

    category: str
    type: MemoryType
    importance: Importance
    confidence: float


def table_of(text: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield each line of a table, "head: word, word", as the words of its head and its entries."""
    for line in text.strip().splitlines():
        head, _, entries = line.partition(":")
        yield head.split(), [entry.strip() for entry in entries.split(",") if entry.strip()]


def weights_of(text: str) -> tuple[dict[str, str], dict[str, float]]:
    """Read a table of "class weight: word, word". Returns the class of each word, and the weight of each class."""
    classes: dict[str, str] = {}
    weights: dict[str, float] = {}
    for (name, weight), words in table_of(text):
        classes = dict.fromkeys(words, name) | classes  # a word's first class holds
        weights[name] = float(weight)
    return classes, weights


def sets_of(text: str) -> dict[str, frozenset[str]]:
    """Read a table of "kind: word, word" as sets."""
    return {" ".join(head): frozenset(words) for head, words in table_of(text)}


# The form of a rule, in both languages.


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
