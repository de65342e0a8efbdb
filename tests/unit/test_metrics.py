"""Counts, latencies and liveness, and what Prometheus is shown of them."""

from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from gateway_memory.ground.metrics import BUCKETS, SILENT_MESSAGES, Histogram, Metrics
from gateway_memory.observability.prometheus import MetricsCollector

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def test_capture_is_alive_while_turns_are_processed() -> None:
    metrics = Metrics()
    assert metrics.capture_alarm(NOON) is None
    metrics.reply_seen(NOON, 1)
    metrics.reply_seen(NOON + timedelta(seconds=50), 2)
    assert metrics.capture_alarm(NOON + timedelta(seconds=59)) is None
    assert metrics.capture_alarm(NOON + timedelta(seconds=61)) == "stalled"
    metrics.turns_processed(NOON + timedelta(seconds=70), 1)
    assert metrics.capture_alarm(NOON + timedelta(seconds=100)) is None
    assert metrics.capture_alarm(NOON + timedelta(seconds=131)) == "stalled"
    metrics.turns_processed(NOON + timedelta(seconds=140), 2)
    assert metrics.capture_alarm(NOON + timedelta(days=1)) is None
    assert metrics.gauges(NOON)["capture.last_processed_timestamp"] == (NOON + timedelta(seconds=140)).timestamp()


def test_replies_without_turns_are_an_alarm() -> None:
    metrics = Metrics()
    later = NOON + timedelta(seconds=61)
    for _ in range(SILENT_MESSAGES - 1):
        metrics.message_seen(NOON)
    assert metrics.capture_alarm(later) is None
    metrics.message_seen(NOON)
    assert metrics.capture_alarm(later) == "silent"
    metrics.reply_seen(later, 0)
    assert metrics.capture_alarm(later) is None


def test_many_sessions_that_speak_at_once_are_no_alarm() -> None:
    metrics = Metrics()
    for _ in range(10 * SILENT_MESSAGES):
        metrics.message_seen(NOON)
    assert metrics.capture_alarm(NOON + timedelta(seconds=30)) is None


@pytest.mark.parametrize(("seconds", "bucket"), [(0.0, 0), (0.0005, 0), (0.0006, 1), (10.0, 13), (11.0, 14)])
def test_a_latency_falls_into_one_bucket(seconds: float, bucket: int) -> None:
    histogram = Histogram()
    histogram.add(seconds)
    assert histogram.buckets[bucket] == histogram.count == sum(histogram.buckets)
    assert len(histogram.buckets) == len(BUCKETS) + 1


def test_prometheus_is_shown_all_of_it() -> None:
    metrics = Metrics()
    metrics.count("extraction.rules.skipped.nothing_to_keep", 3)
    metrics.sources.append(lambda: {"notify.connected": 1.0})
    with metrics.timed("before_reply"):
        pass
    registry = CollectorRegistry()
    registry.register(MetricsCollector(metrics, lambda: NOON))
    text = generate_latest(registry).decode()
    assert 'gateway_memory_events_total{name="extraction.rules.skipped.nothing_to_keep"} 3.0' in text
    assert "gateway_memory_notify_connected 1.0" in text
    assert "gateway_memory_capture_alarm 0.0" in text
    assert 'gateway_memory_stage_seconds_count{stage="before_reply"} 1.0' in text
    assert 'gateway_memory_stage_seconds_bucket{le="+Inf",stage="before_reply"} 1.0' in text
