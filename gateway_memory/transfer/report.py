"""The result of an import."""

from collections import Counter
from dataclasses import dataclass, field

from gateway_memory.transfer.items import Problem

__all__ = ["ImportReport"]


@dataclass(slots=True, kw_only=True)
class ImportReport:
    """The result of an import.

    counts: memories.added, .known, .forgotten, .empty, .shortened, .to_log (MEMORY.md was full), .waiting (for a
    person); reviews.added, .known; summaries.added, .known; notes.added, .known; episodes.added, .known;
    ignored.<kind>.
    """

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
