"""First rows of windows of every class, for any given progress of the lanes.

No clock is run: progress before each record determines the windows for which it is late, and the
engine's parts of the query find the remaining records of each window.

Source: Li et al., SIGMOD 2005, section 4 (classes), 6 (measures).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from windowing.engine.columns import (
    KEY,
    PARTITION,
    RECORDS,
    REVISION,
    VALUES,
    WINDOW_ID,
    field_column,
)
from windowing.engine.plan import closing_by_event_time, plan_flow, plan_of
from windowing.engine.progress.reached import LaneProgress, StreamProgress
from windowing.engine.wids import ENDED, NOTHING_YET, Flags, Grid, Ints, Numbering
from windowing.engine.windows.chains import end
from windowing.engine.windows.classes import numbering_by
from windowing.engine.windows.part import Scan, ShardPart, key_columns, unit_columns
from windowing.model import Pipeline, Query
from windowing.model.emission import Late
from windowing.model.fields import Aggregate
from windowing.model.types import FieldType
from windowing.model.windows.traits import Ends
from windowing.model.windows.window import Window


class TuneError(ValueError):
    """A log or pipeline without a choice of slack."""

    exit_code = 1


class UnitError(ValueError):
    """A unit in two lanes, for windows that count rows in order of arrival."""

    exit_code = 1


def weighed(pipeline: Pipeline) -> tuple[list[Query], tuple[str, ...]]:
    """Return the queries that can be weighed, and the names of those that cannot.

    Raises:
        TuneError: none can.
    """
    if pipeline.join is not None:
        msg = "a join has no windows that records go into: nothing can be weighed"
        raise TuneError(msg)
    queries = [flow.query for flow in closing_by_event_time(plan_of(pipeline))]
    if not queries:
        msg = "no query goes by event time: its slack means nothing to them"
        if not pipeline.windows:
            msg = "operators have no windows that close at a time, so nothing can be weighed: "
            msg += "the slack must exceed how far a record may be behind the newest of its lane"
        raise TuneError(msg)
    own = [
        query
        for query in queries
        if query.window.traits.ends is Ends.NUMBERED and not query.window.traits.periodic
    ]
    if len(own) == len(queries):
        msg = (
            f"query {own[0].name} has windows of a plug-in, and only those of the language are "
            "weighed: give the slack by how far a record may be behind the newest of its lane"
        )
        raise TuneError(msg)
    return [query for query in queries if query not in own], tuple(query.name for query in own)


def numbering_of(query: Query) -> Numbering:
    """Return the windows that decide lateness: the query's own, or ones that end at each record."""
    window = query.window
    if window.traits.ends is Ends.ROWS or window.traits.merging:
        # Rows are numbered when progress passes them, so a row that comes later is late; a record
        # is late for its session if progress had passed it.
        return Grid(range_=1, slide=1, origin=0)
    return numbering_by(window)


def spans(query: Query, ts_us: Ints) -> tuple[Ints, Ints]:
    """Return first and last window of each record; last < first if the record is in no window."""
    numbers = numbering_of(query)
    first, last = numbers.span(ts_us)
    return first, np.where(numbers.outside(ts_us), first - 1, last)


def late_for_some(query: Query, ts_us: Ints, before_us: Ints) -> Flags:
    """Return which records are late for some window, given the progress before each."""
    first, last = spans(query, ts_us)
    late: Flags = (first <= last) & (numbering_of(query).open_from(before_us) > first)
    return late


