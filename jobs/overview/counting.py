"""Counts what is in the files of a run's tables, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from jobs.overview.batch_times import BatchTimes
from jobs.overview.buckets import Buckets, of_times
from jobs.overview.files import AT, BATCH, Files
from jobs.overview.found import (
    EXAMPLES_MAX,
    LATE,
    Dead,
    LaneCount,
    LaneCounts,
    Letter,
    Reason,
    Results,
)

_WRITTEN: Final = pl.col("window_end").dt.epoch("us") + pl.col("lag_us")
"""When a row was written; null for windows that do not end in time."""

RESULTS: Final = {
    BATCH: pl.Int64,
    "query": pl.String,
    "pane": pl.String,
    "op": pl.String,
    "window_end": pl.Datetime("us", "UTC"),
    "lag_us": pl.Int64,
}
METRICS: Final = {
    BATCH: pl.Int64,
    "lane": pl.String,
    "query": pl.String,
    "read": pl.Int64,
    "dropped": pl.Int64,
    "progress_us": pl.Int64,
    "ended": pl.Boolean,
}
DEAD: Final = {
    BATCH: pl.Int64,
    "source": pl.String,
    "partition": pl.Int32,
    "offset": pl.Int64,
    "reason": pl.String,
    "value": pl.String,
}


def results(files: Files, times: BatchTimes) -> Results:
    """Count rows and revisions."""
    return results_of(_counted(files, [BATCH]), files.written, times)


def results_of_several(files: Files, times: BatchTimes) -> Results:
    """Count rows and revisions of a table that several queries share."""
    each = _counted(files, [BATCH, "query"])
    by_batch = each.group_by(BATCH).agg(pl.col("rows", "revisions").sum(), pl.col(AT).min())
    found = results_of(by_batch.sort(BATCH), files.written, times)
    found.queries = by_query(each)
    return found


def by_query(counted: pl.DataFrame) -> dict[str, tuple[int, int]]:
    """Sum up `rows` and `revisions` by `query`."""
    sums = counted.group_by("query").agg(pl.col("rows", "revisions").sum())
    return {query: (rows, revisions) for query, rows, revisions in sums.iter_rows()}


def _counted(files: Files, by: list[str]) -> pl.DataFrame:
    revises = (pl.col("pane") == "late") & pl.col("op").is_null()
    counts = {"rows": pl.len(), "revisions": revises.sum(), AT: _WRITTEN.min()}
    return files.read(RESULTS).group_by(by).agg(**counts).sort(BATCH).collect()


def results_of(by_batch: pl.DataFrame, written: pl.DataFrame, times: BatchTimes) -> Results:
    """Sum up rows and revisions by batch.

    Args:
        by_batch: `batch_id`, `rows`, `revisions`, and `at_us`, when rows of it were written.
        written: when else batches are known to have been written.
        times: learns both.
    """
    for one in (by_batch, written):
        times.learn(one[BATCH], one[AT])
    found = Results(int(by_batch["rows"].sum()), int(by_batch["revisions"].sum()))
    found.history = _history(by_batch, times, ("rows", "revisions"))
    return found


def lanes(files: Files, times: BatchTimes) -> LaneCounts:
    """Count what lanes have read, and note how far they are."""
    by_lane = (
        files.read(METRICS)
        .group_by(BATCH, "lane")
        # Every query counts all that is read, so one of them tells.
        .agg(
            pl.col("read").max(),
            pl.col("dropped").sum(),
            pl.col("progress_us").max(),
            pl.col("ended").any(),
        )
        .sort(BATCH)
        .collect()
    )
    times.learn(files.written[BATCH], files.written[AT])
    return lanes_of(by_lane, times)


def lanes_of(by_lane: pl.DataFrame, times: BatchTimes) -> LaneCounts:
    """Sum up what lanes have read.

    Args:
        by_lane: for each batch and lane, in the order of batches: `read`, `dropped`, `progress_us`,
            `ended`.
        times: of batches.
    """
    total = by_lane.group_by("lane").agg(
        pl.col("read").sum(),
        pl.col("dropped").sum(),
        pl.col(BATCH).last(),
        pl.col("progress_us").last(),
        pl.col("ended").last(),
        heard=pl.col(BATCH).filter(pl.col("read") > 0).last(),
    )
    found = LaneCounts(last=int(by_lane[BATCH].max() or 0) if len(by_lane) else -1)  # type: ignore[arg-type]
    for row in total.iter_rows(named=True):
        heard = -1 if row["heard"] is None else row["heard"]
        found.lanes[row["lane"]] = LaneCount(
            read=row["read"],
            dropped=row["dropped"],
            batch=row[BATCH],
            heard=heard,
            heard_us=None if heard < 0 else times.at(heard),
            progress_us=None if row["ended"] else row["progress_us"],
            ended=bool(row["ended"]),
        )
    by_batch = by_lane.group_by(BATCH).agg(
        pl.col("read").sum(), pl.col("dropped").sum(), batches=pl.lit(1, pl.Int64)
    )
    found.history = _history(by_batch, times, ("read", "dropped", "batches"))
    return found


def dead(files: Files, times: BatchTimes) -> Dead:
    """Count dead letters by reason and lane, and keep a few."""
    times.learn(files.written[BATCH], files.written[AT])
    return dead_of(files.read(DEAD).collect(), times)


def dead_of(read: pl.DataFrame, times: BatchTimes) -> Dead:
    """Sum up dead letters, given with their batch, position, reason and value."""
    letters = read.with_columns(
        lane=pl.format("{}/{}", "source", "partition"), late=pl.col("reason").is_in(list(LATE))
    )
    found = Dead()
    counted = letters.group_by("lane").agg(count=pl.len(), late=pl.col("late").sum())
    for lane, count, late in counted.iter_rows():
        found.lanes[lane], found.late[lane] = count, late
    newest = letters.sort(BATCH, "lane", "offset", descending=[True, False, True])
    for (reason,), own in newest.group_by("reason", maintain_order=True):
        shown = own.head(EXAMPLES_MAX).select(BATCH, "lane", "offset", "value").iter_rows()
        examples = [Letter(b, lane, offset, times.at(b), value) for b, lane, offset, value in shown]
        found.reasons[str(reason)] = Reason(len(own), examples)
    by_batch = letters.group_by(BATCH).agg(count=pl.len(), late=pl.col("late").sum())
    found.history = _history(by_batch, times, ("count", "late"))
    return found


def _history(by_batch: pl.DataFrame, times: BatchTimes, names: Sequence[str]) -> Buckets:
    """Return counts of batches by time; none, if the time of no batch is known."""
    known = by_batch.with_columns(times.of(by_batch[BATCH]).alias(AT)).drop_nulls(AT)
    return of_times((at, counts) for at, *counts in known.select(AT, *names).iter_rows())
