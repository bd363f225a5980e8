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


def newest_views(pipeline: Pipeline, schema: str) -> Iterator[sql.Composed]:
    """Return the statements that create the views, or adapt them to their tables' columns."""
    for name, query in _queries(pipeline).items():
        yield _view(query, schema, name)


def view_names(pipeline: Pipeline) -> list[str]:
    """Return the names of the views, which are read like tables."""
    return list(_queries(pipeline))


def _queries(pipeline: Pipeline) -> dict[str, Flow]:
    """The queries that have a view, by its name.

    Queries without a newest row have no view (see `windowing.runtime.newest`), nor do those whose
    view's name would be another query's table, or too long.
    """
    taken = {query.name for query in pipeline.flows}
    named = {query.name + _SUFFIX: query for query in pipeline.flows}
    return {
        name: query
        for name, query in named.items()
        if query.accumulation != "discarding"
        and name not in taken
        and len(name.encode()) <= _NAME_BYTES
    }


def tell_live(connection: psycopg.Connection, schema: str, run: str, *, live: bool) -> None:
    """Record since when a run is live, or that it is not."""
    since = sql.SQL("clock_timestamp()" if live else "null")
    connection.execute(
        sql.SQL("update {} set live_since = {} where run = %s").format(
            sql.Identifier(schema, COMMITS), since
        ),
        [run],
    )


def _view(query: Flow, schema: str, name: str) -> sql.Composed:
    """The last revision of each window of the live run, if it has not been taken back."""
    window = ["window_id", *dict.fromkeys(query.key)]
    sent: sql.Composable = sql.SQL("")
    gone: sql.Composable = sql.SQL("")
    if "op" in query.marks:
        sent = sql.SQL(" and op is null")
        gone = sql.SQL(
            " and not exists (select from {table} b where b.op = 'retract' and b.run = n.run"
            " and b.revision = n.revision and {same})"
        ).format(table=sql.Identifier(schema, query.name), same=_same(window))
    if "absorbed_by" in query.marks:
        gone = sql.SQL("{} and n.absorbed_by is null").format(gone)
    return sql.SQL(
        "create or replace view {view} as select n.* from (select distinct on ({window}) * from"
        " {table} where run = (select run from {commits} order by live_since desc nulls last, run"
        " limit 1) and pane <> 'early'{sent} order by {window}, revision desc) n where true{gone}"
    ).format(
        view=sql.Identifier(schema, name),
        window=sql.SQL(", ").join(map(sql.Identifier, window)),
        table=sql.Identifier(schema, query.name),
        commits=sql.Identifier(schema, COMMITS),
        sent=sent,
        gone=gone,
    )


def _same(columns: Sequence[str]) -> sql.Composed:
    return sql.SQL(" and ").join(
        sql.SQL("b.{0} is not distinct from n.{0}").format(sql.Identifier(column))
        for column in columns
    )
