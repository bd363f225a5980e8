"""A job's figures as Prometheus reads them: names, units and help, and the endpoint.

Counters count from the driver's start. A batch that a driver has written and not committed is
counted again by its successor.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Final
from wsgiref.simple_server import WSGIServer

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    start_http_server,
)

from jobs.metrics.figures import BatchReport, Counts, LaneFigures

_RUN: Final = ("pipeline", "run")
_BUCKETS_S: Final = (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128)

disable_created_metrics()  # type: ignore[no-untyped-call]


class Exposition:
    """The metrics of one run.

    Args:
        now_s: a clock, in seconds since 1970.
    """

    def __init__(self, pipeline: str, run: str, now_s: Callable[[], float] = time.time) -> None:
        self._of, self._now_s = (pipeline, run), now_s
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._counters = {
            name: Counter(f"slackwater_{name}", text, (*_RUN, *labels), registry=self.registry)
            for name, (text, labels) in _COUNTERS.items()
        }
        self._gauges = {
            name: Gauge(f"slackwater_{name}", text, (*_RUN, *labels), registry=self.registry)
            for name, (text, labels) in _GAUGES.items()
        }
        self._batch = Histogram(
            "slackwater_batch_duration_seconds",
            "Time of batches, from trigger to commit.",
            _RUN,
            registry=self.registry,
            buckets=_BUCKETS_S,
        )
        self._server: tuple[WSGIServer, threading.Thread] | None = None

    def serve(self, host: str, port: int) -> int:
        """Start the endpoint; return its port.

        Args:
            host: the address to listen on.
            port: 0: a free one.

        Raises:
            OSError: the port is taken, or the address is not this machine's.
        """
        self._server = start_http_server(port, host, self.registry)
        return self._server[0].server_port

    def close(self) -> None:
        """End the endpoint."""
        if self._server is not None:
            server, thread = self._server
            server.shutdown()
            server.server_close()
            thread.join()
            self._server = None

    def count(self, counts: Counts) -> None:
        """Add what a sink has written of a batch."""
        for query, panes in counts.rows.items():
            for pane, number in panes.items():
                self._add("rows", number, query, pane)
        for query, number in counts.revisions.items():
            self._add("revisions", number, query)
        for name, lane in counts.lanes.items():
            self._add("records", lane.records, name)
            self._add("redelivered_records", lane.redelivered, name)
            for query, number in lane.late.items():
                self._add("late_records", number, name, query)
            for reason, number in lane.dead.items():
                self._add("dead_letters", number, name, reason)
            if lane.records:
                self._set("lane_last_record_timestamp_seconds", self._now_s(), name)

    def show(self, batch_id: int, report: BatchReport) -> None:
        """Show what Spark reports of a batch."""
        self._add("batches", 1)
        self._set("last_batch_id", batch_id)
        self._set("last_batch_timestamp_seconds", _seconds(report.at))
        if report.batch_ms is not None:
            self._batch.labels(*self._of).observe(report.batch_ms / 1e3)
        for stage, ms in report.stages_ms.items():
            self._add("batch_stage_seconds", ms / 1e3, stage)
            self._set("last_batch_stage_seconds", ms / 1e3, stage)
        for name, found in (
            ("processed_rows_per_second", report.rows_per_s),
            ("state_rows", report.state_rows),
            ("state_memory_bytes", report.state_bytes),
            ("state_file_bytes", report.state_file_bytes),
        ):
            if found is not None:
                self._set(name, found)

    def place(self, lanes: Mapping[str, LaneFigures]) -> None:
        """Show where every lane is."""
        for name, lane in lanes.items():
            self._set("lane_ended", lane.ended, name)
            if lane.offset is not None:
                self._set("lane_offset", lane.offset, name)
            if lane.offset is not None and lane.end is not None:
                self._set("lane_lag_records", max(0, lane.end - lane.offset), name)
            if lane.progress_us is not None:
                progress_s = lane.progress_us / 1e6
                self._set("lane_progress_timestamp_seconds", progress_s, name)
                behind = self._gauges["lane_event_time_lag_seconds"].labels(*self._of, name)
                behind.set_function(partial(self._since, progress_s))

    def open(self, windows: Mapping[str, int | None]) -> None:
        """Show how many windows of each query are open; nothing, where that is unknown."""
        for query, number in windows.items():
            if number is None:
                # What was true once is no answer.
                self._gauges["open_windows"].remove(*self._of, query)
            else:
                self._set("open_windows", number, query)

    def begin(self, lanes: Iterable[str]) -> None:
        """Show lanes of which nothing is known yet, and counters where they begin."""
        self._add("batches", 0)
        self.is_moving()
        for name in lanes:
            self._add("records", 0, name)
            self._set("lane_ended", 0, name)
            self._set("lane_last_record_timestamp_seconds", self._now_s(), name)

    def is_moving(self) -> None:
        """Show that the query has just ended a batch, or waits for records."""
        self._set("last_moved_timestamp_seconds", self._now_s())

    def _since(self, instant_s: float) -> float:
        return self._now_s() - instant_s

    def _add(self, name: str, number: float, *labels: str) -> None:
        self._counters[name].labels(*self._of, *labels).inc(number)

    def _set(self, name: str, number: float, *labels: str) -> None:
        self._gauges[name].labels(*self._of, *labels).set(number)


def _seconds(at: datetime) -> float:
    return at.timestamp()


_COUNTERS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "batches": ("Batches that were committed.", ()),
    "batch_stage_seconds": ("Time of batches by Spark's stages.", ("stage",)),
    "records": ("Data records that were read.", ("lane",)),
    "redelivered_records": ("Records that came again, without effect.", ("lane",)),
    "late_records": (
        "Late records that no window of the query took: dropped, or dead letters.",
        ("lane", "query"),
    ),
    "dead_letters": ("Dead letters by reason, late ones included.", ("lane", "reason")),
    "rows": ("Rows that were written, by pane.", ("query", "pane")),
    "revisions": ("Rows that revise an earlier one.", ("query",)),
}
"""Counters without their `_total`: help and labels."""

_GAUGES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "lane_progress_timestamp_seconds": ("The lane's progress by event time.", ("lane",)),
    "lane_event_time_lag_seconds": (
        "The time now minus the lane's progress by event time.",
        ("lane",),
    ),
    "lane_lag_records": (
        "Offsets from the lane's first unread one to its partition's end at the last batch.",
        ("lane",),
    ),
    "lane_offset": ("The lane's first unread offset.", ("lane",)),
    "lane_ended": ("Whether the lane has ended: 1 or 0.", ("lane",)),
    "lane_last_record_timestamp_seconds": (
        "When a batch with records of the lane was last written; before one, the driver's start.",
        ("lane",),
    ),
    "last_batch_id": ("Number of the last batch.", ()),
    "last_batch_timestamp_seconds": ("When the last batch ended.", ()),
    "last_batch_stage_seconds": ("Time of the last batch by Spark's stages.", ("stage",)),
    "last_moved_timestamp_seconds": (
        "When a batch last ended, or the query last waited for records.",
        (),
    ),
    "open_windows": (
        "Windows between the progress of all lanes and the newest record, whatever their keys.",
        ("query",),
    ),
    "processed_rows_per_second": ("Input rows per second of the last batch.", ()),
    "state_rows": ("Rows of state, where Spark counts them.", ()),
    "state_memory_bytes": ("Memory of the state stores.", ()),
    "state_file_bytes": ("Files of the state stores' last snapshots.", ()),
}
"""Gauges: help and labels."""
