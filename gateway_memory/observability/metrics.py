"""What happened, for `/memory status` and for the host to read at any time: counts, gauges, latencies, liveness.

`gateway_memory.observability.prometheus` shows them to Prometheus. Names are dotted; times are seconds.
"""

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

__all__ = ["BUCKETS", "Histogram", "Metrics"]

BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of a histogram's buckets in seconds; one more takes the rest."""
STALLED_SECONDS: Final = 60.0
SILENT_MESSAGES: Final = 20


@dataclass(slots=True)
class Histogram:
    """Latencies by bucket (not cumulated), their sum and their number."""

    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    sum: float = 0.0
    count: int = 0

    def add(self, seconds: float) -> None:
        """Add one latency."""
        self.buckets[bisect_left(BUCKETS, seconds)] += 1
        self.sum += seconds
        self.count += 1


class Metrics:
    """Counters and latencies by dotted name, the last extraction, and the last failure with its place and kind.

    Capture is alive as long as what is said is also processed: `capture_alarm` says when the two have parted.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.latencies: dict[str, Histogram] = {}
        self.sources: list[Callable[[], Mapping[str, float]]] = []
        """Each gives gauges by dotted name, at the time when it is called."""
        self.last_failure: tuple[datetime, str, str] | None = None
        self.last_seen: datetime | None = None
        """When the host last handed over a reply."""
        self.last_processed: datetime | None = None
        """When a turn was last processed."""
        self._seen = self._processed = 0
        self._waiting_since: datetime | None = None
        self._messages = 0
        self._silent_since: datetime | None = None

    def count(self, name: str, number: int = 1) -> None:
        """Add to a counter."""
        self.counts[name] += number

    def fail(self, now: datetime, place: str, error: BaseException) -> None:
        """Note a failure by its place and the name of its class."""
        self.counts[f"failures.{place}"] += 1
        self.last_failure = (now, place, type(error).__name__)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Add how long the block took to a histogram, also where it raised."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.add(name, time.perf_counter() - started)

    def add(self, name: str, seconds: float) -> None:
        """Add a latency to a histogram."""
        self.latencies.setdefault(name, Histogram()).add(seconds)

    def gauges(self, now: datetime) -> dict[str, float]:
        """Return what holds now, by dotted name."""
        found: dict[str, float] = {}
        for source in self.sources:
            found |= source()
        found["capture.alarm"] = float(self.capture_alarm(now) is not None)
        found["capture.lag_seconds"] = self._lag(now)
        for name, at in (("seen", self.last_seen), ("processed", self.last_processed)):
            if at is not None:
                found[f"capture.last_{name}_timestamp"] = at.timestamp()
        return found

    # Whether what is said is also processed

    def message_seen(self, now: datetime) -> None:
        """Note that a reply is being prepared, after which a turn should come."""
        if not self._messages:
            self._silent_since = now
        self._messages += 1

    def reply_seen(self, now: datetime, turn: int) -> None:
        """Note that a turn was handed over; its number is 0 where it is not kept."""
        self.last_seen, self._messages = now, 0
        if turn:
            if self._processed >= self._seen:
                self._waiting_since = now
            self._seen = max(self._seen, turn)

    def turns_processed(self, now: datetime, upto: int) -> None:
        """Note that the turns up to a number went through their first stage."""
        self.last_processed = now
        self._processed = max(self._processed, upto)
        self._waiting_since = None if self._processed >= self._seen else now

    def _lag(self, now: datetime) -> float:
        return max(0.0, (now - self._waiting_since).total_seconds()) if self._waiting_since else 0.0

    def capture_alarm(self, now: datetime) -> str | None:
        """Return why capture is not alive, None where it is.

        "stalled": turns wait, and none has been processed for a minute. "silent": for a minute replies are prepared,
        and no turn is handed over.
        """
        if self._lag(now) > STALLED_SECONDS:
            return "stalled"
        # Many sessions may be speaking at once: it takes a model some time to reply to the first of them.
        silent = (now - self._silent_since).total_seconds() if self._silent_since else 0.0
        return "silent" if self._messages >= SILENT_MESSAGES and silent > STALLED_SECONDS else None
