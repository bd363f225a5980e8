"""What a driver sends to a receiver of OTLP over HTTP, decoded as OpenTelemetry defines it."""

from __future__ import annotations

import gzip
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

from infra.errors import SettingsError
from infra.monitoring_settings import TELEMETRY, telemetry_settings
from jobs.metrics.observer import Place, observed
from tests.unit.jobs.metrics.figures import pipeline
from tests.unit.jobs.metrics.test_exposition import RUN, Query, scraped, two_batches


class Receiver(ThreadingHTTPServer):
    """Takes exports, as a collector does."""

    def __init__(self) -> None:
        self.requests: list[ExportMetricsServiceRequest] = []
        self.headers: dict[str, str] = {}
        self.status = 200
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def last(self) -> dict[str, Any]:
        """The metrics of the last export, by name."""
        (resource,) = self.requests[-1].resource_metrics
        (scope,) = resource.scope_metrics
        return {one.name: one for one in scope.metrics}


class Handler(BaseHTTPRequestHandler):
    """Decodes a request."""

    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        assert (self.path, self.headers["Content-Type"]) == (
            "/v1/metrics",
            "application/x-protobuf",
        )
        self.server.headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append(ExportMetricsServiceRequest.FromString(body))
        answer = ExportMetricsServiceResponse().SerializeToString()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver, in an environment that names none before and after."""
    with pytest.MonkeyPatch.context() as patch:
        for name in TELEMETRY:
            patch.delenv(name, raising=False)
        patch.setenv("NO_PROXY", "127.0.0.1")
        server = Receiver()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
            server.server_close()
            for name in TELEMETRY:
                os.environ.pop(name, None)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as server:
        yield server


def place(folder: Path) -> Place:
    return Place("tide", "r1", folder, pipeline().source, ("127.0.0.1", 0))


def by_labels(points: Any, pipeline: str = "tide") -> dict[tuple[tuple[str, str], ...], Any]:
    """Points by their labels besides those of the run `r1`."""
    found = {}
    for point in points:
        labels = {one.key: one.value.string_value for one in point.attributes}
        assert (labels.pop("pipeline"), labels.pop("run")) == (pipeline, "r1")
        found[tuple(sorted(labels.items()))] = point
    return found


def test_a_receiver_gets_what_prometheus_scrapes(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=secret")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
    with observed(place(tmp_path)) as metrics:
        two_batches(metrics, Query())
        _, found = scraped(tmp_path)
    assert receiver.headers["api-key"] == "secret"
    attributes = MessageToDict(receiver.requests[-1].resource_metrics[0].resource)["attributes"]
    values = {one["key"]: one["value"]["stringValue"] for one in attributes}
    assert values["service.name"] == "slackwater"
    assert values["service.instance.id"] == "tide@r1"
    assert values["deployment.environment.name"] == "test"
    got = receiver.last()
    records = got["slackwater_records"]
    assert (records.sum.is_monotonic, records.sum.aggregation_temporality) == (True, 2)
    points = by_labels(records.sum.data_points)
    assert {labels[0][1]: point.as_double for labels, point in points.items()} == {
        "levels/0": 10.0,
        "levels/1": 5.0,
    }
    assert all(0 < one.start_time_unix_nano < one.time_unix_nano for one in points.values())
    (batches,) = got["slackwater_batch_duration_seconds"].histogram.data_points
    assert got["slackwater_batch_duration_seconds"].unit == "s"
    assert (batches.count, batches.sum) == (2, pytest.approx(2 * 4.68))
    assert len(batches.bucket_counts) == len(batches.explicit_bounds) + 1
    # Both took 4.68 s: between 4 and 8.
    assert dict(zip(batches.explicit_bounds, batches.bucket_counts, strict=False))[8] == 2
    assert sum(batches.bucket_counts) == 2
    assert not batches.HasField("min")
    (state,) = got["slackwater_state_memory_bytes"].gauge.data_points
    assert (state.as_double, got["slackwater_state_memory_bytes"].unit) == (12_776, "By")
    sent = {
        (
            f"{name}_total" if one.HasField("sum") else name,
            tuple(sorted({**dict(labels), **RUN}.items())),
        )
        for name, one in got.items()
        if name.startswith("slackwater_") and not one.HasField("histogram")
        for labels in by_labels(getattr(one, one.WhichOneof("data")).data_points)
    }
    assert sent == {
        key for key in found if key[0].startswith("slackwater_") and "duration" not in key[0]
    }


def test_figures_are_sent_as_often_as_the_interval_says(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", f"{receiver.url}/v1/metrics")
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "20")
    taken = threading.Event()
    with observed(place(tmp_path)) as metrics:
        two_batches(metrics, Query())
        while len(receiver.requests) < 3:
            taken.wait(0.01)
    assert not any(one.name == "telemetry" for one in threading.enumerate())


def test_nothing_is_sent_unless_a_receiver_is_named(tmp_path: Path, receiver: Receiver) -> None:
    with observed(place(tmp_path)) as metrics:
        two_batches(metrics, Query())
        assert not any(one.name == "telemetry" for one in threading.enumerate())
    assert receiver.requests == []


def test_a_receiver_that_refuses_fails_no_job_and_is_mentioned_once(
    tmp_path: Path,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "20")
    receiver.status = 400
    taken = threading.Event()
    with observed(place(tmp_path)) as metrics:
        two_batches(metrics, Query())
        while len(receiver.requests) < 3:
            taken.wait(0.01)
    assert capsys.readouterr().err.count("an export to OpenTelemetry failed") == 1


@pytest.mark.parametrize(
    ("url", "why"),
    [("collector:4318", "no URL"), ("http://me:secret@127.0.0.1:4318", "contains a login")],
)
def test_settings_that_cannot_be_handed_over_are_refused(
    monkeypatch: pytest.MonkeyPatch, url: str, why: str
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
    with pytest.raises(SettingsError, match=why):
        telemetry_settings()


def test_what_is_no_secret_is_handed_over(
    monkeypatch: pytest.MonkeyPatch, receiver: Receiver
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=secret")
    assert telemetry_settings() == {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url}
