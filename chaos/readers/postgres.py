"""Read what a run wrote to PostgreSQL; shares nothing with the sink.

The connection follows libpq's environment: PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, LiteralString

import psycopg
import pyarrow as pa
from psycopg import sql

from chaos.readers.delta import tally
from chaos.readers.output import (
    RETRACT,
    Line,
    Output,
    OutputError,
    dead_letter_identity,
    row_identity,
)
from chaos.readers.reader import columns, reader
from windowing.model.fates import counted
from windowing.model.fields import ValueType
from windowing.model.file.pipeline import Pipeline
from windowing.model.query import Flow
from windowing.model.rows import TAKE_BACK, DeadLetter, Row, dead_letter_line, row_line

# As integers: unlike PostgreSQL's, Python's datetimes end with the year 9999.
MICROSECONDS: LiteralString = "(extract(epoch from {}) * 1000000)::bigint"
"""SQL expression of an instant in microseconds since 1970."""

_LIST_OF_MICROSECONDS: LiteralString = (
    "(select array_agg((extract(epoch from one) * 1000000)::bigint order by at)"
    " from unnest({}) with ordinality as of_list(one, at))"
)

_TYPES: Final = {
    "date": pa.date32(),
    "bool": pa.bool_(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float8": pa.float64(),
    "text": pa.string(),
}
_ALL: Final = sql.SQL("")
_INSTANTS: Final = ("window_start", "window_end")
_INSTANT: Final = pa.timestamp("us", tz="UTC")


def read_postgres(
    pipeline: Pipeline, run: str | None = None, *, before: int | None = None
) -> Output:
    """Read what one run wrote to the tables of a pipeline's PostgreSQL sink.

    Args:
        run: name of the run; None if the tables hold only one.
        before: only what batches with lower numbers wrote; None: everything.

    Raises:
        OutputError: the pipeline has no such sink, no database answers, a table or column is
            missing, or the run does not exist or is ambiguous.
    """
    with reading(pipeline, run) as (connection, chosen):
        schema, written = schema_of(pipeline), _RowFilter(chosen, before)
        dead = list(_dead_letters(connection, schema, written))
        rows = [
            line for query in pipeline.flows for line in _rows(connection, pipeline, query, written)
        ]
        columns = counted(pipeline.source.fates)
        counts = tally(_counts(connection, schema, written, columns), dead, pipeline)
    return Output(rows, dead, counts, ordered=False, name=f"PostgreSQL {schema} run {chosen}")


@reader("postgres")
def read_schema(
    pipeline: Pipeline, folder: Path | None, run: str | None, *, before: int | None = None
) -> Output:
    """Read the tables of the pipeline's schema; raise like `read_postgres`."""
    del folder
    return read_postgres(pipeline, run, before=before)


@dataclass(frozen=True)
class _RowFilter:
    """Which rows of a table are read.

    Attributes:
        before: those of batches with lower numbers; None: of all.
    """

    run: str
    before: int | None

    CONDITION: ClassVar[LiteralString] = "run = %s and batch_id < coalesce(%s, batch_id + 1)"
    """The condition in SQL; its parameters are `values`."""

    @property
    def values(self) -> list[str | int | None]:
        """What stands in the condition."""
        return [self.run, self.before]


def schema_of(pipeline: Pipeline) -> str:
    """Return the schema of a pipeline's tables.

    Raises:
        OutputError: the pipeline has no PostgreSQL sink.
    """
    if pipeline.destination.kind != "postgres":
        msg = f"pipeline {pipeline.name} writes to no data base: it has no sink: {{postgres: NAME}}"
        raise OutputError(msg)
    return pipeline.output


@contextmanager
def reading(pipeline: Pipeline, run: str | None) -> Iterator[tuple[psycopg.Connection, str]]:
    """Provide a connection with one snapshot of all tables, even while the job writes, and a run.

    Args:
        run: name of the run; None if the tables hold only one.

    Raises:
        OutputError: as `read_postgres`, for errors in the block too.
    """
    schema = schema_of(pipeline)
    try:
        with psycopg.connect(options="-c TimeZone=UTC") as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            yield connection, _choose(connection, schema, run)
    except psycopg.Error as error:
        said = str(error).strip().splitlines() or [type(error).__name__]
        msg = f"PostgreSQL, schema {schema}: {said[0]}: set PGHOST, PGUSER, …; has the job run?"
        raise OutputError(msg) from None


