"""The figures of the Prometheus endpoint, sent to a receiver of OpenTelemetry's protocol (OTLP).

One set of figures, two ways out: at each interval the registry is read as a scrape would read it.
OpenTelemetry's own variables say where to (`OTEL_EXPORTER_OTLP_ENDPOINT`, `…_HEADERS`, …) and how
often (`OTEL_METRIC_EXPORT_INTERVAL`, milliseconds).
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Final

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import SERVICE_INSTANCE_ID, SERVICE_NAME, Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.samples import Sample

INTERVAL_VARIABLE: Final = "OTEL_METRIC_EXPORT_INTERVAL"
_INTERVAL_MS: Final = 60_000.0
"""Between two exports, as the specification has it."""

_END_S: Final = 10.0
"""How long to wait for the last export."""

_SCOPE: Final = InstrumentationScope("slackwater")
_UNITS: Final = {"seconds": "s", "bytes": "By"}
"""Units at the end of Prometheus' names, as OpenTelemetry spells them."""


class Telemetry:
    """The exports of one driver, by their own thread.

    Args:
        registry: the figures.
        pipeline, run: of which they are.
        exporter: sends them; None: the one that the environment describes.
        now_ns: a clock, in nanoseconds since 1970.

    Raises:
        ValueError: the interval is no number of milliseconds.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        pipeline: str,
        run: str,
        exporter: OTLPMetricExporter | None = None,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._registry, self._now_ns, self._began_ns = registry, now_ns, now_ns()
        self._interval_s = float(os.environ.get(INTERVAL_VARIABLE) or _INTERVAL_MS) / 1000
        self._resource = Resource.create(
            {
                SERVICE_NAME: os.environ.get("OTEL_SERVICE_NAME", "slackwater"),
                SERVICE_INSTANCE_ID: f"{pipeline}@{run}",
            }
        )
        self._exporter = exporter or OTLPMetricExporter()
        self._is_over, self._has_failed = threading.Event(), False
        self._thread = threading.Thread(target=self._go_on, daemon=True, name="telemetry")
        self._thread.start()

    def end(self) -> None:
        """Send the last figures, if the receiver takes them soon, and end."""
        self._is_over.set()
        self._thread.join(_END_S)
        self._exporter.shutdown()

    def _go_on(self) -> None:
        while not self._is_over.wait(self._interval_s):
            self._export()
        self._export()

    def _export(self) -> None:
        now_ns = self._now_ns()
        metrics = [*metrics_of(self._registry.collect(), self._began_ns, now_ns)]
        scope = ScopeMetrics(_SCOPE, metrics, "")
        found = MetricsData([ResourceMetrics(self._resource, [scope], "")])
        try:
            failed = self._exporter.export(found) is not MetricExportResult.SUCCESS
        except Exception as error:  # a job never fails for its metrics
            self._say(f"{type(error).__name__}: {error}")
            return
        if failed:
            self._say("the receiver has not taken them")

    def _say(self, why: str) -> None:
        """Say once that figures are missing there; later ones hold what these held."""
        if not self._has_failed:
            self._has_failed = True
            sys.stderr.write(f"metrics: an export to OpenTelemetry failed: {why}\n")


def metrics_of(families: Iterable[Family], began_ns: int, now_ns: int) -> Iterator[Metric]:
    """Yield Prometheus' metrics as OpenTelemetry's.

    Args:
        families: as a registry collects them.
        began_ns: since when counters count.
        now_ns: when they were read.
    """
    for family in families:
        unit = next((to for of, to in _UNITS.items() if family.name.endswith(f"_{of}")), "")
        match family.type:
            case "counter":
                own = [one for one in family.samples if one.name.endswith("_total")]
                points = [_point(one, began_ns, now_ns) for one in own]
                data: Sum | Gauge | Histogram = Sum(points, AggregationTemporality.CUMULATIVE, True)
            case "histogram":
                points_ = [*_histograms(family.samples, began_ns, now_ns)]
                data = Histogram(points_, AggregationTemporality.CUMULATIVE)
            case _:
                data = Gauge([_point(one, None, now_ns) for one in family.samples])
        if data.data_points:
            yield Metric(family.name, family.documentation, unit, data)


def _point(sample: Sample, began_ns: int | None, now_ns: int) -> NumberDataPoint:
    return NumberDataPoint(dict(sample.labels), began_ns or 0, now_ns, float(sample.value))


def _histograms(
    samples: Iterable[Sample], began_ns: int, now_ns: int
) -> Iterator[HistogramDataPoint]:
    """Yield a point for each set of labels; Prometheus' buckets are sums, OpenTelemetry's not."""
    found: dict[tuple[tuple[str, str], ...], list[tuple[float, float]]] = {}
    sums: dict[tuple[tuple[str, str], ...], float] = {}
    for one in samples:
        labels = tuple((name, value) for name, value in one.labels.items() if name != "le")
        if one.name.endswith("_bucket"):
            found.setdefault(labels, []).append((float(one.labels["le"]), one.value))
        elif one.name.endswith("_sum"):
            sums[labels] = one.value
    for labels, buckets in found.items():
        upto = [0, *(int(count) for _, count in buckets)]
        counts = [after - before for before, after in pairwise(upto)]
        yield HistogramDataPoint(
            attributes=dict(labels),
            start_time_unix_nano=began_ns,
            time_unix_nano=now_ns,
            count=upto[-1],
            sum=sums.get(labels, 0.0),
            bucket_counts=counts,
            explicit_bounds=[bound for bound, _ in buckets[:-1]],
            # Not known, and so left out of the message.
            min=None,  # type: ignore[arg-type]
            max=None,  # type: ignore[arg-type]
        )
