"""Keeps the metrics of this process, and writes them, with those of the stores, as Prometheus reads them.

Invariant: a value of a label that is not in the table counts as `other`. Only this file uses `prometheus_client`, whose
global registry stays empty. Checked by tests/unit/watch/test_metrics.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import version
from itertools import product
from threading import Lock
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import choose_encoder

from support_agent.watch.metrics import BRAND, INFO, METRICS, OTHER, STEP_BUCKETS_S, Metric, MetricType


class Sample(NamedTuple):
    """A value of a gauge at this moment."""

    metric: Metric
    value: float
    labels: Mapping[str, str] = {}


class Recorder:
    """The metrics of one process; any thread may use it.

    Args:
        brands: The names of the mailboxes that it serves; "" is the first.
        gauges: Gives, for a brand, the samples of the moment; asked at each scrape.
    """

    def __init__(self, brands: Iterable[str], gauges: Callable[[str], Iterable[Sample]]) -> None:
        self._brands, self._gauges = tuple(brands), gauges
        self._registry = CollectorRegistry()
        self._kept = {
            metric.name: _made(metric, self._registry) for metric in METRICS if metric.kind is not MetricType.GAUGE
        }
        self._lock = Lock()
        for metric in METRICS:
            if metric.kind is not MetricType.GAUGE:  # a rate needs the zero that it begins with
                for values in product(self._brands, *metric.labels.values()):
                    self._kept[metric.name].labels(*values)
        self._registry.register(self)

    def count(self, metric: Metric, brand: str, number: float = 1, **labels: str) -> None:
        """Add to a counter."""
        counter = self._kept[metric.name]
        assert isinstance(counter, Counter)
        counter.labels(*self._values(metric, brand, labels)).inc(number)

    def observe(self, metric: Metric, brand: str, seconds: float, **labels: str) -> None:
        """Add a duration to a histogram."""
        histogram = self._kept[metric.name]
        assert isinstance(histogram, Histogram)
        histogram.labels(*self._values(metric, brand, labels)).observe(seconds)

    def rendered(self, accept: str) -> tuple[bytes, str]:
        """All metrics in the form that a request accepts, and its content type; one scrape at a time."""
        encode, content_type = choose_encoder(accept)
        with self._lock:
            return encode(self._registry), content_type

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The gauges of this moment; `prometheus_client` calls it at each scrape."""
        families = {metric.name: _family(metric) for metric in METRICS if metric.kind is MetricType.GAUGE}
        families[INFO.name] = GaugeMetricFamily(INFO.name, INFO.help, labels=["version"])
        families[INFO.name].add_metric([version("support-agent")], 1)
        for brand in self._brands:
            for metric, value, labels in self._gauges(brand):
                families[metric.name].add_metric(self._values(metric, brand, labels), value)
        yield from families.values()

    @staticmethod
    def _values(metric: Metric, brand: str, labels: Mapping[str, str]) -> list[str]:
        return [brand, *(labels[name] if labels[name] in known else OTHER for name, known in metric.labels.items())]


def _family(metric: Metric) -> GaugeMetricFamily:
    return GaugeMetricFamily(metric.name, metric.help, labels=[BRAND, *metric.labels])


def _made(metric: Metric, registry: CollectorRegistry) -> Counter | Histogram:
    names = [BRAND, *metric.labels]
    if metric.kind is MetricType.COUNTER:
        return Counter(metric.name, metric.help, names, registry=registry)
    return Histogram(metric.name, metric.help, names, registry=registry, buckets=STEP_BUCKETS_S)
