"""The newest revision of each window, flat: what most people want of a table of results.

A table holds every revision that was ever sent, for that is what can be proved. Here is one row for
each window and key as it stands: its last revision, without windows that are no more – sessions
that another one absorbed, rows that were taken back – and without provisional rows. Key fields and
aggregates are columns of their own.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from windowing.model import Pipeline
from windowing.model.query import Flow

PLACE = ("run", "query", "window_id", "window_start", "window_end")
"""The columns before a row's key."""

SINCE = ("pane", "revision", "records", "offsets", "batch_id", "lag_us")
"""The columns behind a row's values."""

_KEY = "key:"  # while key fields stand beside the other columns


class NoNewest(ValueError):
    """Rows of which the newest says nothing by itself."""

    exit_code = 2


def newest(rows: pl.DataFrame, query: Flow) -> pl.DataFrame:
    """The newest revision of each window and key, one flat row each, in the order of windows.

    Args:
        rows: of a query's table, of one run or of several, which are kept apart.
        query: whose rows they are.

    Raises:
        NoNewest: the query discards: each of its rows holds only what came since the one before.
    """
    if query.accumulation == "discarding":
        msg = (
            f"query {query.name} has accumulation: discarding, so its last revision holds only "
            "what came since the one before: add up the rows of a window instead"
        )
        raise NoNewest(msg)
    sent = _with_key(rows.filter(pl.col("pane") != "early"), query)
    window = ["run", "window_id", *(f"{_KEY}{name}" for name in _key(query))]
    if "op" in sent.columns:
        back = sent.filter(pl.col("op") == "retract").select(*window, "revision")
        sent = sent.filter(pl.col("op").is_null())
    else:
        back = sent.select(*window, "revision").clear()
    last = sent.sort("revision").unique(window, keep="last", maintain_order=True)
    # A row that was taken back and not sent again is no row any more.
    last = last.join(back, on=[*window, "revision"], how="anti", nulls_equal=True)
    if "absorbed_by" in last.columns:
        last = last.filter(pl.col("absorbed_by").is_null())
    return _flat(last, query).sort("run", "window_start", "window_end", maintain_order=True)


def flat(rows: pl.DataFrame, query: Flow) -> pl.DataFrame:
    """All rows of a query's table with key fields and aggregates as columns of their own."""
    return _flat(_with_key(rows, query), query)


def columns(query: Flow) -> dict[str, str]:
    """The flat columns of a query's key and aggregates by what they show, as `key.k`, `values.n`.

    Each is called as in the file; where a column of that name is there already, also in another
    case, as `key.k` or `values.n`. Tables know no difference of cases.
    """
    taken = {name.casefold() for name in (*PLACE, *SINCE, "op", "absorbed_by")}
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
        NoNewest: there is no such query, or none at all.
    """
    by_name = {query.name: query for query in pipeline.flows}
    wanted = list(names)
    if unknown := [name for name in wanted if name not in by_name]:
        msg = f"--query {unknown[0]}: pipeline {pipeline.name} has no such query, but "
        raise NoNewest(msg + ", ".join(by_name))
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
    marks = [name for name in ("op", "absorbed_by") if name in rows.columns]
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
