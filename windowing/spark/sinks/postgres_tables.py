"""The tables of a PostgreSQL schema, how they adapt to a changed pipeline; views of newest rows.

Like `growth` for Delta tables; here structs are flattened into columns, so a key is known only by
its columns. A removed key field leaves a column that stays null. The job decides which run is live:
it sets a time in `commits`, for its own run only. A view shows the run that became live last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import LiteralString

import psycopg
import pyarrow as pa
from psycopg import sql

from windowing.model import Pipeline
from windowing.model.query import Flow
from windowing.spark.sinks.rows import schemas
from windowing.spark.sinks.tokens import TOKEN_SCHEMA, TOKENS

NEWEST = "_newest"
"""The suffix of a sink's schema of views on the newest version of its tables."""

_VERSION = re.compile(r"(.+)_v(\d+)")
_NAME_BYTES = 63
_SPELLED = {"timestamptz": "timestamp with time zone"}

ROW_ID = "row_id"

_COLUMNS: dict[pa.DataType, LiteralString] = {
    pa.int64(): "bigint",
    pa.int32(): "integer",
    pa.float64(): "double precision",
    pa.bool_(): "boolean",
    pa.string(): "text",
    pa.date32(): "date",
}

Columns = Mapping[str, str]
"""PostgreSQL's types of a table's columns, by column name."""


@dataclass(frozen=True)
class TableSchema:
    """A table that a pipeline needs."""

    columns: Sequence[tuple[str, LiteralString]]
    key: Sequence[str]


def tables_in(connection: psycopg.Connection, schema: str) -> dict[str, dict[str, str]]:
    """Return the tables of a schema with their columns; empty without the schema."""
    found: dict[str, dict[str, str]] = {}
    for table, column, type_ in connection.execute(
        "select c.relname, a.attname, format_type(a.atttypid, a.atttypmod)"
        " from pg_class c join pg_namespace n on n.oid = c.relnamespace"
        " join pg_attribute a on a.attrelid = c.oid"
        " where n.nspname = %s and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped",
        [schema],
    ):
        found.setdefault(table, {})[column] = type_
    return found


def conflicts(have: Mapping[str, Columns], want: Mapping[str, TableSchema]) -> list[str]:
    """Return why tables of `have` cannot take rows of `want`, a clause each; empty: they can."""
    return [
        clash
        for name, wanted in want.items()
        if name in have
        for clash in _of_table(name, have[name], wanted)
    ]


def _of_table(name: str, have: Columns, wanted: TableSchema) -> Iterator[str]:
    for column, type_ in wanted.columns:
        element, array = type_.removesuffix("[]"), "[]" * type_.endswith("[]")
        there, now = have.get(column), _SPELLED.get(element, element) + array
        if there is None and column in wanted.key:
            yield f"the key of table {name} has no {column}, and is to have it"
        elif there is not None and there != now:
            yield f"{name}.{column} is {there}, and is to be {now}"


def additions(have: Mapping[str, Columns], want: Mapping[str, TableSchema]) -> list[str]:
    """Return what the tables of `have` lack, a clause each; they must not conflict."""
    new = [f"new table {name}" for name in want if name not in have]
    return new + [
        f"new column {name}.{column} ({type_})"
        for name, wanted in want.items()
        for column, type_ in wanted.columns
        if name in have and column not in have[name]
    ]


def columns_added(
    schema: str, have: Mapping[str, Columns], want: Mapping[str, TableSchema]
) -> Iterator[sql.Composed]:
    """Return the statements that add missing columns to the tables of a schema."""
    for name, wanted in want.items():
        for column, type_ in wanted.columns:
            if name in have and column not in have[name]:
                yield sql.SQL("alter table {} add column if not exists {} {}").format(
                    sql.Identifier(schema, name), sql.Identifier(column), sql.SQL(type_)
                )


def views_of_latest(
    connection: psycopg.Connection, schema: str, tables: Sequence[str]
) -> Iterator[sql.Composed]:
    """Return the statements that make the newest version's views show this schema, if it is that.

    A sink with a single version of its tables has no such views.
    """
    version = _VERSION.fullmatch(schema)
    if version is None or len(f"{version[1]}{NEWEST}".encode()) > _NAME_BYTES:
        return
    later = f"{version[1]}_v{int(version[2]) + 1}"
    if tables_in(connection, later):
        return
    views = f"{version[1]}{NEWEST}"
    yield sql.SQL("create schema if not exists {}").format(sql.Identifier(views))
    for table in tables:
        # A view cannot be replaced by one with other columns.
        view = sql.Identifier(views, table)
        yield sql.SQL("drop view if exists {}").format(view)
        yield sql.SQL("create view {} as select * from {}").format(
            view, sql.Identifier(schema, table)
        )


def wanted(pipeline: Pipeline) -> dict[str, TableSchema]:
    """Return the tables that a pipeline needs beside those of the batches."""
    keys = {name: tuple(dict.fromkeys(of[0].key)) for name, of in pipeline.tables.items()}
    return {
        name: TableSchema(flat(columns), keys.get(name, ()))
        for name, columns in schemas(pipeline).items()
    }


