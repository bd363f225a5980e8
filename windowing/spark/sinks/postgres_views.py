"""Views of the newest rows in PostgreSQL: one row per current window of the live run.

The job decides which run is live: it sets a time in `commits`, for its own run only. The view shows
the run that became live last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import psycopg
from psycopg import sql

from windowing.model import Pipeline
from windowing.model.query import Flow

COMMITS = "commits"

_NAME_BYTES = 63
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
    if "absorbed_by" in marks:
        gone = sql.SQL("{} and n.absorbed_by is null").format(gone)
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
