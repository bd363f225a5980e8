"""The newest rows against the definition: the last revision of each window that still is one."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import KINDS, Entry, cases, entry, join_cases, lane_of
from tests.unit.sinks.test_table_sink import RETRACTING, frames, log_of, with_keys
from windowing.engine.reading.batches import batches
from windowing.model import Pipeline, parse_pipeline
from windowing.model.query import Flow
from windowing.model.rows import Row
from windowing.model.run_errors import ArrivalOrder
from windowing.runtime.latest import NoLatest, columns, flat, latest
from windowing.runtime.local import LocalEngine
from windowing.semantics import evaluate
from windowing.semantics.units import ArrivalOrderError
from windowing.spark.sinks.table import TableSink

_EXAMPLES = max(settings.default.max_examples // 6, 3) if settings.default else 3
Standing = dict[tuple[Any, ...], tuple[Any, ...]]


def table_of(pipeline: Pipeline, log: Sequence[Entry], rows: int, run: str = "r") -> list[Any]:
    """What the sink writes of each query, with early rows among the others."""
    engine, queries = LocalEngine(pipeline), pipeline.flows
    with tempfile.TemporaryDirectory() as folder:
        sink = TableSink(pipeline, Path(folder), run)
        for number, batch in enumerate(batches(log, rows, pipeline)):
            sink.take(frames(engine, batch, number), number)
        tables = [DeltaTable(str(Path(folder) / query.name)) for query in queries]
        return [pl.DataFrame(pl.from_arrow(table.to_pyarrow_table())) for table in tables]


def standing(rows: Sequence[Row], query: Flow) -> Standing:
    """By the definition: follow the rows of each window in the order in which they are sent."""
    found: dict[tuple[Any, ...], Row] = {}
    own = [row for row in rows if row.query == query.name]
    for row in sorted(own, key=lambda row: (row.revision, row.retracts)):
        place = (row.window_id, row.key)
        if row.retracts or row.tombstone or row.absorbed_by is not None:
            found.pop(place, None)
        else:
            found[place] = row
    return {
        place: (row.revision, row.records, *map(_bits, row.values.values()))
        for place, row in found.items()
    }


def shown(frame: pl.DataFrame, query: Flow) -> Standing:
    """The same of newest rows."""
    named, found = columns(query), Standing()
    for row in frame.rows(named=True):
        key = tuple(row[named[f"key.{name}"]] for name in query.key)
        values = [_bits(row[named[f"values.{name}"]]) for name in query.shows]
        place = (row["window_id"], key)
        assert place not in found
        found[place] = (row["revision"], row["records"], *values)
    return found


def _bits(value: object) -> str:
    return repr(list(value) if isinstance(value, list | tuple) else value)


def is_as_defined(pipeline: Pipeline, log: Sequence[Entry], rows: int) -> None:
    defined = evaluate(pipeline, log).rows
    for query, table in zip(pipeline.flows, table_of(pipeline, log, rows), strict=True):
        assert shown(latest(table, query), query) == standing(defined, query)


@pytest.mark.parametrize("accumulation", ["accumulating", "retracting"])
@settings(max_examples=_EXAMPLES)
@given(data=st.data())
def test_newest_rows_are_the_last_revisions_of_windows_that_still_are(
    accumulation: str, data: st.DataObject
) -> None:
    case = data.draw(cases(kind=data.draw(st.sampled_from(KINDS)), records_max=25, types=False))
    pipeline = with_keys(case, accumulation=accumulation)
    log = [entry(event) for event in case.events]
    try:
        is_as_defined(pipeline, log, data.draw(st.sampled_from([4, 1000])))
    except (ArrivalOrder, ArrivalOrderError):
        return


@settings(max_examples=_EXAMPLES)
@given(case=join_cases())
def test_of_a_join_rows_that_were_taken_back_are_gone(case: Any) -> None:
    is_as_defined(parse_pipeline(case.pipeline), [entry(event) for event in case.events], 5)


@pytest.mark.parametrize("accumulation", ["accumulating", "retracting"])
def test_sessions_that_were_absorbed_are_gone(accumulation: str) -> None:
    text = RETRACTING.format(window="SESSION 5 us WATTR ts", shards=2)
    text = text.replace("retracting", accumulation).replace("fields: {k: int}", "fields: {}")
    pipeline = parse_pipeline(text.replace("group_by: [k], ", ""))
    log = lane_of({"value": {"ts": ts}} for ts in [1, 8, 40, 4, 70])
    defined = evaluate(pipeline, log).rows
    assert any(row.absorbed_by is not None for row in defined)
    ((table,), query) = table_of(pipeline, log, 2), pipeline.flows[0]
    found = latest(table, query)
    assert found["window_id"].to_list() == [1, 40]
    assert found["n"].to_list() == [3, 1]
    is_as_defined(pipeline, log, 2)


def test_provisional_rows_are_no_revisions() -> None:
    text = RETRACTING.format(window="RANGE 10 us SLIDE 10 us WATTR ts", shards=2)
    pipeline = parse_pipeline(text + "early: {records: 1}\n")
    ((table,), query) = table_of(pipeline, log_of(1, 2, 3), 1), pipeline.flows[0]
    assert len(table)
    assert not len(latest(table, query))


def test_runs_are_kept_apart() -> None:
    pipeline = parse_pipeline(
        RETRACTING.format(window="RANGE 10 us SLIDE 10 us WATTR ts", shards=2)
    )
    log, query = log_of(1, 12, 25, 3, 26, 13, 40, 2, 70), pipeline.flows[0]
    (one,), (other,) = (table_of(pipeline, log, 2, run) for run in ("a", "b"))
    both = latest(pl.concat([one, other]), query)
    assert both.equals(pl.concat([latest(one, query), latest(other, query)]))


def test_a_query_that_discards_has_no_newest_row() -> None:
    text = RETRACTING.format(window="RANGE 10 us SLIDE 10 us WATTR ts", shards=2)
    pipeline = parse_pipeline(text.replace("retracting", "discarding"))
    ((table,), query) = table_of(pipeline, log_of(1, 12, 25), 2), pipeline.flows[0]
    with pytest.raises(NoLatest, match="add up the rows of a window"):
        latest(table, query)
    assert len(flat(table, query)) == len(table)


def test_names_that_are_taken_are_distinguished() -> None:
    text = RETRACTING.format(window="RANGE 10 us SLIDE 10 us WATTR ts", shards=2)
    text = text.replace("fields: {k: int}", "fields: {Run: int, n: int}")
    text = text.replace("[k]", "[Run, n]").replace("{n: count}", "{n: count, records: count}")
    query = parse_pipeline(text).flows[0]
    assert columns(query) == {
        "key.Run": "key.Run",
        "key.n": "n",
        "values.n": "values.n",
        "values.records": "values.records",
    }
    assert json.dumps(columns(query))
