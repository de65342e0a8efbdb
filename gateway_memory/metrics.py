"""Counts of what happened, for `/memory status` and for the host to read at any time."""

from collections import Counter
from datetime import datetime

__all__ = ["Metrics"]


class Metrics:
    """Counters by dotted name, the last extraction, and the last failure with its place and kind, never its text."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.last_extraction: datetime | None = None
        self.last_failure: tuple[datetime, str, str] | None = None

    def count(self, name: str, number: int = 1) -> None:
        """Add to a counter."""
        self.counts[name] += number

    def fail(self, now: datetime, place: str, error: BaseException) -> None:
        """Note a failure by its place and the name of its class."""
        self.counts[f"failures.{place}"] += 1
        self.last_failure = (now, place, type(error).__name__)
