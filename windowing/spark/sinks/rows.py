"""The frames of a batch as Arrow tables: one per query, and two more.

All table sinks write these, whatever the destination.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import polars as pl
import pyarrow as pa

from windowing.engine.columns import (
    ABSORBED_BY,
    FIRST_OFFSET,
    KEY,
    LAST_OFFSET,
    OFFSETS,
    PARTITION,
    RECORDS,
    RETRACTS,
    REVISION,
    VALUES,
    WINDOW_ID,
)
from windowing.engine.frames import from_bytes
from windowing.engine.parcel import DEAD_LETTER_SCHEMA, METRIC_SCHEMA
from windowing.engine.windows.classes import extents
from windowing.model import Pipeline
from windowing.model.fields import ValueType
from windowing.model.lengths import INT64_MAX
from windowing.model.query import AnyFlow
from windowing.runtime.output import DEAD_LETTER, EARLY, METRIC, RESULT, Emitted, marks

DEAD_LETTERS, METRICS = "dead_letters", "metrics"
LAG = "lag_us"

_TIME = pa.timestamp("us", tz="UTC")
_OFFSETS = pa.list_(pa.struct([("lane", pa.string()), ("first", pa.int64()), ("last", pa.int64())]))
_MARKS = {"op": pa.string(), "absorbed_by": pa.int64()}
_TYPES = {"int": pa.int64(), "float": pa.float64(), "string": pa.string()}


class BatchRows:
    """The converter of frames into rows of tables.

    Args:
        pipeline: the pipeline of the rows.
        run: the identity of the checkpoint, part of every row.
    """

    def __init__(self, pipeline: Pipeline, run: str) -> None:
        self._pipeline, self._run, source = pipeline, run, pipeline.source
        self._lanes = {number: source.lane(number) for number in range(source.partitions)}

    def tables(self, frames: Sequence[Emitted], batch_id: int) -> dict[str, pa.Table]:
        """Return the tables with rows of a batch, by name.

        Args:
            frames: all frames of the batch; Spark rows with these fields are allowed.
            batch_id: its number, part of every row.
        """
        tables = {}
        for query in self._pipeline.flows:
            parts = []
            for kind in (RESULT, EARLY):
                own = [
                    from_bytes(bytes(f.frame))
                    for f in frames
                    if f.kind == kind and f.query == query.name
                ]
                if own:
                    rows = pl.concat(own)
                    parts.append(self._results(query, rows, batch_id, early=kind == EARLY))
            if parts:
                tables[query.name] = pa.concat_tables(parts)
        for name, kind in ((DEAD_LETTERS, DEAD_LETTER), (METRICS, METRIC)):
            parts = [from_bytes(bytes(f.frame)) for f in frames if f.kind == kind]
            if parts:
                tables[name] = self._passed(name, parts, batch_id)
        return tables

    def _results(
        self,
        query: AnyFlow,
        frame: pl.DataFrame,
        batch_id: int,
        *,
        early: bool,
    ) -> pa.Table:
        bounds = extents(query, frame)
        revision, marked = frame[REVISION], frame.with_columns(marks(frame))
        count = len(frame)
        columns = {
            "run": [self._run] * count,
            "query": [query.name] * count,
            "window_id": frame[WINDOW_ID].to_arrow(),
            "window_start": pa.array([start for start, _ in bounds], pa.int64()).cast(_TIME),
            "window_end": pa.array([end for _, end in bounds], pa.int64()).cast(_TIME),
            "pane": ["early" if early else "late" if number else "full" for number in revision],
            "revision": revision.to_arrow(),
            "op": ["retract" if retracts else None for retracts in marked[RETRACTS]],
            "absorbed_by": marked[ABSORBED_BY].to_arrow(),
            "records": frame[RECORDS].to_arrow(),
            "offsets": self._offsets(frame[OFFSETS]),
            "values": frame[VALUES].to_arrow(),
            "batch_id": [batch_id] * count,
            LAG: self._lags(query, [end for _, end in bounds]),
        }
        if query.key:
            columns["key"] = frame[KEY].to_arrow()
        schema = schemas(self._pipeline)[query.name]
        return pa.table(
            [
                pa.array(columns[f.name]).cast(f.type)
                if isinstance(columns[f.name], list)
                else columns[f.name].cast(f.type)
                for f in schema
            ],
            schema=schema,
        )

    def _lags(self, query: AnyFlow, ends: Sequence[int]) -> list[int | None]:
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
        schema = schemas(self._pipeline)[name]
        return frame.select(schema.names).to_arrow().cast(schema)


def schemas(pipeline: Pipeline) -> dict[str, pa.Schema]:
    """Return the tables of a pipeline and their columns."""
    dead = ["run", "source", *DEAD_LETTER_SCHEMA, "batch_id"]
    metrics = ["run", "lane", *(n for n in METRIC_SCHEMA if n != "partition"), "batch_id"]
    return {
        **{query.name: _result_schema(query, pipeline) for query in pipeline.flows},
        DEAD_LETTERS: pa.schema([(name, _passed_type(name)) for name in dead]),
        METRICS: pa.schema([(name, _passed_type(name)) for name in metrics]),
    }


def _passed_type(name: str) -> pa.DataType:
    known = {**DEAD_LETTER_SCHEMA, **METRIC_SCHEMA}
    polars = known.get(name, pl.Int64 if name == "batch_id" else pl.String)
    types = {pl.Int32: pa.int32(), pl.Int64: pa.int64(), pl.Boolean: pa.bool_()}
    return types.get(polars, pa.string())


def _result_schema(query: AnyFlow, pipeline: Pipeline) -> pa.Schema:
    fields = pipeline.source.fields
    key = pa.struct([(name, _TYPES[kind]) for name, kind in query.key_kinds(fields).items()])
    types = query.value_types(fields)
    values = [(name, _value_type(types[name])) for name in query.shows]
    columns = [
        ("run", pa.string()),
        ("query", pa.string()),
        ("window_id", pa.int64()),
        ("window_start", _TIME),
        ("window_end", _TIME),
        *([("key", key)] if query.key else []),
        ("pane", pa.string()),
        ("revision", pa.int64()),
        *((mark, _MARKS[mark]) for mark in query.marks),
        ("records", pa.int64()),
        ("offsets", _OFFSETS),
        ("values", pa.struct(values)),
        ("batch_id", pa.int64()),
        (LAG, pa.int64()),
    ]
    return pa.schema(columns)


def _value_type(type_: ValueType) -> pa.DataType:
    return pa.list_(_TYPES[type_.kind]) if type_.many else _TYPES[type_.kind]
