"""The newest revision of each window, flat: the usual query of a table of results.

A table holds every revision ever sent, because only that can be verified. The newest has one row
per current window and key: its last revision, without absorbed sessions, retracted rows and
provisional rows. Each key field and aggregate is a column.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from windowing.model import Pipeline
from windowing.model.query import Flow

PLACE = ("run", "query", "window_id", "window_start", "window_end")
"""The columns before a row's key."""

SINCE = ("pane", "revision", "records", "offsets", "batch_id", "lag_us")
"""The columns after a row's values."""

MARKS = ("op", "tombstone", "absorbed_by", "overflow")
"""The columns that only tables have of which some rows fill them."""

_KEY = "key:"  # prefix of key fields beside other columns


class NoLatest(ValueError):
    """Rows for which a newest revision is meaningless."""

    exit_code = 2


def latest(rows: pl.DataFrame, query: Flow) -> pl.DataFrame:
    """The newest revision of each window and key, one flat row each, in the order of windows.

    Args:
        rows: of a query's table, of one or several runs, which are kept apart.

    Raises:
        NoLatest: the query is `discarding`: each row holds only what is new since the previous one.
    """
    if query.accumulation == "discarding":
        msg = (
            f"query {query.name} has accumulation: discarding, so its last revision holds only "
            "what came since the one before: add up the rows of a window instead"
        )
        raise NoLatest(msg)
    sent = _with_key(rows.filter(pl.col("pane") != "early"), query)
    window = ["run", "window_id", *(f"{_KEY}{name}" for name in _key(query))]
    if "op" in sent.columns:
        back = sent.filter(pl.col("op") == "retract").select(*window, "revision")
        sent = sent.filter(pl.col("op").is_null())
    else:
        back = sent.select(*window, "revision").clear()
    last = sent.sort("revision").unique(window, keep="last", maintain_order=True)
    # A row that was retracted and not sent again no longer exists.
    last = last.join(back, on=[*window, "revision"], how="anti", nulls_equal=True)
    for mark in ("tombstone", "absorbed_by"):
        if mark in last.columns:
            last = last.filter(pl.col(mark).is_null())
    return _flat(last, query).sort("run", "window_start", "window_end", maintain_order=True)


def flat(rows: pl.DataFrame, query: Flow) -> pl.DataFrame:
    """All rows of a query's table with a column for each key field and aggregate."""
    return _flat(_with_key(rows, query), query)


def columns(query: Flow) -> dict[str, str]:
    """The flat columns of a query's key and aggregates by what they show, as `key.k`, `values.n`.

    Names are as in the file; if a name is taken, compared without case as tables do, the column is
    called `key.k` or `values.n`.
    """
    taken = {name.casefold() for name in (*PLACE, *SINCE, *MARKS)}
    named: dict[str, str] = {}
    for part, names in (("key", _key(query)), ("values", query.shows)):
        for name in names:
            full = f"{part}.{name}"
            named[full] = full if name.casefold() in taken else name
            taken.add(named[full].casefold())
    return named


def check_named(pipeline: Pipeline, names: Iterable[str]) -> list[Flow]:
    """The queries of these names; without any, all that have a newest revision.

    Raises:
        NoLatest: a query does not exist or has no newest revision, or no query has one.
    """
    by_name = {query.name: query for query in pipeline.flows}
    wanted = list(names)
    if unknown := [name for name in wanted if name not in by_name]:
        msg = f"--query {unknown[0]}: pipeline {pipeline.name} has no such query, but "
        raise NoLatest(msg + ", ".join(by_name))
    if wanted:
        return [by_name[name] for name in wanted]
    return [query for query in pipeline.flows if query.accumulation != "discarding"]


def _key(query: Flow) -> list[str]:
    return list(dict.fromkeys(query.key))


def _with_key(rows: pl.DataFrame, query: Flow) -> pl.DataFrame:
    """Rows whose key fields are columns, whatever else these are called."""
    if not query.key:
        return rows
    fields = [pl.col("key").struct.field(name).alias(f"{_KEY}{name}") for name in _key(query)]
    return rows.with_columns(*fields)


def _flat(rows: pl.DataFrame, query: Flow) -> pl.DataFrame:
    named = columns(query)
    marks = [name for name in MARKS if name in rows.columns]
    return rows.select(
        *PLACE,
        *(pl.col(f"{_KEY}{name}").alias(named[f"key.{name}"]) for name in _key(query)),
        *(
            pl.col("values").struct.field(name).alias(named[f"values.{name}"])
            for name in query.shows
        ),
        *(name for name in SINCE if name in rows.columns),
        *marks,
    )