def definitions(pipeline: Pipeline, schema: str) -> Iterator[sql.Composed]:
    """Return the statements that create missing schema and tables."""
    yield sql.SQL("create schema if not exists {}").format(sql.Identifier(schema))
    yield sql.SQL(
        "create table if not exists {} (run text primary key, batch_id bigint not null)"
    ).format(sql.Identifier(schema, COMMITS))
    yield sql.SQL("alter table {} add column if not exists live_since timestamptz").format(
        sql.Identifier(schema, COMMITS)
    )
    token = [(field.name, _COLUMNS[field.type]) for field in TOKEN_SCHEMA]
    yield sql.SQL("create table if not exists {} ({}, unique (run, batch_id, lane))").format(
        sql.Identifier(schema, TOKENS), typed(token)
    )
    for name, columns in schemas(pipeline).items():
        yield sql.SQL("create table if not exists {} ({}, primary key ({}))").format(
            sql.Identifier(schema, name), typed(flat(columns)), sql.Identifier(ROW_ID)
        )


def typed(columns: Sequence[tuple[str, LiteralString]]) -> sql.Composed:
    """Return columns with their types, as a statement has them."""
    return sql.SQL(", ").join(
        sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(type_)) for name, type_ in columns
    )


def flat(schema: pa.Schema) -> list[tuple[str, LiteralString]]:
    """Return the columns of a table, in the order of the sink's records."""
    # Identities may be long and contain nulls, so the primary key is a digest.
    columns: list[tuple[str, LiteralString]] = [(ROW_ID, "uuid")]
    for field in schema:
        if pa.types.is_struct(field.type):
            columns += [(part.name, _column(part.type)) for part in field.type]
        elif field.name == "offsets":
            columns.append((field.name, "jsonb"))
        else:
            columns.append((field.name, _column(field.type)))
    return columns


def _column(type_: pa.DataType) -> LiteralString:
    """Return a column; lists become arrays, as JSON has one kind of number and no -0.0."""
    if pa.types.is_list(type_):
        return _column(type_.value_type) + "[]"
    if pa.types.is_timestamp(type_):
        return "timestamptz"
    if pa.types.is_decimal(type_):
        return f"numeric({type_.precision},{type_.scale})"
    return _COLUMNS[type_]


COMMITS = "commits"

_SUFFIX = "_newest"


def latest_views(pipeline: Pipeline, schema: str) -> Iterator[sql.Composed]:
    """Return the statements that create the views, or adapt them to their tables' columns."""
    for name, table in _viewed(pipeline).items():
        yield _view(pipeline, schema, name, table)


def view_names(pipeline: Pipeline) -> list[str]:
    """Return the names of the views, which are read like tables."""
    return list(_viewed(pipeline))


def _viewed(pipeline: Pipeline) -> dict[str, str]:
    """The tables that have a view, by its name.

    A table whose queries have no newest row has no view (see `windowing.runtime.latest`), nor has
    one whose view's name would be another table, or too long.
    """
    return {
        name: table
        for table, flows in pipeline.tables.items()
        if any(map(_has_latest, flows))
        and (name := table + _SUFFIX) not in pipeline.tables
        and len(name.encode()) <= _NAME_BYTES
    }


def _has_latest(flow: Flow) -> bool:
    return flow.accumulation != "discarding"


def note_live(connection: psycopg.Connection, schema: str, run: str, *, live: bool) -> None:
    """Record since when a run is live, or that it is not."""
    since = sql.SQL("clock_timestamp()" if live else "null")
    connection.execute(
        sql.SQL("update {} set live_since = {} where run = %s").format(
            sql.Identifier(schema, COMMITS), since
        ),
        [run],
    )


def _view(pipeline: Pipeline, schema: str, name: str, table: str) -> sql.Composed:
    """The last revision of each window of the live run, if it has not been taken back."""
    flows = pipeline.tables[table]
    marks = {mark for flow in flows for mark in flow.marks}
    shared = ["query"] if len(flows) > 1 else []
    window = [*shared, "window_id", *dict.fromkeys(flows[0].key)]
    sent: sql.Composable = sql.SQL("")
    gone: sql.Composable = sql.SQL("")
    if without := [sql.Literal(flow.name) for flow in flows if not _has_latest(flow)]:
        sent = sql.SQL(" and query not in ({})").format(sql.SQL(", ").join(without))
    if "op" in marks:
        sent = sql.SQL("{} and op is null").format(sent)
        gone = sql.SQL(
            " and not exists (select from {table} b where b.op = 'retract' and b.run = n.run"
            " and b.revision = n.revision and {same})"
        ).format(table=sql.Identifier(schema, table), same=_same(window))
    for mark in ("tombstone", "absorbed_by"):
        if mark in marks:
            gone = sql.SQL("{} and n.{} is null").format(gone, sql.Identifier(mark))
    return sql.SQL(
        "create or replace view {view} as select n.* from (select distinct on ({window}) * from"
        " {table} where run = (select run from {commits} order by live_since desc nulls last, run"
        " limit 1) and pane <> 'early'{sent} order by {window}, revision desc) n where true{gone}"
    ).format(
        view=sql.Identifier(schema, name),
        window=sql.SQL(", ").join(map(sql.Identifier, window)),
        table=sql.Identifier(schema, table),
        commits=sql.Identifier(schema, COMMITS),
        sent=sent,
        gone=gone,
    )


def _same(columns: Sequence[str]) -> sql.Composed:
    return sql.SQL(" and ").join(
        sql.SQL("b.{0} is not distinct from n.{0}").format(sql.Identifier(column))
        for column in columns
    )
