"""Counts, gauges, latencies and liveness of one process, for the host. `/memory status` is of the whole workspace."""

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of a histogram's buckets, in seconds. One more bucket holds the rest."""
STALLED_SECONDS: Final = 60.0
SILENT_MESSAGES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A kind of failure: where, and the class of the error. at: the last time, in epoch seconds. count: how often."""

    place: str
    error: str
    at: float
    count: int = 1


@dataclass(slots=True)
class Histogram:
    """Latencies by bucket (not cumulative), their sum in seconds, and their count."""

    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    sum: float = 0.0
    count: int = 0

    def add(self, seconds: float) -> None:
        """Add one latency, in seconds."""
        self.buckets[bisect_left(BUCKETS, seconds)] += 1
        self.sum += seconds
        self.count += 1


class Metrics:
    """Counters and latencies by dotted name, and the failures that the journal does not know yet.

    Capture is alive while replies become turns, and turns are processed. `capture_alarm` reports when they do not.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.latencies: dict[str, Histogram] = {}
        self.sources: list[Callable[[], Mapping[str, float]]] = []
        """Functions that return current gauges by dotted name."""
        self._failures: dict[tuple[str, str], Failure] = {}
        self.last_seen: datetime | None = None
        """When the host last passed a turn."""
        self.last_processed: datetime | None = None
        """When a turn was last processed."""
        self._seen = self._processed = 0
        self._waiting_since: datetime | None = None
        self._messages = 0
        self._silent_since: datetime | None = None

    def count(self, name: str, number: int = 1) -> None:
        """Increase a counter."""
        self.counts[name] += number

    def fail(self, now: datetime, place: str, error: BaseException) -> None:
        """Count a failure by its place, and keep its class for the journal."""
        self.counts[f"failures.{place}"] += 1
        self.put_back([Failure(place=place, error=type(error).__name__, at=now.timestamp())])

    def take_failures(self) -> list[Failure]:
        """Return the failures that were not taken yet, by kind."""
        failures, self._failures = list(self._failures.values()), {}
        return failures

    def put_back(self, failures: Sequence[Failure]) -> None:
        """Keep failures until they are taken again."""
        for each in failures:
            kind = each.place, each.error
            known = self._failures.get(kind, replace(each, count=0))
            self._failures[kind] = replace(each, at=max(each.at, known.at), count=each.count + known.count)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Add the block's duration to a histogram, even if it raises."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.add(name, time.perf_counter() - started)

    def add(self, name: str, seconds: float) -> None:
        """Add a latency to a histogram, in seconds."""
        self.latencies.setdefault(name, Histogram()).add(seconds)

    def gauges(self, now: datetime) -> dict[str, float]:
        """Return the current gauges by dotted name."""
        gauges: dict[str, float] = {}
        for source in self.sources:
            gauges |= source()
        gauges["capture.alarm"] = float(self.capture_alarm(now) is not None)
        gauges["capture.lag_seconds"] = self._lag(now)
        for name, at in (("seen", self.last_seen), ("processed", self.last_processed)):
            if at is not None:
                gauges[f"capture.last_{name}_timestamp"] = at.timestamp()
        return gauges

    # Liveness of capture

    def message_seen(self, now: datetime) -> None:
        """Record that a reply is being prepared. A turn should follow."""
        if not self._messages:
            self._silent_since = now
        self._messages += 1

    def reply_seen(self, now: datetime, turn: int) -> None:
        """Record that the host passed a turn. turn: its number, 0 if it is not stored."""
        self.last_seen, self._messages = now, 0
        if turn:
            if self._processed >= self._seen:
                self._waiting_since = now
            self._seen = max(self._seen, turn)

    def turns_processed(self, now: datetime, upto: int) -> None:
        """Record that the turns up to a number have passed the first stage."""
        self.last_processed = now
        self._processed = max(self._processed, upto)
        self._waiting_since = None if self._processed >= self._seen else now

    def _lag(self, now: datetime) -> float:
        return max(0.0, (now - self._waiting_since).total_seconds()) if self._waiting_since else 0.0

    def capture_alarm(self, now: datetime) -> str | None:
        """Return why capture is not alive, or None if it is.

        "stalled": turns wait, and none has been processed for a minute. "silent": 20 replies or more were prepared
        within more than a minute, and the host passed no turn.
        """
        if self._lag(now) > STALLED_SECONDS:
            return "stalled"
        # With many sessions at once, the first replies take a model some time, so the count alone raises no alarm.
        silent = (now - self._silent_since).total_seconds() if self._silent_since else 0.0
        return "silent" if self._messages >= SILENT_MESSAGES and silent > STALLED_SECONDS else None
