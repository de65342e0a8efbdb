"""`GET /metrics`: the metrics of all agents and of the service itself, as Prometheus reads them."""

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from gateway_memory.observability.prometheus import MetricsCollector

__all__ = ["exposition"]


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
