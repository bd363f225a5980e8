"""Frames as flat rows of one schema: all queries' results and dead letters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from windowing.model import Pipeline
from windowing.model.query import Flow
from windowing.model.run_errors import BadRecords
from windowing.runtime.output import SinkFrame, check_unchanged
from windowing.spark.sinks.rows import DEAD_LETTERS, BatchRows, result_schema, schemas

PLACE = ("query", "window_id", "window_start", "window_end")
SENT = ("pane", "revision", "op", "tombstone", "absorbed_by", "overflow", "records", "offsets")
LETTER = ("source", "partition", "offset", "reason")

RESULT_ROW, DEAD_ROW = "result", "dead_letter"

_NAMES = {
    pa.int64(): "bigint",
    pa.int32(): "int",
    pa.float64(): "double",
    pa.string(): "string",
    pa.bool_(): "boolean",
    pa.date32(): "date",
}


class FlatRows:
    """The converter of frames into rows of one schema.

    Raises:
        BadRecords: two queries have a column of the same name and different types.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline, self._rows = pipeline, BatchRows(pipeline, "")
        self.schema = _schema(pipeline)
        self._spelling = {name.casefold(): name for name in self.schema.names}

    def of(self, batch: pa.RecordBatch) -> pa.Table:
        """Return the rows of emitted frames: `kind`, `query`, `frame`.

        Raises:
            QueriesChanged: the log changes the queries, for which the schema has no place.
        """
        columns = (batch.column(name).to_pylist() for name in ("kind", "query", "frame"))
        frames = [SinkFrame(*frame) for frame in zip(*columns, strict=True)]
        check_unchanged(frames)
        return pa.concat_tables([self.schema.empty_table(), *self._tables(frames)])

    def _tables(self, frames: Sequence[SinkFrame]) -> Iterator[pa.Table]:
        for query, rows in self._rows.results(frames, 0):
            yield self._result(query, rows)
        tables = self._rows.passed(frames, 0)
        if DEAD_LETTERS in tables:
            letters = tables[DEAD_LETTERS]
            names = ("query", *LETTER)
            known = {name: letters[name] for name in names}
            yield self._whole(DEAD_ROW, known, letters.num_rows)

    def _result(self, query: Flow, rows: pa.Table) -> pa.Table:
        known = {name: rows[name] for name in (*PLACE, *SENT) if name in rows.column_names}
        for part, name, column in _own(query):
            struct = rows[part].combine_chunks()
            values = pa.chunked_array([struct.field(name)], struct.type.field(name).type)
            known[self._spelling[column.casefold()]] = values
        return self._whole(RESULT_ROW, known, rows.num_rows)

    def _whole(self, kind: str, known: dict[str, pa.ChunkedArray], count: int) -> pa.Table:
        """Return a table of the common schema; missing columns are null."""
        kinds = {"kind": pa.array([kind] * count, pa.string())}
        columns = known | kinds
        return pa.table(
            [
                columns[field.name].cast(field.type)
                if field.name in columns
                else pa.nulls(count, field.type)
                for field in self.schema
            ],
            schema=self.schema,
        )


def spark_type(schema: pa.Schema) -> str:
    """Return a schema in Spark's DDL."""
    return ", ".join(f"{_quoted(field.name)} {_spelled(field.type)}" for field in schema)


def _schema(pipeline: Pipeline) -> pa.Schema:
    common: dict[str, pa.Field] = {}
    own: dict[str, pa.Field] = {}
    for query in pipeline.flows:
        table = result_schema(query, pipeline)
        common |= {name: table.field(name) for name in (*PLACE, *SENT) if name in table.names}
        for part, name, column in _own(query):
            field = pa.field(column, table.field(part).type.field(name).type)
            known = own.setdefault(column.casefold(), field)
            if known.type != field.type:
                msg = (
                    f"{name!r} of query {query.name} is {_spelled(field.type)}, and in another "
                    f"query {_spelled(known.type)}: call it otherwise, since they share a column"
                )
                raise BadRecords(msg)
    return pa.schema(
        [
            pa.field("kind", pa.string()),
            *(common[name] for name in PLACE),
            *own.values(),
            *(common[name] for name in SENT if name in common),
            *(schemas(pipeline)[DEAD_LETTERS].field(name) for name in LETTER),
        ]
    )


def _own(query: Flow) -> Iterator[tuple[str, str, str]]:
    """The key fields and aggregates of a query: where each lies, its name, its flat column."""
    taken = {name.casefold() for name in ("kind", *PLACE, *SENT, *LETTER)}
    for part, names in (("key", dict.fromkeys(query.key)), ("values", query.shows)):
        for name in names:
            column = f"{part}.{name}" if name.casefold() in taken else name
            taken.add(column.casefold())
            yield part, name, column


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _spelled(type_: pa.DataType) -> str:
    if pa.types.is_timestamp(type_):
        return "timestamp"
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if pa.types.is_list(type_):
        return f"array<{_spelled(type_.value_type)}>"
    if pa.types.is_struct(type_):
        fields = (f"{_quoted(field.name)}: {_spelled(field.type)}" for field in type_)
        return f"struct<{', '.join(fields)}>"
    return _NAMES[type_]
