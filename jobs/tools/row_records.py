"""From a row of a table to its records, by the offsets that the row names: without the log's rest.

A window's rows name, per lane, the first and the last offset of what they hold. A lane's progress
never falls, so along a lane come first the records that are on time, then those of each epoch in
turn, then those that are too late. So what lies between the offsets and in the window is in it, and
the first revision whose last offset is not smaller shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import polars as pl
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from windowing.files.table_rows import rows_in
from windowing.model import Pipeline, Query
from windowing.model.rows import Key, in_row
from windowing.model.types import FieldType
from windowing.model.windows.traits import Order
from windowing.semantics.log import LogEntry
from windowing.semantics.values import Record, ValueReader
from windowing.semantics.view import attribute_of
from windowing.semantics.why import WindowRef

_COLUMNS: Final = {
    "query": pl.String,
    "window_id": pl.Int64,
    "window_start": pl.Datetime("us", "UTC"),
    "window_end": pl.Datetime("us", "UTC"),
    "pane": pl.String,
    "revision": pl.Int64,
    "op": pl.String,
    "records": pl.Int64,
    "offsets": pl.List(pl.Struct({"lane": pl.String, "first": pl.Int64, "last": pl.Int64})),
}
_TYPES: Final = {
    "int": pl.Int64(),
    "float": pl.Float64(),
    "string": pl.String(),
    "bool": pl.Boolean(),
    "timestamp": pl.Datetime("us", "UTC"),
    "date": pl.Date(),
}

Span = tuple[int, int]
"""First and last offset, both inclusive."""

Read = Callable[[Mapping[str, Span]], Iterable[LogEntry]]
"""Reads some offsets of lanes, by their names."""


class NoRows(RuntimeError):
    """A window whose records cannot be found by its rows."""

    exit_code = 2


@dataclass(frozen=True)
class Row:
    """A row of the window.

    Attributes:
        wid, start, end: its number and extent.
        records: how many records it holds.
        offsets: by lane, the first and the last of them.
    """

    wid: int
    start: int
    end: int
    revision: int
    records: int
    offsets: Mapping[str, Span]


@dataclass(frozen=True)
class WindowRecord:
    """A record of the window.

    Attributes:
        lane, offset: its place.
        at: the windowing attribute.
        append_us: when the broker appended it; None: unknown.
        revision: the first revision that shows it; None: progress is per key, and it is unknown.
    """

    lane: str
    offset: int
    at: int
    append_us: int | None
    revision: int | None
    value: str


@dataclass(frozen=True)
class RowRecords:
    """A window's rows and its records.

    Attributes:
        rows: its rows, by revision.
        records: its records, by lane and offset.
    """

    sought: WindowRef
    rows: Sequence[Row]
    records: Sequence[WindowRecord]

    @property
    def complete(self) -> bool:
        """Whether there are as many records as the rows hold."""
        counts = [row.records for row in self.rows]
        discards = self.sought.query.accumulation == "discarding"
        return len(self.records) == (sum(counts) if discards else counts[-1])

    def as_json(self) -> dict[str, Any]:
        """Format it for programs; `docs/results.md` describes it."""
        row = self.rows[-1]
        return {
            "query": self.sought.query.name,
            "window_id": row.wid,
            "start": row.start,
            "end": row.end,
            "key": [in_row(part) for part in self.sought.key],
            "revisions": [
                {"revision": one.revision, "records": one.records, "offsets": dict(one.offsets)}
                for one in self.rows
            ],
            "complete": self.complete,
            "records": [vars(one) for one in self.records],
        }


def row_records(
    pipeline: Pipeline, tables: Path, run: str, sought: WindowRef, read: Read
) -> RowRecords:
    """Find the records of a window by its rows.

    Args:
        tables: the folder of its tables.

    Raises:
        NoRows: the run's table has no row of the window, or a record's membership in it does not
            follow from its value.
    """
    query = sought.query
    if query.window.traits.order is not Order.FREE or query.window.traits.merging:
        msg = (
            f"query {query.name}: which records a window holds does not follow from their values "
            "alone: leave out --records, and the whole log is read"
        )
        raise NoRows(msg)
    rows = _rows(tables / pipeline.table_of(query.name), run, sought, _schema(pipeline, query))
    spans = reduce(_wider, (row.offsets for row in rows))
    attribute, source = attribute_of(query, pipeline.source), pipeline.source
    readers = {source.lane(n): ValueReader(pipeline, n) for n in range(source.partitions)}
    found = []
    for entry in read(spans):
        lane = f"{entry.source}/{entry.partition}"
        first, last = spans.get(lane, (0, -1))
        if entry.control is not None or not first <= entry.offset <= last:
            continue
        content = readers[lane].read_entry(entry)
        if not isinstance(content, Record) or content.withheld is not None:
            continue
        if _key(query, content) != sought.key:
            continue
        at = content.ts_us if attribute is None else content.fields[attribute]
        if isinstance(at, int) and rows[0].start <= at < rows[0].end:
            found.append(
                WindowRecord(
                    lane,
                    entry.offset,
                    at,
                    entry.append_us,
                    _revision(pipeline, rows, lane, entry.offset),
                    (entry.value or b"").decode("utf-8", errors="replace"),
                )
            )
    numbers = {source.lane(n): n for n in range(source.partitions)}
    found.sort(key=lambda one: (numbers[one.lane], one.offset))
    return RowRecords(sought, rows, found)


def _key(query: Query, record: Record) -> Key:
    return tuple(record.fields[name] for name in query.key)


def _wider(some: Mapping[str, Span], more: Mapping[str, Span]) -> dict[str, Span]:
    found = dict(some)
    for lane, (first, last) in more.items():
        low, high = found.get(lane, (first, last))
        found[lane] = min(low, first), max(high, last)
    return found


def _revision(pipeline: Pipeline, rows: Sequence[Row], lane: str, offset: int) -> int | None:
    if pipeline.source.disorder.progress_attr is not None:
        return None
    return min(row.revision for row in rows if offset <= row.offsets.get(lane, (0, -1))[1])


def _rows(table: Path, run: str, sought: WindowRef, schema: Mapping[str, Any]) -> list[Row]:
    """Return the rows of a window and key, provisional ones and retractions left out.

    Raises:
        NoRows: there are none.
    """
    try:
        frame = _near(table, run, sought, schema)
        wanted = (pl.col("pane") != "early") & pl.col("op").is_null() & _is_sought(sought)
        wanted &= pl.col("query") == sought.query.name
        for name, value in sought.fields.items():
            own = pl.col("key").struct.field(name)
            type_ = schema["key"].to_schema()[name]
            wanted &= own.eq_missing(pl.lit(value).cast(type_, strict=False))
        # Windows that begin together have different numbers: the first one is meant, as by `why`.
        instants = pl.col("window_start", "window_end").dt.epoch("us")
        found = frame.filter(wanted).with_columns(instants).sort("window_id", "revision").collect()
    except (DeltaError, OSError, pl.exceptions.PolarsError) as error:
        msg = f"{table} cannot be read as a Delta table ({error}): leave out --records"
        raise NoRows(msg) from None
    if not len(found):
        msg = (
            f"run {run} has sent no row of that window and key of query {sought.query.name}: "
            "without --records, `slackwater why` says why"
        )
        raise NoRows(msg)
    rows = [_row(row) for row in found.iter_rows(named=True)]
    return [row for row in rows if row.wid == rows[0].wid]


def _schema(pipeline: Pipeline, query: Query) -> dict[str, Any]:
    kinds = query.key_types(pipeline.source.fields)
    key = {"key": pl.Struct({name: _type(type_) for name, type_ in kinds.items()})}
    return {**_COLUMNS, **(key if kinds else {})}


def _type(type_: FieldType) -> pl.DataType:
    if type_.kind == "decimal":
        return pl.Decimal(type_.precision, type_.scale)
    return _TYPES[type_.kind]


def _is_sought(sought: WindowRef) -> pl.Expr:
    if sought.wid is not None:
        return pl.col("window_id") == sought.wid
    return pl.col("window_start").dt.epoch("us") == sought.start


def _near(table: Path, run: str, sought: WindowRef, schema: Mapping[str, Any]) -> pl.LazyFrame:
    """Return the rows of those files that may have the window, by the statistics in the log."""
    opened = DeltaTable(str(table))
    if not table.is_dir():  # on HDFS: only deltalake reaches it
        rows = pl.DataFrame(rows_in(opened, run=run))
        absent = [pl.lit(None, type_).alias(n) for n, type_ in schema.items() if n not in rows]
        return pl.LazyFrame(rows).with_columns(absent).select(list(schema))
    actions = pl.DataFrame(opened.get_add_actions(flatten=True))
    if not len(actions):
        return pl.LazyFrame(schema=dict(schema))
    mine = actions.filter((pl.col("partition.run") == run) & _may_have(actions, sought))
    if not len(mine):
        return pl.LazyFrame(schema=dict(schema))
    return pl.scan_parquet(
        [table / unquote(path) for path in mine["path"].to_list()],
        schema=dict(schema),
        missing_columns="insert",
        extra_columns="ignore",
        hive_partitioning=False,
        glob=False,
    )


def _may_have(actions: pl.DataFrame, sought: WindowRef) -> pl.Expr:
    """Return whether a file's statistics allow the window; they may be wider, or absent."""
    name, value = "window_id", sought.wid
    if value is None:
        name, value = "window_start", sought.start
    low, high = f"min.{name}", f"max.{name}"
    if low not in actions.columns or high not in actions.columns:
        return pl.lit(value=True)
    least, most = pl.col(low), pl.col(high)
    if actions.schema[low] == pl.Datetime:  # bounds are whole milliseconds
        least, most = least.dt.epoch("us") - 1_000, most.dt.epoch("us") + 1_000
    elif not actions.schema[low].is_integer():
        return pl.lit(value=True)
    return ((least <= value) & (most >= value)).fill_null(value=True)


def _row(row: Mapping[str, Any]) -> Row:
    offsets = {one["lane"]: (one["first"], one["last"]) for one in row["offsets"]}
    start, end = row["window_start"], row["window_end"]
    return Row(row["window_id"], start, end, row["revision"], row["records"], offsets)
