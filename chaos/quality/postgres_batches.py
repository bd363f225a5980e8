"""The output of a run from PostgreSQL; libpq takes the connection from the environment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pandas as pd
import psycopg
import pyarrow as pa
from psycopg import sql

from chaos.quality.columns import ROW_COLUMNS, key_columns, value_columns
from chaos.quality.finality import Reached
from chaos.quality.frames import (
    COUNTED,
    INSTANT,
    PROGRESS,
    counted,
    reached_in,
    there_still,
    to_pandas,
)
from chaos.readers.postgres import MICROSECONDS, reading, restored, schema_of
from windowing.model.file.pipeline import Pipeline
from windowing.model.query import Flow

_TYPES: Final = {
    "bool": pa.bool_(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float8": pa.float64(),
    "text": pa.string(),
}
_ALL: Final = sql.SQL("")
_INSTANTS: Final = ("window_start", "window_end")


class PostgresRun:
    """The rows and counts of one run of a pipeline, read on demand.

    Args:
        pipeline: the pipeline, which names schema and queries.
        run: the run's name.

    Raises:
        OutputError: no such sink in the pipeline, no connection to the database, or no such run.
    """

    def __init__(self, pipeline: Pipeline, run: str) -> None:
        self._schema, self._pipeline = schema_of(pipeline), pipeline
        with reading(pipeline, run) as (_, self._run):
            pass

    def rows(self, query: Flow) -> pd.DataFrame:
        """All results of a query, selected by the database."""
        names = {name: name for name in ROW_COLUMNS} | key_columns(query) | value_columns(query)
        kept = (
            "and pane <> 'early' and op is null" if "op" in query.marks else "and pane <> 'early'"
        )
        results = sql.SQL("{} and query = {}").format(sql.SQL(kept), sql.Literal(query.name))
        table = self._pipeline.table_of(query.name)
        if "absorbed_by" not in query.marks:
            return self._frame(table, names, results)
        rows = self._frame(table, names | {"absorbed_by": "absorbed_by"}, results)
        return there_still(rows, rows.pop("absorbed_by").notna(), query)

    def counts(self, queries: Iterable[str]) -> pd.DataFrame:
        """Return sums of the run's own metrics, and the number of its dead letters."""
        metrics = self._frame("metrics", {name: name for name in ("query", "batch_id", *COUNTED)})
        letters = self._frame("dead_letters", {name: name for name in ("query", "reason")})
        return counted(metrics, letters, queries)

    def reached(self) -> Reached:
        """Return the progress as of the newest batch: a batch is one transaction."""
        return reached_in(self._frame("metrics", {name: name for name in ("lane", *PROGRESS)}))

    def size(self) -> int:
        """Return the number of rows, as the database counts them."""
        rows = 0
        with reading(self._pipeline, self._run) as (connection, run):
            for table in self._pipeline.tables:
                count = sql.SQL("select count(*) from {} where run = %s").format(
                    sql.Identifier(self._schema, table)
                )
                rows += (connection.execute(count, [run]).fetchone() or (0,))[0]
        return rows

    def _frame(
        self, table: str, names: dict[str, str], also: sql.Composable = _ALL
    ) -> pd.DataFrame:
        """Return columns of a table under their names for expectations.

        Args:
            table: the table's name.
            names: by column of the frame, the name in the table.
            also: a further condition, beginning with `and`.
        """
        with reading(self._pipeline, self._run) as (connection, run):
            found = connection.execute(
                sql.SQL("select {} from {} where run = %s {}").format(
                    sql.SQL(", ").join(map(_spelled, names)),
                    sql.Identifier(self._schema, table),
                    also,
                ),
                [run],
            )
            kinds = [_kind(connection, column) for column in found.description or ()]
            rows = found.fetchall()
        columns: dict[str, Any] = {}
        for at, ((name, column), kind) in enumerate(zip(names.items(), kinds, strict=True)):
            array = pa.array([restored(row[at]) for row in rows], kind)
            columns[column] = array.cast(INSTANT) if name in _INSTANTS else array
        return to_pandas(pa.table(columns))


def _spelled(name: str) -> sql.Composed:
    if name in _INSTANTS:
        return sql.SQL(MICROSECONDS).format(sql.Identifier(name))
    return sql.SQL("{}").format(sql.Identifier(name))


def _kind(connection: psycopg.Connection, column: psycopg.Column) -> pa.DataType | None:
    """Return the pandas type of a column; None: inferred from its values."""
    known = connection.adapters.types.get(column.type_code)
    kind = _TYPES.get(known.name) if known else None
    # An array is named after its element type.
    return pa.list_(kind) if kind and known and column.type_code == known.array_oid else kind
