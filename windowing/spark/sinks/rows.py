"""The frames of a batch as Arrow tables: one per query, and two more.

All table sinks write these, whatever the destination.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from windowing.engine.columns import (
    ABSORBED_BY,
    FIRST_OFFSET,
    KEY,
    LAST_OFFSET,
    OFFSETS,
    OVERFLOW,
    PARTITION,
    RECORDS,
    RETRACTS,
    REVISION,
    TOMBSTONE,
    VALUES,
    WINDOW_ID,
)
from windowing.engine.effects import took_effect
from windowing.engine.families.due_rows import RowsByQuery
from windowing.engine.families.family import MARK
from windowing.engine.families.shard_part import together
from windowing.engine.plan import extents
from windowing.engine.storage.frames import from_bytes
from windowing.engine.storage.parcel import DEAD_LETTER_SCHEMA, metric_schema
from windowing.model import Pipeline
from windowing.model.fields import ValueType
from windowing.model.lengths import INT64_MAX
from windowing.model.query import Flow
from windowing.model.types import FieldType
from windowing.runtime.output import DEAD_LETTER, EARLY, METRIC, RESULT, SinkFrame, marks
from windowing.spark.sinks.growth import conformed
from windowing.spark.sinks.shared_rows import SharedRows

DEAD_LETTERS, METRICS = "dead_letters", "metrics"
LAG = "lag_us"

_TIME = pa.timestamp("us", tz="UTC")
_OFFSETS = pa.list_(pa.struct([("lane", pa.string()), ("first", pa.int64()), ("last", pa.int64())]))
_MARKS = {
    "op": pa.string(),
    "tombstone": pa.bool_(),
    "absorbed_by": pa.int64(),
    "overflow": pa.list_(pa.string()),
}
_PLAIN = {
    "run": pa.string(),
    "query": pa.string(),
    "window_id": pa.int64(),
    "window_start": _TIME,
    "window_end": _TIME,
    "pane": pa.string(),
    "revision": pa.int64(),
    "records": pa.int64(),
    "offsets": _OFFSETS,
    "batch_id": pa.int64(),
    LAG: pa.int64(),
}
_ORDER = (
    *("run", "query", "window_id", "window_start", "window_end", "key", "pane", "revision"),
    *(*_MARKS, "records", "offsets", "values", "batch_id", LAG),
)
"""The columns of results, of which a query has some."""

_TYPES = {
    "int": pa.int64(),
    "float": pa.float64(),
    "string": pa.string(),
    "bool": pa.bool_(),
    "timestamp": _TIME,
    "date": pa.date32(),
}


class BatchRows:
    """The converter of frames into rows of tables.

    Args:
        run: the identity of the checkpoint, part of every row.
    """

    def __init__(self, pipeline: Pipeline, run: str) -> None:
        self._pipeline, self._run, source = pipeline, run, pipeline.source
        self._lanes = {number: source.lane(number) for number in range(source.partitions)}
        self._apart, self._shares = RowsByQuery(pipeline), dict[str, SharedRows]()
        self._flows = {flow.name: flow for flow in pipeline.flows}
        self._schemas, self._own = schemas(pipeline), dict[str, pa.Schema]()

    def tables(self, frames: Sequence[SinkFrame], batch_id: int) -> dict[str, pa.Table]:
        """Return the tables with rows of a batch, by name.

        Args:
            frames: all frames of the batch; Spark rows with these fields are allowed.
        """
        tables = {}
        shared, others = self._divided(frames)
        found = self._by_table(self.results(others, batch_id))
        for name, parts in found.items():
            schema = self._schemas[name]
            own = parts if len(self._pipeline.tables[name]) == 1 else _united(parts, schema)
            tables[name] = pa.concat_tables(own)
            took_effect("one table", len(tables[name]) if own is not parts else 0)
        for name, frame in shared.items():
            table = self._pipeline.table_of(name)
            before = [tables[table]] if table in tables else []
            tables[table] = pa.concat_tables([*before, *self._shared(name, frame, batch_id)])
            took_effect("one table", len(tables[table]))
        return tables | self.passed(frames, batch_id)

    def _divided(
        self, frames: Sequence[SinkFrame]
    ) -> tuple[dict[str, pl.DataFrame], list[SinkFrame]]:
        """Return the rows of families whose queries share a table, and all other frames."""
        if self._pipeline.destination.layout == "many":
            return {}, list(frames)
        shared: dict[str, list[pl.DataFrame]] = {}
        others = []
        for one in frames:
            if one.kind == RESULT and one.query is not None and one.query.startswith(MARK):
                shared.setdefault(one.query, []).append(from_bytes(bytes(one.frame)))
            else:
                others.append(one)
        return {name: together(parts) for name, parts in shared.items()}, others

    def passed(self, frames: Sequence[SinkFrame], batch_id: int) -> dict[str, pa.Table]:
        """Return the tables of dead letters and metrics that have rows; the arguments as above."""
        tables = {}
        for name, kind in ((DEAD_LETTERS, DEAD_LETTER), (METRICS, METRIC)):
            parts = [from_bytes(bytes(f.frame)) for f in frames if f.kind == kind]
            if parts:
                tables[name] = self._passed(name, parts, batch_id)
        return tables

    def results(
        self, frames: Sequence[SinkFrame], batch_id: int
    ) -> Iterator[tuple[Flow, pa.Table]]:
        """Yield the rows of queries, with their own columns; the arguments as above."""
        emitted: dict[tuple[str, str], list[pl.DataFrame]] = {}
        for one in frames:
            if one.kind in (RESULT, EARLY):
                assert one.query is not None  # noqa: S101 - rows are a query's, or a family's
                for query, frame in self._apart.of(one.query, from_bytes(bytes(one.frame))):
                    emitted.setdefault((query, one.kind), []).append(frame)
        for name, flow in self._flows.items() if emitted else ():
            for kind in (RESULT, EARLY):
                if own := emitted.get((name, kind)):
                    yield flow, self._results(flow, pl.concat(own), batch_id, early=kind == EARLY)

    def _by_table(self, results: Iterator[tuple[Flow, pa.Table]]) -> dict[str, list[pa.Table]]:
        found: dict[str, list[pa.Table]] = {}
        for flow, rows in results:
            found.setdefault(self._pipeline.table_of(flow.name), []).append(rows)
        return found

    def _results(
        self,
        query: Flow,
        frame: pl.DataFrame,
        batch_id: int,
        *,
        early: bool,
    ) -> pa.Table:
        bounds = extents(query, frame)
        starts, ends = [start for start, _ in bounds], [end for _, end in bounds]
        columns = {
            **self._common(frame, batch_id, early=early),
            "query": pa.array([query.name] * len(frame), pa.string()),
            "window_start": pa.array(starts, pa.int64()).cast(_TIME),
            "window_end": pa.array(ends, pa.int64()).cast(_TIME),
            "values": frame[VALUES].to_arrow(),
            LAG: pa.array(self._lags(query, ends), pa.int64()),
        }
        schema = self._own_schema(query)
        return pa.table([columns[f.name].cast(f.type) for f in schema], schema=schema)

    def _shared(self, name: str, frame: pl.DataFrame, batch_id: int) -> Iterator[pa.Table]:
        family = self._apart.families[name]
        schema = self._schemas[self._pipeline.table_of(name)]
        rows = self._shares.setdefault(name, SharedRows(family, schema))
        starts, ends = rows.bounds(frame)
        lags = time.time_ns() // 1000 - ends
        common = {
            **self._common(frame, batch_id),
            "window_start": pa.array(starts).cast(_TIME),
            "window_end": pa.array(ends).cast(_TIME),
            LAG: pa.array(lags),
        }
        wanted = {name: schema.field(name).type for name in schema.names if name in common}
        columns = {name: common[name].cast(type_) for name, type_ in wanted.items()}
        yield from rows.of_queries(frame, columns)

    def _common(
        self, frame: pl.DataFrame, batch_id: int, *, early: bool = False
    ) -> dict[str, pa.Array]:
        marked, is_late = frame.with_columns(marks(frame)), frame[REVISION] > 0
        pane = pl.when(is_late).then(pl.lit("late")).otherwise(pl.lit("full"))
        derived = marked.select(
            run=pl.lit(self._run),
            pane=pl.lit("early") if early else pane,
            op=pl.when(pl.col(RETRACTS)).then(pl.lit("retract")),
            tombstone=pl.when(pl.col(TOMBSTONE)).then(pl.lit(value=True)),
            batch_id=pl.lit(batch_id, dtype=pl.Int64),
        )
        columns = {
            **{name: column.to_arrow() for name, column in derived.to_dict().items()},
            "window_id": frame[WINDOW_ID].to_arrow(),
            "revision": frame[REVISION].to_arrow(),
            "absorbed_by": marked[ABSORBED_BY].to_arrow(),
            "overflow": marked[OVERFLOW].to_arrow(),
            "records": frame[RECORDS].to_arrow(),
            "offsets": self._offsets(frame[OFFSETS]),
        }
        return columns | ({"key": frame[KEY].to_arrow()} if KEY in frame.columns else {})

    def _own_schema(self, query: Flow) -> pa.Schema:
        if query.name not in self._own:
            self._own[query.name] = result_schema(query, self._pipeline)
        return self._own[query.name]

    def _lags(self, query: Flow, ends: Sequence[int]) -> list[int | None]:
        """How long after its window's end each row is written; null where an end is no time.

        Only a diagnostic: never compared.
        """
        if query.attribute != self._pipeline.source.event_time.field:
            return [None] * len(ends)
        now_us = time.time_ns() // 1000
        return [min(now_us - end_us, INT64_MAX) for end_us in ends]

    def _offsets(self, offsets: pl.Series) -> pa.Array:
        number = pl.element().struct[PARTITION]
        lane = number.replace_strict(self._lanes, return_dtype=pl.String)
        named = offsets.list.eval(
            pl.struct(
                lane=lane,
                first=pl.element().struct[FIRST_OFFSET],
                last=pl.element().struct[LAST_OFFSET],
            )
        )
        return named.to_arrow()

    def _passed(self, name: str, parts: Sequence[pl.DataFrame], batch_id: int) -> pa.Table:
        number = pl.col(PARTITION)
        places = {n: self._pipeline.source.place(n) for n in self._lanes}
        topics = {n: source.topic for n, (source, _) in places.items()}
        partitions = {n: partition for n, (_, partition) in places.items()}
        frame = pl.concat(parts).with_columns(
            run=pl.lit(self._run),
            batch_id=pl.lit(batch_id, dtype=pl.Int64),
            source=number.replace_strict(topics, return_dtype=pl.String),
            lane=number.replace_strict(self._lanes, return_dtype=pl.String),
            partition=number.replace_strict(partitions, return_dtype=pl.Int32),
        )
        schema = self._schemas[name]
        return frame.select(schema.names).to_arrow().cast(schema)


def schemas(pipeline: Pipeline) -> dict[str, pa.Schema]:
    """Return the tables of a pipeline and their columns."""
    dead = ["run", "source", *DEAD_LETTER_SCHEMA, "batch_id"]
    counts = metric_schema(pipeline.source.fates)
    metrics = ["run", "lane", *(n for n in counts if n != "partition"), "batch_id"]
    known = {**DEAD_LETTER_SCHEMA, **counts}
    return {
        **{name: _table_schema(flows, pipeline) for name, flows in pipeline.tables.items()},
        DEAD_LETTERS: pa.schema([(name, _passed_type(name, known)) for name in dead]),
        METRICS: pa.schema([(name, _passed_type(name, known)) for name in metrics]),
    }


def _table_schema(flows: Sequence[Flow], pipeline: Pipeline) -> pa.Schema:
    found: dict[str, pa.DataType] = {}
    parts: dict[str, dict[str, pa.DataType]] = {}
    # Most of many queries have the same columns.
    for schema in dict.fromkeys(result_schema(flow, pipeline) for flow in flows):
        for field in schema:
            found.setdefault(field.name, field.type)
            if pa.types.is_struct(field.type):
                own = parts.setdefault(field.name, {})
                for part in field.type:
                    own.setdefault(part.name, part.type)
    structs = {name: pa.struct(list(own.items())) for name, own in parts.items()}
    return pa.schema(sorted((found | structs).items(), key=lambda one: _ORDER.index(one[0])))


def _united(parts: Sequence[pa.Table], schema: pa.Schema) -> Iterator[pa.Table]:
    """Return rows of several queries with the columns of their table, null if of other queries."""
    return (rows if rows.schema == schema else conformed(rows, schema) for rows in parts)


def _passed_type(name: str, known: Mapping[str, Any]) -> pa.DataType:
    polars = known.get(name, pl.Int64 if name == "batch_id" else pl.String)
    types = {pl.Int32: pa.int32(), pl.Int64: pa.int64(), pl.Boolean: pa.bool_()}
    return types.get(polars, pa.string())


def result_schema(query: Flow, pipeline: Pipeline) -> pa.Schema:
    """Return the columns of a query's rows, of which its table may have more."""
    fields = pipeline.source.fields
    key = pa.struct([(name, _type(type_)) for name, type_ in query.key_types(fields).items()])
    shown = query.value_types(fields)
    values = [(name, _value_type(shown[name])) for name in query.shows]
    types = {**_PLAIN, "key": key, **_MARKS, "values": pa.struct(values)}
    marked = {*query.marks} | ({"overflow"} if query.may_overflow(fields) else set())
    absent = {*_MARKS} - marked | (set() if query.key else {"key"})
    return pa.schema([(name, types[name]) for name in _ORDER if name not in absent])


def _value_type(type_: ValueType) -> pa.DataType:
    return pa.list_(_type(type_)) if type_.many else _type(type_)


def _type(type_: FieldType | ValueType) -> pa.DataType:
    if type_.kind == "decimal":
        return pa.decimal128(type_.precision, type_.scale)
    return _TYPES[type_.kind]


def in_microseconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column with instants as integers, which Python's cannot hold all; nested ones too.

    Lists and structs of them are as in the tables of results.
    """
    plain = _in_microseconds(column.type)
    return column if plain == column.type else column.cast(plain)


def _in_microseconds(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(type_):
        return pa.int64()
    if pa.types.is_list(type_):
        return pa.list_(_in_microseconds(type_.value_type))
    if pa.types.is_struct(type_):
        return pa.struct([(part.name, _in_microseconds(part.type)) for part in type_])
    return type_