def first_rows(
    pipeline: Pipeline, query: Query, records: pl.DataFrame, before_us: Ints | None
) -> pl.DataFrame:
    """Return the content of revision 0, per window and key, as the engine's parts have it.

    Args:
        pipeline: the query's.
        query: the query, with its window, keys, and mode of lateness.
        records: valid records with `ts_us`, `partition`, `offset`, `place` and the fields.
        before_us: the progress before each record; None: nothing is late.

    Returns:
        `wid`, the key's columns, `n` records, and `ids`, the sum of their places; of sessions, the
        `end`, too.

    Raises:
        UnitError: rows are counted as they arrive, and a unit arrives in two lanes.
    """
    if query.window.traits.counts_arrivals:
        _check_lanes(query, records)
    place = max(("", *pipeline.source.fields), key=len) + "_"
    before = np.full(len(records), NOTHING_YET) if before_us is None else before_us
    numbers = pl.int_range(pl.len(), dtype=pl.Int64).over("partition", *unit_columns(query))
    read = (
        records.with_columns(
            pl.col("place").cast(pl.Int64).alias(field_column(place)), before=before
        )
        .sort("partition", "offset")
        .with_columns(number=numbers)
    )
    keys = key_columns(query)
    found = _rows(*_summing(pipeline, query, place), read)
    if found.is_empty():
        return read.select(*keys, wid="ts_us", n="ts_us", ids="ts_us", end="ts_us").clear()
    fields = dict.fromkeys(query.key)
    of_key = [pl.col(KEY).struct.field(name).alias(field_column(name)) for name in fields]
    return found.filter(pl.col(REVISION) == 0).select(
        *of_key,
        wid=pl.col(WINDOW_ID),
        n=pl.col(RECORDS).cast(pl.Int64),
        ids=pl.col(VALUES).struct.field("ids"),
        end=end() if query.window.traits.merging else pl.col(WINDOW_ID),
    )


def _summing(pipeline: Pipeline, query: Query, place: str) -> tuple[Pipeline, Query]:
    """Return them with the sum of a field of places as the only aggregate, and no revisions."""
    changed = {
        "aggregates": (Aggregate("ids", "sum", place),),
        "late": Late(policy="drop", mode=query.late.mode),
        "retention_us": None,
        "early": None,
        "accumulation": "accumulating",
        "having": None,
        "empty_after": 0,  # what holds no record misses none
    }
    fields = {**pipeline.source.fields, place: FieldType("int")}
    source = pipeline.source.model_copy(update={"fields": fields})
    return pipeline.model_copy(update={"source": source}), query.model_copy(update=changed)


def _rows(pipeline: Pipeline, query: Query, read: pl.DataFrame) -> pl.DataFrame:
    plan = plan_flow(query, pipeline)
    lane_part, tables = plan.lane_part(pipeline), dict[str, list[pl.DataFrame]]()
    for (partition,), lane in read.partition_by("partition", as_dict=True).items():
        columns = (lane[name].to_numpy() for name in ("ts_us", "before", "number"))
        _, added = lane_part.assign(Scan(partition, lane, *columns))
        for name, table in added.items():
            of_lane = table.with_columns(pl.lit(partition, dtype=pl.Int32).alias(PARTITION))
            tables.setdefault(name, []).append(of_lane)
    held = {name: plan.schema.concat(frames) for name, frames in tables.items()}
    newest = int(read["ts_us"].to_numpy().max())
    ended = StreamProgress([LaneProgress(ENDED, newest + 1, newest)])
    part: ShardPart = plan.shard_part(pipeline)
    return part.rows(held, StreamProgress([LaneProgress()]), ended)


def _check_lanes(query: Query, records: pl.DataFrame) -> None:
    unit = unit_columns(query)
    units = records.group_by(unit) if unit else records.group_by(pl.lit(0))
    if units.agg(pl.col("partition").n_unique())["partition"].to_numpy().max(initial=0) > 1:
        msg = (
            f"query {query.name} counts rows as they arrive, and they arrive in several "
            "partitions: key the topic by PATTR, or leave the query out"
        )
        raise UnitError(msg)


def closings(query: Query, records: pl.DataFrame, truth: pl.DataFrame) -> tuple[Ints, Ints]:
    """Return the end of each window, and the progress that closes it (ENDED: only a lane's end).

    Args:
        records: as for `first_rows`.
        truth: the first rows if nothing is late.
    """
    if query.window.traits.merging:
        ends = truth["end"].to_numpy()
        return ends, ends
    ids = truth["wid"].unique().to_numpy()
    if query.window.traits.at_records:
        return ids, ids + 1
    if query.window.traits.ends is not Ends.ROWS:
        ends = numbering_of(query).ends(ids)
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
    unit = unit_columns(query)
    ordered = records.sort("ts_us", "partition", "offset")
    parts = ordered.partition_by(unit, maintain_order=True) if unit else []
    return iter(parts or [ordered])
