"""The figures of one batch: Spark's report and the sink's counts, put together.

A figure that neither of them has is None; none is computed a second time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, get_args

import polars as pl

from windowing.model.record import Reason
from windowing.model.source import Source
from windowing.spark.sinks.written import Portion, WrittenBatch

_RAN: Final = "addBatch"
"""Stage that Spark reports for a trigger with a batch, and not for one that found nothing."""

_COLUMNS: Final = ["lane", "query", "read", "dropped", "redelivered", "progress_us", "ended"]
_LATE: Final = frozenset(get_args(Reason))
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class LaneFigures:
    """What one lane did in one batch.

    Attributes:
        progress_us: its progress by event time after the batch; None: unknown since the driver
            started, or none yet.
        offset: the first offset that is not read yet.
        end: the end of its partition, when the batch was planned.
        redelivered: records that came again, without effect.
        late: by query, late records that no window took.
    """

    progress_us: int | None = None
    ended: bool = False
    offset: int | None = None
    end: int | None = None
    records: int = 0
    redelivered: int = 0
    late: dict[str, int] = field(default_factory=dict)
    dead: dict[str, int] = field(default_factory=dict)

    def add_late(self, query: str, count: int) -> None:
        """Count late records that no window of a query took."""
        self.late[query] = self.late.get(query, 0) + count


@dataclass(frozen=True)
class Counts:
    """What a sink has counted of one batch.

    Attributes:
        rows: rows by query and pane.
    """

    rows: Mapping[str, Mapping[str, int]]
    lanes: Mapping[str, LaneFigures]

    @property
    def revisions(self) -> dict[str, int]:
        """Rows that revise an earlier one, by query; without those that only take one back."""
        return {query: panes.get("late", 0) for query, panes in self.rows.items()}

    @property
    def dead(self) -> dict[str, int]:
        """Dead letters by reason."""
        found: dict[str, int] = {}
        for lane in self.lanes.values():
            for reason, count in lane.dead.items():
                found[reason] = found.get(reason, 0) + count
        return found


def counts_of(written: WrittenBatch) -> Counts:
    """Count a batch by query and by lane."""
    rows: dict[str, dict[str, int]] = {}
    lanes: dict[str, LaneFigures] = {}
    for counted in _lanes(written):
        lane = lanes.setdefault(counted["lane"], LaneFigures())
        lane.records, lane.redelivered = counted["read"], counted["redelivered"]
        lane.ended = counted["ended"]
        lane.progress_us = None if lane.ended else counted["progress_us"]
    for name, query, dropped in _dropped(written):
        lanes[name].add_late(query, dropped)
    for portion in written.portions:
        if portion.lane is None:
            panes = rows.setdefault(portion.table, {})
            panes[portion.what] = panes.get(portion.what, 0) + portion.count
        else:
            _bury(lanes.setdefault(portion.lane, LaneFigures()), portion)
    return Counts(rows, lanes)


def _lanes(written: WrittenBatch) -> Iterator[dict[str, Any]]:
    if written.lanes is not None:
        lanes = pl.DataFrame(pl.from_arrow(written.lanes.select(_COLUMNS)))
        most, last = pl.col("read", "redelivered").max(), pl.col("ended", "progress_us").last()
        yield from lanes.group_by("lane", maintain_order=True).agg(most, last).iter_rows(named=True)


def _dropped(written: WrittenBatch) -> Iterator[tuple[str, str, int]]:
    """Yield lanes and queries with late records that were dropped, and their number."""
    if written.lanes is not None:
        rows = pl.DataFrame(pl.from_arrow(written.lanes.select(_COLUMNS)))
        yield from (
            rows.filter(pl.col("dropped") > 0).select("lane", "query", "dropped").iter_rows()
        )


def _bury(lane: LaneFigures, letters: Portion) -> None:
    lane.dead[letters.what] = lane.dead.get(letters.what, 0) + letters.count
    if letters.what in _LATE and letters.query is not None:
        lane.add_late(letters.query, letters.count)


@dataclass(frozen=True)
class BatchReport:
    """What Spark reports on a batch.

    Attributes:
        batch_id: Spark's number of it.
        at: when it was done.
        rows_in: input rows, also those that are control records.
        rows_per_s: input rows per second of the batch.
        batch_ms: the whole trigger's time.
        stages_ms: its stages' time, by Spark's names.
        state_rows: rows of state; None: Spark was asked not to count them.
        state_bytes: the state stores' memory.
        state_file_bytes: the files of their last snapshots; None: Spark does not say.
        offsets: the first offset that is not read yet, by lane.
        ends: the ends of the partitions, by lane.
    """

    batch_id: int
    at: datetime
    rows_in: int
    rows_per_s: float | None
    batch_ms: int | None
    stages_ms: Mapping[str, int]
    state_rows: int | None
    state_bytes: int | None
    state_file_bytes: int | None
    offsets: Mapping[str, int]
    ends: Mapping[str, int]


def report_of(progress: Mapping[str, Any], source: Source) -> BatchReport | None:
    """Read Spark's report on a trigger; None: it ran no batch.

    Args:
        progress: the report, as Spark spells it in JSON.
        source: names the lanes.
    """
    stages = {name: int(ms) for name, ms in progress["durationMs"].items()}
    if _RAN not in stages:
        return None
    batch_ms = stages.pop("triggerExecution", None)
    states, read = progress["stateOperators"], progress["sources"]
    began = datetime.fromisoformat(progress["timestamp"])
    return BatchReport(
        batch_id=progress["batchId"],
        at=began + timedelta(milliseconds=batch_ms or 0),
        rows_in=progress["numInputRows"],
        rows_per_s=progress.get("processedRowsPerSecond"),
        batch_ms=batch_ms,
        stages_ms=stages,
        # Without `trackTotalNumberOfRows` Spark reports 0, whatever there is.
        state_rows=_sum(one["numRowsTotal"] for one in states) or None,
        state_bytes=_sum(one["memoryUsedBytes"] for one in states),
        state_file_bytes=_sum(
            one["customMetrics"]["rocksdbSstFileSize"]
            for one in states
            if "rocksdbSstFileSize" in one["customMetrics"]
        ),
        offsets=_by_lane((one["endOffset"] for one in read), source),
        ends=_by_lane((one["latestOffset"] for one in read), source),
    )


def _sum(found: Iterator[int]) -> int | None:
    numbers = [int(number) for number in found]
    return sum(numbers) if numbers else None


def _by_lane(
    spelled: Iterator[str | Mapping[str, Mapping[str, int]] | None], source: Source
) -> dict[str, int]:
    found = {}
    for offsets in spelled:
        by_topic = json.loads(offsets) if isinstance(offsets, str) else offsets
        for topic, partitions in (by_topic or {}).items():
            for partition, offset in partitions.items():
                if source.number(topic, int(partition)) is not None:
                    found[f"{topic}/{partition}"] = int(offset)
    return found


def line_of(
    batch_id: int,
    report: BatchReport | None,
    counts: Counts | None,
    lanes: Mapping[str, LaneFigures],
    now: datetime,
) -> dict[str, Any]:
    """Return a batch's line in `metrics.jsonl`.

    Args:
        batch_id: the run's number of it.
        report: Spark's report; None: there is none, as of a batch that was run again at the start.
        counts: the sink's counts; None: the sink does not count.
        lanes: what is known of every lane after the batch.
        now: the time, if Spark does not report one.
    """
    return {
        "at": (report.at if report else now).astimezone(UTC).isoformat(timespec="milliseconds"),
        "batch_id": batch_id,
        "rows_in": report and report.rows_in,
        "batch_ms": report and report.batch_ms,
        "stages_ms": dict(report.stages_ms) if report else None,
        "state_rows": report and report.state_rows,
        "state_bytes": report and report.state_bytes,
        "rows": counts and sum(sum(panes.values()) for panes in counts.rows.values()),
        "revisions": counts and sum(counts.revisions.values()),
        "late": counts and sum(sum(lane.late.values()) for lane in counts.lanes.values()),
        "dead": counts and counts.dead,
        "lanes": {
            name: _lane_line(known, None if counts is None else counts.lanes.get(name, _IDLE))
            for name, known in sorted(lanes.items())
        },
    }


_IDLE: Final = LaneFigures()


def _lane_line(known: LaneFigures, counted: LaneFigures | None) -> dict[str, Any]:
    return {
        "progress": instant(known.progress_us),
        "offset": known.offset,
        "end": known.end,
        "records": counted and counted.records,
        "late": counted and sum(counted.late.values()),
        "dead": counted and sum(counted.dead.values()),
    }


def instant(us: int | None) -> str | None:
    """Format a time; None: there is none, or the calendar does not reach so far."""
    if us is None:
        return None
    try:
        return (_EPOCH + timedelta(microseconds=us)).isoformat(timespec="microseconds")
    except OverflowError:
        return None
