"""Exports `Metrics` to Prometheus by prometheus-client (the extra `metrics`), and serves them at `GET /metrics`.

from prometheus_client import REGISTRY
from gateway_memory.observability.prometheus import MetricsCollector

REGISTRY.register(MetricsCollector(memory.metrics, memory.now))
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from gateway_memory.ground.metrics import BUCKETS, Metrics

__all__ = ["MetricsCollector", "exposition"]


class MetricsCollector(Collector):
    """Collects one memory's metrics. now: returns the current time."""

    def __init__(self, metrics: Metrics, now: Callable[[], datetime]) -> None:
        self._metrics = metrics
        self._now = now

    def collect(self) -> Iterator[Metric]:
        """Yield the metric families: a counter of events, a gauge each, and a histogram of stages."""
        events = CounterMetricFamily("gateway_memory_events", "What happened, by name", labels=["name"])
        for name, number in sorted(self._metrics.counts.copy().items()):
            events.add_metric([name], number)
        yield events
        for name, value in sorted(self._metrics.gauges(self._now()).items()):
            yield GaugeMetricFamily(f"gateway_memory_{name.replace('.', '_')}", name, value=value)
        stages = HistogramMetricFamily("gateway_memory_stage_seconds", "How long each stage took", labels=["stage"])
        for name, histogram in sorted(self._metrics.latencies.copy().items()):
            bounds = [*map(str, BUCKETS), "+Inf"]
            cumulated = accumulate(histogram.buckets)
            stages.add_metric([name], list(zip(bounds, cumulated, strict=True)), histogram.sum)
        yield stages


class _Labelled(Collector):
    """The metrics of several collectors, each with the label `agent`."""

    def __init__(self, collectors: Mapping[str, MetricsCollector]) -> None:
        self._collectors = collectors

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        for agent, collector in self._collectors.items():
            for found in collector.collect():
                family = families.setdefault(found.name, Metric(found.name, found.documentation, found.type))
                family.samples += [each._replace(labels={**each.labels, "agent": agent}) for each in found.samples]
        yield from families.values()


def exposition(collectors: Mapping[str, MetricsCollector]) -> bytes:
    """Return the metrics of all agents, by name, as Prometheus's text."""
    registry = CollectorRegistry()
    registry.register(_Labelled(collectors))
    return generate_latest(registry)
