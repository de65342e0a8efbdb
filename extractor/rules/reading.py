"""What a clause is read as, by the tables or by a shape: the sum of its weights decides whether it is kept."""

from dataclasses import dataclass
from typing import Final

from extractor.types import Importance, MemoryType

KEPT: Final = 3.0
"""The sum of weights from which a clause is kept."""
KEPT_ALONE: Final = 2.5
"""The same for a statement in a message that says little else, and so nothing of a task."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A clause that says something lasting: its category, type and importance, and how sure its reader is, 0..1.

    leans: it names its subject by a pronoun or not at all, so that a clause before it tells whom it is about.
    """

    category: str
    type: MemoryType
    importance: Importance
    confidence: float
    leans: bool = False


def statement_of(category: str, score: float, *, of_work: bool, of_a_thing: bool, leans: bool) -> Reading:
    """Return a statement that its reader gives this score."""
    return Reading(
        category,
        "O" if category == "preference" else "W" if of_work or category == "decision" else "B",
        "normal" if of_a_thing else "high",
        min(0.9, 0.7 + 0.05 * max(0.0, score - KEPT)),
        leans,
    )


def wish_of(score: float) -> Reading | None:
    """Return a standing wish that its reader gives this score; None where it is too low."""
    return Reading("instruction", "O", "high", min(0.9, 0.75 + 0.04 * (score - KEPT))) if score >= KEPT else None
