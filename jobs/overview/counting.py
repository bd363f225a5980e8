"""Counts what is in the files of a run's tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

import polars as pl
from polars.exceptions import PolarsError

from jobs.overview.buckets import BatchTimes, Buckets, of_times
from jobs.overview.files import AT, BATCH, Files, Unreadable, rows_in, unreadable, written
from jobs.overview.totals import (
    EXAMPLES_MAX,
    LATE,
    DeadLetterTotals,
    LaneCount,
    LaneCounts,
    Letter,
    Reason,
    Results,
    Totals,
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


def counted(
    kind: type[Totals], files: Files, times: BatchTimes, fates: Sequence[str] = ()
) -> Totals:
    """Count what is in files of a table.

    Args:
        kind: what the table has.
        files: those that have not been counted.
        times: of batches; it learns those that the files show.
        fates: those to count of a table of metrics.

    Raises:
        Unreadable: a file cannot be read.
    """
    count: Callable[..., Any] = _COUNT[kind]
    more = {"fates": fates} if kind is LaneCounts else {}
    try:
        return cast("Totals", count(files, times, **more))
    except (OSError, PolarsError) as error:
        raise Unreadable(unreadable(files.folder, error)) from None


def results(files: Files, times: BatchTimes) -> Results:
    """Count rows and revisions."""
    revises = (pl.col("pane") == "late") & pl.col("op").is_null()
    counts = {"rows": pl.len(), "revisions": revises.sum(), AT: _WRITTEN.min()}
    each = rows_in(files, RESULTS).group_by(BATCH, "query").agg(**counts).collect()
    return results_of(each, written(files), times)


def results_of(each: pl.DataFrame, known: pl.DataFrame, times: BatchTimes) -> Results:
    """Sum up rows and revisions of batches and queries.

    Args:
        each: by `batch_id` and `query`: `rows`, `revisions`, and `at_us`, when a row was written.
        known: when else batches are known to have been written.
        times: learns both.
    """
    numbers = pl.col("rows", "revisions").sum()
    by_batch = each.group_by(BATCH).agg(numbers, pl.col(AT).min()).sort(BATCH)
    for one in (by_batch, known):
        _learn(times, one)
    found = Results(int(each["rows"].sum()), int(each["revisions"].sum()))
    found.history = _history(by_batch, times, ("rows", "revisions"))
    by_query = each.group_by("query").agg(numbers)
    found.queries = {query: (rows, revisions) for query, rows, revisions in by_query.iter_rows()}
    return found


def lanes(files: Files, times: BatchTimes, fates: Sequence[str]) -> LaneCounts:
    """Count what lanes have read, and what became of it, and note how far they are."""
    by_lane = (
        rows_in(files, METRICS | dict.fromkeys(fates, pl.Int64))
        .group_by(BATCH, "lane")
        # Every query counts all that is read, so one of them is enough.
        .agg(
            pl.col("read").max(),
            pl.col("dropped").sum(),
            pl.col("progress_us").max(),
            pl.col("ended").any(),
            *(pl.col(name).max() for name in fates),
        )
        .sort(BATCH)
        .collect()
    )
    _learn(times, written(files))
    return lanes_of(by_lane, times, fates)


def lanes_of(by_lane: pl.DataFrame, times: BatchTimes, fates: Sequence[str]) -> LaneCounts:
    """Sum up what lanes have read.

    Args:
        by_lane: for each batch and lane, in the order of batches: `read`, `dropped`, `progress_us`,
            `ended`, and a column of each fate.
        times: of batches.
        fates: those that windows have no part in.
    """
    total = by_lane.group_by("lane").agg(
        pl.col("read").sum(),
        pl.col("dropped").sum(),
        pl.col(BATCH).last(),
        pl.col("progress_us").last(),
        pl.col("ended").last(),
        *(pl.col(name).sum() for name in fates),
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
            fates={name: row[name] for name in fates},
        )
    by_batch = by_lane.group_by(BATCH).agg(
        pl.col("read").sum(), pl.col("dropped").sum(), batches=pl.lit(1, pl.Int64)
    )
    found.history = _history(by_batch, times, ("read", "dropped", "batches"))
    return found


def dead(files: Files, times: BatchTimes) -> DeadLetterTotals:
    """Count dead letters by reason and lane, and keep a few."""
    _learn(times, written(files))
    return dead_of(rows_in(files, DEAD).collect(), times)


def dead_of(read: pl.DataFrame, times: BatchTimes) -> DeadLetterTotals:
    """Sum up dead letters, given with their batch, position, reason and value."""
    letters = read.with_columns(
        lane=pl.format("{}/{}", "source", "partition"), late=pl.col("reason").is_in(list(LATE))
    )
    found = DeadLetterTotals()
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
    at_us = times.of(by_batch[BATCH].to_numpy())
    if at_us is None:
        return of_times(())
    counts = by_batch.select(*names).iter_rows()
    return of_times((int(at), list(one)) for at, one in zip(at_us, counts, strict=True))


def _learn(times: BatchTimes, known: pl.DataFrame) -> None:
    times.learn(known[BATCH].to_list(), known[AT].to_list())


_COUNT: Final[Mapping[Any, Callable[..., Any]]] = {
    Results: results,
    LaneCounts: lanes,
    DeadLetterTotals: dead,
}
