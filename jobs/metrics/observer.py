"""Metrics of one driver's run: reported by the sink and by Spark, and passed on.

Nothing here can fail the job: what goes wrong is said once in the driver's output.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import CollectorRegistry

from infra.monitoring_settings import exports_telemetry
from jobs.metrics.exposition import Exposition
from jobs.metrics.figures import BatchReport, Counts, LaneFigures, counts_of, line_of, report_of
from jobs.metrics.lineage import Lineage, Subject, lineage_of
from jobs.metrics.lines import Lines
from jobs.overview.lanes import Stand, open_windows
from jobs.overview.updater import Updater
from jobs.runs.targets import announce, withdraw
from windowing.model import Pipeline
from windowing.model.source import Source
from windowing.spark.sinks.written import WrittenBatch

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery

    from jobs.metrics.telemetry import Telemetry

_ANY: Final = ("0.0.0.0", "::")  # noqa: S104 - compared with, not listened on

_UNREPORTED_MAX: Final = 1000
"""How many batches to remember of which Spark reports nothing."""


@dataclass(frozen=True)
class Place:
    """Where a run's metrics go.

    Attributes:
        source: names the lanes.
        address: host and port of the endpoint, port 0 for a free one; None: no endpoint.
        targets: the folder for Prometheus; None: there is none.
        first_batch: the run's number of the checkpoint's batch 0.
        subject: of what lineage reports, if anybody wants it; None: of nothing.
        windows: the pipeline whose open windows are counted; None: they are not.
        updater: updates what overviews count in the run's tables; None: they are not ours.
    """

    pipeline: str
    run: str
    folder: Path
    source: Source
    address: tuple[str, int] | None = None
    targets: Path | None = None
    first_batch: int = 0
    subject: Subject | None = None
    windows: Pipeline | None = None
    updater: Updater | None = None


class Metrics:
    """What a driver reports of its run while it runs."""

    def __init__(self, place: Place) -> None:
        self._place, self._lines = place, Lines(place.folder)
        self._shown = Exposition(place.pipeline, place.run)
        self._lineage: Lineage | None = None
        self._telemetry: Telemetry | None = None
        self._lanes: dict[str, LaneFigures] = {}
        self._counted: dict[int, Counts] = {}
        self._newest, self._seen, self._said = -1, "", set[str]()

    @property
    def registry(self) -> CollectorRegistry:
        """What the endpoint shows."""
        return self._shown.registry

    def begin(self) -> None:
        """Start the endpoint and announce it; a port that is taken is replaced by a free one."""
        if self._place.address is not None:
            self._safely("the endpoint of the metrics is missing", self._serve)
        if self._place.subject is not None:
            self._safely("events of lineage are missing", self._trace)
        if exports_telemetry():
            self._safely("exports to OpenTelemetry are missing", self._send)

    def written(self, batch: WrittenBatch) -> None:
        """Take note of a batch that is in the sink."""
        self._safely("counts of batches are missing", lambda: self._count(batch))

    def look(self, query: StreamingQuery) -> None:
        """Take note of the batches that have ended since the last look."""
        self._safely("figures of batches are missing", lambda: self._look(query))
        if (updater := self._place.updater) is not None:
            self._safely("overviews have to count more", updater.update_if_due)

    def close(self, error: BaseException | None = None) -> None:
        """End the endpoint.

        Args:
            error: why the job ends, so that Prometheus is to miss it; None: it is done.
        """
        self._safely("the last batches' figures are missing", lambda: self._flush(None))
        self._safely("the endpoint of the metrics does not end", self._shown.close)
        if (updater := self._place.updater) is not None:
            self._safely("overviews have to count more", updater.update)
        if self._telemetry is not None:
            self._safely("the last export to OpenTelemetry is missing", self._telemetry.end)
        if self._lineage is not None:
            lineage = self._lineage
            self._safely("the last event of lineage is missing", lambda: lineage.end(error))
        if error is None:
            self._safely("the endpoint's address stays", self._withdraw)

    def _serve(self) -> None:
        assert self._place.address is not None  # noqa: S101 - as checked
        host, port = self._place.address
        source = self._place.source
        self._shown.begin(source.lane(number) for number in range(source.partitions))
        try:
            port = self._shown.serve(host, port)
        except OSError as error:
            if not port:
                raise
            taken, port = port, self._shown.serve(host, 0)
            self._say(f"metrics: port {taken} of {host} cannot be used ({error}): it is {port}")
        seen_as = socket.gethostname() if host in _ANY else host
        place = self._place
        announce(place.folder, place.targets, f"{seen_as}:{port}", place.pipeline, place.run)

    def _trace(self) -> None:
        assert self._place.subject is not None  # noqa: S101 - as checked
        self._lineage = lineage_of(self._place.subject)
        if self._lineage is not None:
            self._lineage.begin()

    def _send(self) -> None:
        # An installation may do without it: the package's extra `telemetry`.
        from jobs.metrics.telemetry import Telemetry  # noqa: PLC0415

        self._telemetry = Telemetry(self.registry, self._place.pipeline, self._place.run)

    def _withdraw(self) -> None:
        withdraw(self._place.folder, self._place.targets, self._place.pipeline, self._place.run)

    def _count(self, batch: WrittenBatch) -> None:
        counts = counts_of(batch)
        self._shown.count(counts)
        self._counted[batch.batch_id] = counts
        while len(self._counted) > _UNREPORTED_MAX:
            self._counted.pop(min([*self._counted]), None)

    def _look(self, query: StreamingQuery) -> None:
        last = query.lastProgress
        if last is None:
            return
        if last["timestamp"] != self._seen:
            self._seen = last["timestamp"]
            # Batches may be shorter than the time between two looks.
            for progress in query.recentProgress if last["batchId"] > self._newest + 1 else [last]:
                if progress["batchId"] > self._newest:
                    self._take(progress)
            self._shown.is_moving()
        elif not query.status["isTriggerActive"]:
            self._shown.is_moving()

    def _take(self, progress: Mapping[str, Any]) -> None:
        report = report_of(progress, self._place.source)
        if report is None:
            return
        self._newest, batch_id = report.batch_id, self._place.first_batch + report.batch_id
        self._flush(batch_id)
        self._shown.show(batch_id, report)
        self._put(batch_id, report, self._counted.pop(batch_id, None))

    def _flush(self, before: int | None) -> None:
        """Write lines of batches that were written, and that Spark did not report on."""
        for batch_id in sorted([*self._counted]):  # another thread adds to it
            if before is None or batch_id < before:
                self._put(batch_id, None, self._counted.pop(batch_id))

    def _put(self, batch_id: int, report: BatchReport | None, counts: Counts | None) -> None:
        self._move(report, counts)
        self._shown.place(self._lanes)
        opened = self._open_windows()
        self._shown.open(opened)
        line = line_of(batch_id, report, counts, self._lanes, datetime.now(UTC))
        line["open_windows"] = opened
        if (lineage := self._lineage) is not None:
            send = partial(lineage.batch, line, counts)
            self._safely("events of lineage are missing", send)
        self._lines.append(line)

    def _open_windows(self) -> dict[str, int | None]:
        """Return by query how many windows are open; None: unknown, or not of a time."""
        if self._place.windows is None:
            return {}
        progress = {name: lane.progress_us for name, lane in self._lanes.items()}
        ended = {name for name, lane in self._lanes.items() if lane.ended}
        stand = Stand.at(self._place.windows, progress, ended)
        return {found.query: found.open for found, _ in open_windows(stand)}

    def _move(self, report: BatchReport | None, counts: Counts | None) -> None:
        """Take over where the lanes are after a batch."""
        for name, counted in (counts.lanes if counts else {}).items():
            lane = self._lanes.setdefault(name, LaneFigures())
            if counted.progress_us is not None or counted.ended:
                lane.progress_us, lane.ended = counted.progress_us, counted.ended
        for name, offset in (report.offsets if report else {}).items():
            lane = self._lanes.setdefault(name, LaneFigures())
            lane.offset, lane.end = offset, report.ends.get(name) if report else None

    def _safely(self, what: str, do: Callable[[], None]) -> None:
        try:
            do()
        except Exception as error:  # a job never fails for its metrics
            self._say(f"metrics: {what}: {type(error).__name__}: {error}", once=what)

    def _say(self, text: str, once: str | None = None) -> None:
        if once is None or once not in self._said:
            sys.stderr.write(f"{text}\n")
            self._said.add(once or text)


@contextmanager
def observed(place: Place) -> Iterator[Metrics]:
    """Offer the metrics of a run while it runs; its address stays if it fails."""
    metrics = Metrics(place)
    metrics.begin()
    try:
        yield metrics
    except BaseException as error:
        metrics.close(error)
        raise
    metrics.close()
