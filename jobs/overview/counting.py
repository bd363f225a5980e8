"""Reads the new files of a run's Delta tables, column by column, and counts what is in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import unquote

import polars as pl
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from jobs.overview.batch_times import BatchTimes
from jobs.overview.buckets import Buckets, of_times
from jobs.overview.cache import Seen, digest, digests, stamp
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
from windowing.table_rows import rows_in

BATCH: Final = "batch_id"
AT: Final = "at_us"

_WRITTEN: Final = pl.col("window_end").dt.epoch("us") + pl.col("lag_us")
"""When a row was written; null for windows that do not end in time."""

_RESULTS: Final = {
    BATCH: pl.Int64,
    "pane": pl.String,
    "op": pl.String,
    "window_end": pl.Datetime("us", "UTC"),
    "lag_us": pl.Int64,
}
_METRICS: Final = {
    BATCH: pl.Int64,
    "lane": pl.String,
    "query": pl.String,
    "read": pl.Int64,
    "dropped": pl.Int64,
    "progress_us": pl.Int64,
    "ended": pl.Boolean,
}
_DEAD: Final = {
    BATCH: pl.Int64,
    "source": pl.String,
    "partition": pl.Int32,
    "offset": pl.Int64,
    "reason": pl.String,
    "value": pl.String,
}

Sums = TypeVar("Sums", Results, LaneCounts, Dead)


def is_here(table: Path) -> bool:
    """Whether a table is on this machine; if not, it is on HDFS, and only deltalake reaches it."""
    return table.is_dir()


class Unreadable(RuntimeError):
    """A table that cannot be read."""


@dataclass
class Files:
    """The files of a run in a table, some of which have been counted.

    Attributes:
        table: the table.
        folder: its folder.
        run: the run.
        fresh: the paths of those that have not been counted.
        written: for each batch that is alone in one of them, when that file was committed.
        whole: whether nothing has been counted before.
    """

    table: DeltaTable
    folder: Path
    run: str
    fresh: Sequence[str]
    written: pl.DataFrame
    whole: bool

    def read(self, columns: Mapping[str, Any]) -> pl.LazyFrame:
        """Return columns of the rows in them; a column that a file lacks is null."""
        if not is_here(self.folder):
            there = [name for name in columns if name in self.table.schema().to_arrow().names]
            rows = pl.LazyFrame(pl.DataFrame(rows_in(self.table, columns=there, run=self.run)))
            absent = [pl.lit(None).alias(name) for name in columns if name not in there]
            return rows.with_columns(absent).select(list(columns)).cast(dict(columns))
        if not self.fresh:
            return pl.LazyFrame(schema=dict(columns))
        return pl.scan_parquet(
            [self.folder / path for path in self.fresh],
            schema=dict(columns),
            missing_columns="insert",
            extra_columns="ignore",
            hive_partitioning=False,
            glob=False,
        )


def counted(
    table: Path,
    run: str,
    seen: Seen | None,
    count: Callable[[Files, BatchTimes], Sums],
    times: BatchTimes,
) -> tuple[Sums, Seen, bool]:
    """Count what is in the files of a table that have not been counted.

    Args:
        table: its folder.
        run: the run whose rows are counted.
        seen: the version that was counted before; None: none.
        count: `results`, `lanes` or `dead`.
        times: the times of batches; more are learned.

    Returns:
        the sums, the version that they lead to, and whether they are those of the whole table.

    Raises:
        Unreadable: the table cannot be read.
    """
    try:
        files, now = _open(table, run, seen)
        return count(files, times), now, files.whole
    except TableNotFoundError:
        msg = f"{table} is not there yet: the run has not written to it"
        raise Unreadable(msg) from None
    except (DeltaError, OSError, pl.exceptions.PolarsError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        msg = f"{table} cannot be read: {first}"
        raise Unreadable(msg) from None


def _open(folder: Path, run: str, seen: Seen | None) -> tuple[Files, Seen]:
    """Open a table; return the run's files in it, and its version.

    Raises:
        DeltaError, OSError: it cannot be read.
    """
    table = DeltaTable(str(folder))
    actions = pl.DataFrame(table.get_add_actions(flatten=True))
    if len(actions):
        actions = actions.filter(pl.col("partition.run") == run)
        actions = actions.with_columns(pl.Series("path", map(unquote, actions["path"])))
    paths = actions["path"].to_list() if len(actions) else []
    current, before = digests(paths), set(seen.files if seen else ())
    whole = not before <= set(current) or not is_here(folder)
    fresh = paths if whole else [path for path in paths if digest(path) not in before]
    version = table.version()
    now = Seen(version, stamp(folder, version) or [], current)
    return Files(table, folder, run, fresh, _written(actions, fresh), whole), now


def _written(actions: pl.DataFrame, fresh: Sequence[str]) -> pl.DataFrame:
    """Return when files with a single batch were committed, by batch."""
    names = ("min.batch_id", "max.batch_id", "modification_time")
    if not len(actions) or not all(name in actions.columns for name in names):
        return pl.DataFrame(schema={BATCH: pl.Int64, AT: pl.Int64})
    low, high, at = map(pl.col, names)
    mine = actions.filter(pl.col("path").is_in(list(fresh)) & (low == high))
    return mine.select(low.cast(pl.Int64).alias(BATCH), (_epoch_ms(mine, at) * 1000).alias(AT))


def _epoch_ms(actions: pl.DataFrame, at: pl.Expr) -> pl.Expr:
    """Return an action's time in milliseconds, however deltalake gives it."""
    is_time = actions.schema["modification_time"] == pl.Datetime
    return at.dt.epoch("ms") if is_time else at.cast(pl.Int64)


def results(files: Files, times: BatchTimes) -> Results:
    """Count rows and revisions."""
    revises = (pl.col("pane") == "late") & pl.col("op").is_null()
    by_batch = (
        files.read(_RESULTS)
        .group_by(BATCH)
        .agg(rows=pl.len(), revisions=revises.sum(), at_us=_WRITTEN.min())
        .sort(BATCH)
        .collect()
    )
    times.learn(by_batch[BATCH], by_batch[AT])
    times.learn(files.written[BATCH], files.written[AT])
    found = Results(int(by_batch["rows"].sum()), int(by_batch["revisions"].sum()))
    found.history = _history(by_batch, times, ("rows", "revisions"))
    return found


def lanes(files: Files, times: BatchTimes) -> LaneCounts:
    """Count what lanes have read, and note how far they are."""
    by_lane = (
        files.read(_METRICS)
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
    letters = (
        files.read(_DEAD)
        .with_columns(
            lane=pl.format("{}/{}", "source", "partition"),
            late=pl.col("reason").is_in(list(LATE)),
        )
        .collect()
    )
    times.learn(files.written[BATCH], files.written[AT])
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