def _choose(connection: psycopg.Connection, schema: str, run: str | None) -> str:
    query = sql.SQL("select run from {} order by run").format(sql.Identifier(schema, "commits"))
    runs = [found for (found,) in connection.execute(query)]
    listed = ", ".join(runs) or "none"
    if run is None and len(runs) == 1:
        return str(runs[0])
    if run is None:
        msg = f"PostgreSQL, schema {schema}: name the run to verify; the tables hold: {listed}"
        raise OutputError(msg)
    if run not in runs:
        msg = f"PostgreSQL, schema {schema}: no run is called {run!r}; the tables hold: {listed}"
        raise OutputError(msg)
    return run


def _rows(
    connection: psycopg.Connection, pipeline: Pipeline, query: Flow, written: _RowFilter
) -> Iterable[Line]:
    table = sql.Identifier(schema_of(pipeline), pipeline.table_of(query.name))
    overflow_mark = ["overflow"] if query.may_overflow(pipeline.source.fields) else []
    there = (*query.marks, *overflow_mark)
    fields = tuple(dict.fromkeys(query.key))  # PATTR may be in group_by too
    types = pipeline.source.fields
    of_key, of_values = query.key_types(types), query.value_types(types)
    columns = sql.SQL(", ").join(
        [
            *(_as_in_rows(name, ValueType.of(of_key[name])) for name in fields),
            *(_as_in_rows(name, of_values[name]) for name in query.shows),
        ]
    )
    statement = sql.SQL(
        "select query, window_id, {}, {}, pane, revision, records, offsets, {}, {} from {}"
        " where {} and pane <> 'early' and query = %s"
    ).format(
        sql.SQL(MICROSECONDS).format(sql.Identifier("window_start")),
        sql.SQL(MICROSECONDS).format(sql.Identifier("window_end")),
        sql.SQL(", ").join(_mark(mark, there) for mark in _MARKS),
        columns,
        table,
        sql.SQL(written.CONDITION),
    )
    found = connection.execute(statement, (*written.values, query.name))
    for name, wid, start_us, end_us, pane, revision, records, offsets, *more in found:
        op, tombstone, absorbed_by, overflow, *values = more
        spread = [restored(value) for value in values]
        key, results = dict(zip(fields, spread, strict=False)), spread[len(fields) :]
        row = Row(
            query=name,
            window_id=wid,
            window_start_us=start_us,
            window_end_us=end_us,
            key=tuple(key[name] for name in query.key),
            pane=pane,
            revision=revision,
            records=records,
            offsets=pipeline.source.by_number({n: (a, b) for n, (a, b) in offsets.items()}),
            values=dict(zip(query.shows, results, strict=True)),
            retracts=op == RETRACT,
            tombstone=tombstone is True,
            absorbed_by=absorbed_by,
            overflow=tuple(restored(overflow or [])),
        )
        yield row_identity(row), row_line(row)


_MARKS = ("op", "tombstone", "absorbed_by", "overflow")


def _as_in_rows(name: str, type_: ValueType) -> sql.Composed:
    """Return a column as rows show its values."""
    plain = {"timestamp": MICROSECONDS, "date": "{}::text"}.get(type_.kind, "{}")
    if type_.kind == "timestamp" and type_.many:
        plain = _LIST_OF_MICROSECONDS
    elif type_.kind == "date" and type_.many:
        plain = "{}::text[]"
    return sql.SQL(plain).format(sql.Identifier(name))


def _mark(mark: str, there: Iterable[str]) -> sql.Composable:
    """Return the column of a mark, or null for a query whose rows do not have it."""
    return sql.Identifier(mark) if mark in there else sql.SQL("null")


def _dead_letters(
    connection: psycopg.Connection, schema: str, written: _RowFilter
) -> Iterable[Line]:
    statement = sql.SQL(
        'select source, partition, "offset", query, reason from {} where {}'
    ).format(sql.Identifier(schema, "dead_letters"), sql.SQL(written.CONDITION))
    for fields in connection.execute(statement, written.values):
        letter = DeadLetter(*fields)
        yield dead_letter_identity(letter), dead_letter_line(letter)


def _counts(
    connection: psycopg.Connection, schema: str, written: _RowFilter, columns: Iterable[str]
) -> list[tuple[str, int, list[int]]]:
    sums = sql.SQL(", ").join(
        sql.SQL("sum({})::bigint").format(sql.Identifier(name)) for name in columns
    )
    statement = sql.SQL("select query, min(batch_id), {} from {} where {} group by query").format(
        sums, sql.Identifier(schema, "metrics"), sql.SQL(written.CONDITION)
    )
    found = connection.execute(statement, written.values)
    return [(query, batch, numbers) for query, batch, *numbers in found]


