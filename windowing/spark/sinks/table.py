"""The table sink: Delta tables, one per query and two beside them, written exactly once.

Under the table's folder stand `<query>/`, `dead_letters/` and `metrics/`. Each commit carries the
run as application and the batch as version, so a batch that is written again is passed over, table
by table. Reading needs no JVM, and writing none either: a batch's results are a small fraction of
its input, so the driver commits them itself (see `adr/0007`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from pyspark.sql import DataFrame

from windowing.frames import from_bytes
from windowing.parcel import DEAD_LETTER_SCHEMA, METRIC_SCHEMA
from windowing.spark.stages import DEAD_LETTER, METRIC, RESULT
from windowing.spec import Pipeline, Query
from windowing.spec.fields import ValueType, value_type
from windowing.wids import bounds_of

DEAD_LETTERS, METRICS = "dead_letters", "metrics"

_TIME = pa.timestamp("us", tz="UTC")
_OFFSETS = pa.list_(pa.struct([("lane", pa.string()), ("first", pa.int64()), ("last", pa.int64())]))
_TYPES = {"int": pa.int64(), "float": pa.float64(), "string": pa.string()}


class TableSink:
    """Writes the frames of each batch of one run.

    Args:
        pipeline: whose rows they are.
        folder: the table's folder.
        run: the identity of the checkpoint; another run never collides with this one.
    """

    def __init__(self, pipeline: Pipeline, folder: Path, run: str) -> None:
        self._pipeline, self._folder, self._run = pipeline, folder, run
        self._tables = {
            name: _open(folder / name, schema) for name, schema in schemas(pipeline).items()
        }

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Write one batch; made for `foreachBatch`."""
        # Spark must see the whole batch executed, also when its tables hold it already.
        frames = batch.collect()
        for query in self._pipeline.queries:
            parts = [
                from_bytes(bytes(f.frame))
                for f in frames
                if f.kind == RESULT and f.query == query.name
            ]
            if parts:
                self._commit(query.name, self._results(query, pl.concat(parts), batch_id), batch_id)
        for name, kind in ((DEAD_LETTERS, DEAD_LETTER), (METRICS, METRIC)):
            parts = [from_bytes(bytes(f.frame)) for f in frames if f.kind == kind]
            if parts:
                self._commit(name, self._passed(name, parts, batch_id), batch_id)

    def _commit(self, name: str, rows: pa.Table, batch_id: int) -> None:
        table = self._tables[name]
        table.update_incremental()
        written = table.transaction_version(self._run)
        if written is not None and written >= batch_id:
            return
        token = CommitProperties(app_transactions=[Transaction(self._run, batch_id)])
        write_deltalake(table, rows, mode="append", commit_properties=token)

    def _results(self, query: Query, frame: pl.DataFrame, batch_id: int) -> pa.Table:
        bounds = [bounds_of(query.window, wid) for wid in frame["window_id"]]
        revision = frame["revision"]
        count = len(frame)
        columns = {
            "run": [self._run] * count,
            "query": [query.name] * count,
            "window_id": frame["window_id"].to_arrow(),
            "window_start": pa.array([start for start, _ in bounds], pa.int64()).cast(_TIME),
            "window_end": pa.array([end for _, end in bounds], pa.int64()).cast(_TIME),
            "pane": ["late" if number else "full" for number in revision],
            "revision": revision.to_arrow(),
            "records": frame["records"].to_arrow(),
            "offsets": self._offsets(frame["offsets"]),
            "values": frame["values"].to_arrow(),
            "batch_id": [batch_id] * count,
        }
        if query.group_by:
            columns["key"] = frame["key"].to_arrow()
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

    def _offsets(self, offsets: pl.Series) -> pa.Array:
        lane = pl.lit(f"{self._pipeline.source.topic}/") + pl.element().struct["partition"].cast(
            pl.String
        )
        named = offsets.list.eval(
            pl.struct(
                lane=lane,
                first=pl.element().struct["first"],
                last=pl.element().struct["last"],
            )
        )
        return named.to_arrow()

    def _passed(self, name: str, parts: Sequence[pl.DataFrame], batch_id: int) -> pa.Table:
        frame = pl.concat(parts).with_columns(
            run=pl.lit(self._run),
            batch_id=pl.lit(batch_id, dtype=pl.Int64),
            source=pl.lit(self._pipeline.source.topic),
            lane=pl.lit(f"{self._pipeline.source.topic}/") + pl.col("partition").cast(pl.String),
        )
        schema = schemas(self._pipeline)[name]
        return frame.select(schema.names).to_arrow().cast(schema)


def schemas(pipeline: Pipeline) -> dict[str, pa.Schema]:
    """The tables of a pipeline and their columns."""
    dead = ["run", "source", *DEAD_LETTER_SCHEMA, "batch_id"]
    metrics = ["run", "lane", *(n for n in METRIC_SCHEMA if n != "partition"), "batch_id"]
    return {
        **{query.name: _result_schema(query, pipeline) for query in pipeline.queries},
        DEAD_LETTERS: pa.schema([(name, _passed_type(name)) for name in dead]),
        METRICS: pa.schema([(name, _passed_type(name)) for name in metrics]),
    }


def _passed_type(name: str) -> pa.DataType:
    known = {**DEAD_LETTER_SCHEMA, **METRIC_SCHEMA}
    polars = known.get(name, pl.Int64 if name == "batch_id" else pl.String)
    types = {pl.Int32: pa.int32(), pl.Int64: pa.int64(), pl.Boolean: pa.bool_()}
    return types.get(polars, pa.string())


def _result_schema(query: Query, pipeline: Pipeline) -> pa.Schema:
    fields = pipeline.source.fields
    key = pa.struct([(name, _TYPES[fields[name].kind]) for name in query.group_by])
    values = [(a.name, _value_type(value_type(a, fields))) for a in query.aggregates]
    columns = [
        ("run", pa.string()),
        ("query", pa.string()),
        ("window_id", pa.int64()),
        ("window_start", _TIME),
        ("window_end", _TIME),
        *([("key", key)] if query.group_by else []),
        ("pane", pa.string()),
        ("revision", pa.int64()),
        ("records", pa.int64()),
        ("offsets", _OFFSETS),
        ("values", pa.struct(values)),
        ("batch_id", pa.int64()),
    ]
    return pa.schema(columns)


def _value_type(type_: ValueType) -> pa.DataType:
    return pa.list_(_TYPES[type_.kind]) if type_.many else _TYPES[type_.kind]


def _open(path: Path, schema: pa.Schema) -> DeltaTable:
    """Open a table, creating it where it is not there yet; partitioned by run."""
    return DeltaTable.create(path, schema, mode="ignore", partition_by=["run"])
