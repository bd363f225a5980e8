"""The path of DuckDB: one query over all events, as a program that runs once a day would do it."""

from __future__ import annotations

import time
from pathlib import Path

import duckdb
import polars as pl

from benchmarks.cases import Case, Sessions
from benchmarks.paths import Timing, comparable

_EVENTS = """
select event.ts::bigint as ts, event.key as key, event.amount as amount from (
    select json_transform(decode(value), '{{"ts": "BIGINT", "key": "VARCHAR", "amount": "BIGINT"}}')
        as event
    from read_parquet('{data}/batch-*.parquet')
)
"""
# Per key and slice first, then each slice into its windows.
_SLIDING = """
with slices as (
    select key, ts // {slide} * {slide} as slice,
        count(*) as n, sum(amount) as total, max(amount) as largest
    from ({events}) group by key, slice
), windows as (
    select key, n, total, largest,
        unnest(range(slice - {range} + {slide}, slice + {slide}, {slide})) as start
    from slices
)
select start * 1000 as start_us, (start + {range}) * 1000 as end_us, key,
    sum(n) as n, sum(total) as total, max(largest) as largest
from windows group by start, key
"""
_SESSIONS = """
with begun as (
    select *, coalesce(ts - lag(ts) over of_key >= {gap}, true)::int as begins
    from ({events}) window of_key as (partition by key order by ts)
), numbered as (
    select *, sum(begins) over (partition by key order by ts rows unbounded preceding) as number
    from begun
)
select min(ts) * 1000 as start_us, (max(ts) + {gap}) * 1000 as end_us, key,
    count(*) as n, sum(amount) as total, max(amount) as largest
from numbered group by key, number
"""


def timed(case: Case, data: Path, cores: int) -> Timing:
    """Run the query into a result that is counted; there is no first batch."""
    connection = _connection(cores)
    start = time.monotonic()
    hashed = f"select count(*), sum(hash(r)) from ({_query(case, data)}) r"  # noqa: S608
    connection.execute(hashed).fetchall()
    took = time.monotonic() - start
    found = connection.execute(
        f"select sum(num_rows) from parquet_file_metadata('{data}/batch-*.parquet')"  # noqa: S608
    ).fetchall()
    rows = int(found[0][0])
    return Timing(rows, 0.0, rows, took)


def results(case: Case, data: Path, cores: int) -> pl.DataFrame:
    """Return what the query computes, as `benchmarks.paths.ROW`, sorted."""
    found = _connection(cores).execute(_query(case, data)).to_arrow_table()
    return comparable(pl.DataFrame(found))


def _connection(cores: int) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": cores})


def _query(case: Case, data: Path) -> str:
    events = _EVENTS.format(data=data)
    if isinstance(case.window, Sessions):
        return _SESSIONS.format(events=events, gap=case.window.gap_ms)
    minutes = {"range": case.window.range_min, "slide": case.window.slide_min}
    return _SLIDING.format(events=events, **{name: m * 60_000 for name, m in minutes.items()})