def restored(value: Any) -> Any:
    """Decode text: `␀0` stands for U+0000, which PostgreSQL cannot store, `␀␀` for `␀`."""
    if isinstance(value, str):
        return re.sub("␀(.)", lambda found: "\0" if found[1] == "0" else found[1], value)
    if isinstance(value, list):
        return [restored(element) for element in value]
    return value


# --- columns ---------------------------------------------------------------------------------


@columns("postgres")
class PostgresColumns:
    """The tables of one run of a pipeline, read anew each time.

    Args:
        folder: ignored.
        before: only what batches with lower numbers wrote; None: everything.

    Raises:
        OutputError: no such sink in the pipeline, no connection to the database, or no such run.
    """

    def __init__(
        self, pipeline: Pipeline, folder: Path, run: str, before: int | None = None
    ) -> None:
        del folder
        self._schema, self._pipeline = schema_of(pipeline), pipeline
        self.fates, self.fields = pipeline.source.fates, pipeline.source.fields
        with reading(pipeline, run) as (_, self._run):
            self._written = _RowFilter(self._run, before)

    def results(
        self, query: Flow, plain: Iterable[str], key: Mapping[str, str], values: Mapping[str, str]
    ) -> tuple[pa.Table, pa.ChunkedArray | None]:
        """Return all revisions of a query, without provisional rows and those that take back."""
        marked = "absorbed_by" in query.marks
        names = {**{name: name for name in plain}, **key, **values}
        # No other column may be called so.
        names |= {"absorbed_by": "absorbed_by"} if marked else {}
        asked = {mark for mark in query.marks if mark in TAKE_BACK} - names.keys()
        sent = " ".join(f"and {mark} is null" for mark in sorted(asked))
        wanted = sql.SQL("and pane <> 'early' {} and query = {}").format(
            sql.SQL(sent), sql.Literal(query.name)
        )
        found = self._columns(self._pipeline.table_of(query.name), names, wanted)
        if not marked:
            return found, None
        return found.drop_columns(["absorbed_by"]), found["absorbed_by"].is_valid()

    def metrics(self, names: Iterable[str]) -> pa.Table:
        """Return columns of the run's own metrics."""
        return self._columns("metrics", {name: name for name in names})

    def dead_letters(self, names: Iterable[str]) -> pa.Table:
        """Return columns of the dead letters."""
        return self._columns("dead_letters", {name: name for name in names})

    def size(self) -> int:
        """Return the number of rows, as the database counts them."""
        rows = 0
        with reading(self._pipeline, self._run) as (connection, _):
            for table in self._pipeline.tables:
                count = sql.SQL("select count(*) from {} where {}").format(
                    sql.Identifier(self._schema, table), sql.SQL(_RowFilter.CONDITION)
                )
                rows += (connection.execute(count, self._written.values).fetchone() or (0,))[0]
        return rows

    def _columns(
        self, table: str, names: Mapping[str, str], also: sql.Composable = _ALL
    ) -> pa.Table:
        """Return columns of a table under other names.

        Args:
            names: by column of the table, its name in the result.
            also: a further condition, beginning with `and`.
        """
        with reading(self._pipeline, self._run) as (connection, _):
            found = connection.execute(
                sql.SQL("select {} from {} where {} {}").format(
                    sql.SQL(", ").join(map(_spelled, names)),
                    sql.Identifier(self._schema, table),
                    sql.SQL(_RowFilter.CONDITION),
                    also,
                ),
                self._written.values,
            )
            kinds = [_kind(connection, column) for column in found.description or ()]
            rows = found.fetchall()
        result: dict[str, Any] = {}
        for at, ((name, column), kind) in enumerate(zip(names.items(), kinds, strict=True)):
            array = pa.array([restored(row[at]) for row in rows], kind)
            result[column] = array.cast(_INSTANT) if name in _INSTANTS else array
        return pa.table(result)


def _spelled(name: str) -> sql.Composed:
    if name in _INSTANTS:
        return sql.SQL(MICROSECONDS).format(sql.Identifier(name))
    return sql.SQL("{}").format(sql.Identifier(name))


def _kind(connection: psycopg.Connection, column: psycopg.Column) -> pa.DataType | None:
    """Return the type of a column; None: inferred from its values."""
    known = connection.adapters.types.get(column.type_code)
    kind = _TYPES.get(known.name) if known else None
    # An array is named after its element type.
    return pa.list_(kind) if kind and known and column.type_code == known.array_oid else kind
