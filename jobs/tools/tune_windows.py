"""First rows of windows of every class, for any given progress of the lanes.

Nothing is run: progress before each record determines the windows for which it is late, and the
remaining records of each window are counted. The windows of a class are found as its source says:
by the grid of slides, at the records that define them, or by row numbers.

Source: Li et al., SIGMOD 2005, section 4 (classes), 6 (measures).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from windowing.engine import wids
from windowing.engine.columns import AT_FIRST, AT_LAST, CHAIN
from windowing.engine.wids import ENDED, Flags, Grid, Ints
from windowing.engine.windows.chains import chained, end, with_gap
from windowing.engine.windows.keys import key_columns, unit_columns
from windowing.model import Query
from windowing.model.windows.traits import Ends, Order
from windowing.model.windows.window import Window

_ROWS = ("wid", "n", "ids")
_NO_WINDOWS: Ints = np.empty(0, dtype=np.int64)


class UnitError(ValueError):
    """A unit in two lanes, for windows that count rows in order of arrival."""

    exit_code = 1


def grid_of(query: Query) -> Grid:
    """Return the windows that decide lateness: the query's own, or ones that end at each record."""
    window = query.window
    if window.traits.ends is Ends.ROWS or window.traits.merging:
        # Rows are numbered when progress passes them, so a row that comes later is late; a record
        # is late for its session if progress had passed it.
        return Grid(range_=1, slide=1, origin=0)
    return wids.grid(window)


def spans(query: Query, ts_us: Ints) -> tuple[Ints, Ints]:
    """Return first and last window of each record; last < first if the record is in no window."""
    grid = grid_of(query)
    first, last = wids.slide_of(grid, ts_us), wids.last_window(grid, ts_us)
    gridded = query.window.traits.ends is Ends.SLIDES
    return first, np.where((ts_us < grid.origin) & gridded, first - 1, last)


def late_for_some(query: Query, ts_us: Ints, before_us: Ints) -> Flags:
    """Return which records are late for some window, given the progress before each."""
    first, last = spans(query, ts_us)
    late: Flags = (first <= last) & (wids.slide_of(grid_of(query), before_us) > first)
    return late


def first_rows(query: Query, records: pl.DataFrame, before_us: Ints | None) -> pl.DataFrame:
    """Return the content of revision 0, per window and key.

    Args:
        query: the query, with its window, keys, and mode of lateness.
        records: valid records with `ts_us`, `partition`, `offset`, `place` and the fields.
        before_us: the progress before each record; None: nothing is late.

    Returns:
        `wid`, the key's columns, `n` records, and `ids`, the sum of their places.

    Raises:
        UnitError: rows are counted as they arrive, and a unit arrives in two lanes.
    """
    ts_us, traits = records["ts_us"].to_numpy(), query.window.traits
    on_time = np.ones(len(ts_us), bool) if before_us is None else before_us <= ts_us
    if traits.ends is Ends.ROWS:
        return _rows_of_numbers(query, records.filter(pl.Series(on_time)))
    if traits.merging:
        held = _sessions(query, records.filter(pl.Series(on_time)))
        return held.select("wid", *key_columns(query), "n", "ids")
    first, last = spans(query, ts_us)
    if before_us is not None:
        open_from = wids.slide_of(grid_of(query), before_us)
        consistent = query.late.mode == "consistent"
        first = np.where(consistent & (open_from > first), last + 1, np.maximum(first, open_from))
    intervals = _intervals(query, records, first, last)
    if traits.at_records:
        return _covered(query, intervals, 0, _definers(query, records, on_time))
    if traits.cumulative:
        newest = int(wids.slide_of(query.window, ts_us).max(initial=0))
        return _covered(query, intervals, newest, None)
    return _spread(query, intervals)


def closings(query: Query, records: pl.DataFrame, truth: pl.DataFrame) -> tuple[Ints, Ints]:
    """Return the end of each window, and the progress that closes it (ENDED: only a lane's end).

    Args:
        query: the query.
        records: as for `first_rows`.
        truth: the first rows if nothing is late.
    """
    if query.window.traits.merging:
        ends = _sessions(query, records)["end"].to_numpy()
        return ends, ends
    ids = truth["wid"].unique().to_numpy()
    if query.window.traits.at_records:
        return ids, ids + 1
    if query.window.traits.ends is not Ends.ROWS:
        ends = wids.end_us(query.window, ids)
        return ends, ends
    found = [_closings_of_unit(query.window, unit) for unit in _units(query, records)]
    every_end, closes = zip(*found, strict=True)
    return np.concatenate(every_end), np.concatenate(closes)


def _closings_of_unit(window: Window, unit: pl.DataFrame) -> tuple[Ints, Ints]:
    ts_us, slide = unit["ts_us"].to_numpy(), window.slide
    rows = (np.arange((len(ts_us) - 1) // slide + 1) + 1) * slide
    full = rows <= len(ts_us)
    ends = ts_us[np.minimum(rows, len(ts_us)) - 1]
    return ends, np.where(full, ends + 1, ENDED)


def _units(query: Query, records: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Return the records of each unit, in canonical order."""
    unit = unit_columns(query)
    ordered = records.sort("ts_us", "partition", "offset")
    parts = ordered.partition_by(unit, maintain_order=True) if unit else []
    return iter(parts or [ordered])


def _sessions(query: Query, records: pl.DataFrame) -> pl.DataFrame:
    """Return the sessions of some records: the rows of `first_rows`, with each one's `end`."""
    keys, at = key_columns(query), pl.col("ts_us")
    pieces = records.select(
        *keys, at.alias(AT_FIRST), at.alias(AT_LAST), ids=pl.col("place").cast(int)
    )
    drawn = chained(with_gap(query, pieces), keys)
    return drawn.group_by(*keys, CHAIN).agg(
        wid=pl.col(AT_FIRST).min(),
        n=pl.len().cast(pl.Int64),
        ids=pl.col("ids").sum(),
        end=end().max(),
    )


def _intervals(query: Query, records: pl.DataFrame, first: Ints, last: Ints) -> pl.DataFrame:
    """Return each record's windows, `first` to `last`, with key and place, if it has any."""
    keys = records.select(*key_columns(query), ids=pl.col("place").cast(pl.Int64))
    frame = keys.with_columns(first=pl.Series(first), last=pl.Series(last))
    return frame.filter(pl.col("first") <= pl.col("last"))


def _spread(query: Query, intervals: pl.DataFrame) -> pl.DataFrame:
    """Return rows where each record is in few windows: slices, expanded to their windows."""
    keys = key_columns(query)
    slices = intervals.group_by(*keys, "first", "last").agg(
        n=pl.len().cast(pl.Int64), ids=pl.col("ids").sum()
    )
    spread = slices.with_columns(wid=pl.int_ranges("first", pl.col("last") + 1)).explode("wid")
    return spread.group_by("wid", *keys).agg(pl.col("n").sum(), pl.col("ids").sum())


def _covered(
    query: Query,
    intervals: pl.DataFrame,
    newest: int,
    windows: dict[object, Ints] | None,
) -> pl.DataFrame:
    """Return rows of windows from the intervals that cover them.

    Args:
        query: the query.
        intervals: the records' intervals of windows.
        newest: the last window to list, where windows continue without end.
        windows: per value of PATTR, the existing windows, rising; None: all up to `newest`.
    """
    keys, unit = key_columns(query), unit_columns(query)
    groups = intervals.partition_by(keys, maintain_order=True) if keys else []
    parts = []
    for group in groups or [intervals]:
        first, last = group.sort("first"), group.sort("last")
        if windows is None:
            ids = np.arange(first["first"][0] if len(first) else 0, newest + 1)
        else:
            ids = windows.get(group[unit[0]][0] if unit and len(group) else None, _NO_WINDOWS)
        opened = np.searchsorted(first["first"].to_numpy(), ids, "right")
        gone = np.searchsorted(last["last"].to_numpy(), ids, "left")
        sums = [np.concatenate(([0], part["ids"].to_numpy().cumsum())) for part in (first, last)]
        counts = {"wid": ids, "n": opened - gone, "ids": sums[0][opened] - sums[1][gone]}
        rows = pl.DataFrame(counts, schema=dict.fromkeys(_ROWS, pl.Int64))
        rows = rows.filter(pl.col("n") > 0)
        key = group.select(keys).head(1)
        parts.append(rows.join(key, how="cross") if keys else rows)
    return pl.concat(parts).select("wid", *keys, "n", "ids")


def _rows_of_numbers(query: Query, records: pl.DataFrame) -> pl.DataFrame:
    """Return rows of windows over the records' numbers in canonical order."""
    parts, newest = [], 0
    for unit in _units(query, records):
        numbers = np.arange(len(unit), dtype=np.int64)
        first = wids.slide_of(query.window, numbers)
        parts.append(_intervals(query, unit, first, wids.last_window(query.window, numbers)))
        newest = max(newest, int(first.max(initial=0)))
    if query.window.range_ is not None:
        return _spread(query, pl.concat(parts))
    rows = []
    for unit, part in zip(_units(query, records), parts, strict=True):
        last = int(wids.slide_of(query.window, np.array([len(unit) - 1]))[0])
        rows.append(_covered(query, part, last, None))
    return pl.concat(rows)


def _definers(query: Query, records: pl.DataFrame, on_time: Flags) -> dict[object, Ints]:
    """Return, per value of PATTR (None without), the windows that on-time records define."""
    unit, slide = unit_columns(query), query.window.slide
    by_rank = query.window.traits.order is Order.CANONICAL
    records = records.with_columns(on_time=pl.Series(on_time))
    if by_rank:
        records = records.filter("on_time")
    ordered = records.sort("ts_us" if by_rank else "partition", "partition", "offset")
    found: dict[object, Ints] = {}
    for part in ordered.partition_by(unit, maintain_order=True) if unit else [ordered]:
        if query.window.traits.counts_arrivals and part["partition"].n_unique() > 1:
            msg = (
                f"query {query.name} counts rows as they arrive, and they arrive in several "
                "partitions: key the topic by PATTR, or leave the query out"
            )
            raise UnitError(msg)
        chosen = part[slide - 1 :: slide].filter("on_time")
        key = part[unit[0]][0] if unit and len(part) else None
        found[key] = np.unique(chosen["ts_us"].to_numpy())
    return found
