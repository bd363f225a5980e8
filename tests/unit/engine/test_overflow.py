"""Sums of ints that leave int64, and the order of retractions: by engine and definition."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from chaos.quality.batches import RunLines, RunTables
from chaos.quality.block import read_block, with_defaults
from chaos.quality.expectation import EXPECTATIONS, SUMS_FIT
from chaos.quality.frames import final
from chaos.readers.delta import read_tables
from chaos.readers.output import output_of
from chaos.readers.table import TableColumns
from tests.strategies import entry
from tests.unit.engine.test_engine import agreed
from windowing import Bound, LaneStart, Record, Slack, Sliding, StreamFlow, WindowedAggregator
from windowing.engine.reading.batches import batches
from windowing.model import Pipeline, parse_pipeline
from windowing.model.query import Query
from windowing.model.rows import Row, row_lines
from windowing.runtime.local import LocalEngine, Output, run
from windowing.runtime.output import tagged
from windowing.semantics import evaluate, flows
from windowing.spark.sinks.table import TableSink

REPORTS = Path(__file__).parents[2] / "data" / "reports"
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

MOST, LEAST = 2**63 - 1, -(2**63)
TUMBLING = "RANGE 10 us SLIDE 10 us WATTR ts"


def pipeline(query: dict[str, Any], **more: Any) -> Pipeline:
    fields = {"k": "string?", "v": "int?", "x": "float?"}
    source = {"topic": "s", "partitions": 1, "format": "json", "fields": fields}
    source |= {"event_time": {"field": "ts", "unit": "us"}, "disorder": {"slack": "0 s"}}
    shown = {"total": "sum(v)", "mean": "mean(v)", "var": "var(v)", "n": "count"}
    queries = {"q": {"group_by": ["k"], "aggregates": shown} | query}
    document = {"name": "p", "source": source, "shards": 1, "queries": queries} | more
    return parse_pipeline(yaml.safe_dump(document, sort_keys=False))


UPDATE = {"late": {"policy": "update", "every": "1 us"}, "retention": "1 s"}


def log(*records: tuple[int, str, int | None]) -> list[Any]:
    place = {"source": "s", "partition": 0}
    values = [{"ts": ts, "k": key, "v": v} for ts, key, v in records]
    events = [{**place, "offset": n, "value": value} for n, value in enumerate(values)]
    end = {**place, "offset": len(events), "control": {"end": True}}
    return [entry(event) for event in [*events, end]]


def rows_of(spec: Pipeline, events: list[Any], rows: int = 2) -> list[Row]:
    found: Output = run(spec, batches(events, rows))
    lines = list(row_lines(found.rows))
    assert lines == list(row_lines(agreed(spec, events)))
    return sorted(found.rows, key=lambda row: (row.query, row.key, row.window_id, row.revision))


def report(name: str) -> tuple[Pipeline, list[Any], list[str]]:
    """The pipeline of a report, its log, and what is right."""
    spec = parse_pipeline((REPORTS / name / "pipeline.yml").read_text())
    events, expected = (
        (REPORTS / name / file).read_text().splitlines() for file in ("events.jsonl", "OUT.jsonl")
    )
    return spec, [entry(json.loads(line)) for line in events], expected


@pytest.mark.parametrize("name", ["retract_before_row", "sum_overflow"])
def test_a_report_gives_what_was_right_to_the_byte(name: str) -> None:
    spec, events, expected = report(name)
    assert list(row_lines(evaluate(spec, events).rows)) == expected
    assert list(row_lines(agreed(spec, events))) == expected


CLASSES: list[dict[str, Any]] = [
    {"window": TUMBLING},
    {"window": "RANGE 10 us SLIDE 5 us WATTR ts"},
    {"window": "RANGE LANDMARK SLIDE 10 us WATTR ts"},
    {"window": "SESSION 10 us WATTR ts"},
    {"window": "RANGE 2 rows SLIDE 1 rows WATTR row_num ORDER log", "group_by": []},
    {"window": "RANGE 2 rows SLIDE 1 rows WATTR row_num ORDER event_time", "group_by": []},
]


@pytest.mark.parametrize("query", CLASSES, ids=lambda query: query["window"][:30])
def test_each_class_of_windows_marks_the_row_and_harms_no_other(query: dict[str, Any]) -> None:
    spec = pipeline(query)
    found = rows_of(spec, log((1, "a", MOST), (2, "a", 1), (3, "b", 5), (40, "b", 7)))
    for row in found:
        assert (row.values["total"] is None) == (row.overflow == ("total",))
        assert row.values["mean"] is not None
    assert {bool(row.overflow) for row in found} == {True, False}


def test_the_exact_total_decides_and_no_sum_on_the_way() -> None:
    events = log((1, "a", MOST), (2, "a", MOST), (3, "a", LEAST), (4, "a", LEAST), (5, "b", None))
    a, b = rows_of(pipeline({"window": TUMBLING}), events)
    assert (a.values["total"], a.overflow, a.values["mean"]) == (-2, (), -0.5)
    # No value is no overflow.
    assert (b.values["total"], b.overflow) == (None, ())


def test_both_ends_of_int64_fit_and_one_beyond_does_not() -> None:
    sums = {"a": (MOST, 0), "b": (MOST, 1), "c": (LEAST, 0), "d": (LEAST, -1)}
    events = log(*((at, key, v) for key, both in sums.items() for at, v in enumerate(both, 1)))
    found = {
        row.key: row.values["total"] for row in rows_of(pipeline({"window": TUMBLING}), events)
    }
    assert found == {("a",): MOST, ("b",): None, ("c",): LEAST, ("d",): None}


@pytest.mark.parametrize("accumulation", ["accumulating", "retracting", "discarding"])
def test_a_late_record_brings_a_sum_back_or_takes_it_out(accumulation: str) -> None:
    spec = pipeline({"window": TUMBLING, "accumulation": accumulation}, **UPDATE)
    events = log((1, "a", MOST), (2, "a", 1), (20, "b", 0), (3, "a", -1), (40, "b", 0))
    found = [row for row in rows_of(spec, events) if row.key == ("a",)]
    last = -1 if accumulation == "discarding" else MOST
    shown = [(row.revision, row.retracts, row.values["total"], row.overflow) for row in found]
    taken_back = [(0, True, None, ("total",))] if accumulation == "retracting" else []
    assert shown == [(0, False, None, ("total",)), *taken_back, (1, False, last, ())]
    judged = {check.query: check.revisions for check in defaults(spec)}
    assert judged == {"q": "all" if accumulation == "discarding" else "final"}


def test_a_tombstone_has_no_sum_and_no_mark() -> None:
    spec = pipeline({"window": "SESSION 5 us WATTR ts"}, **UPDATE)
    events = log((1, "a", MOST), (8, "a", MOST), (30, "b", 0), (5, "a", 1), (60, "b", 0))
    stones = [row for row in rows_of(spec, events) if row.absorbed_by is not None]
    assert [(row.values["total"], row.overflow) for row in stones] == [(None, ())]


@pytest.mark.parametrize(
    "window",
    [
        "TUMBLING time(10 us)",
        "TUMBLING count(2) PARTITIONED BY k",
        "SLIDING time(10 us), time(5 us)",
    ],
)
def test_operators_over_policy_windows_mark_their_rows(window: str) -> None:
    aggregates = {"total": "sum(v)", "n": "count"}
    partial = {"partial_windows": True} if window.startswith("SLIDING") else {}
    operator = {"operator": "aggregate", "window": window, "aggregates": aggregates}
    spec = pipeline({}, queries={"q": operator | partial | {"group_by": ["k"]}})
    events = log((1, "a", MOST), (2, "a", 1), (3, "b", 5), (4, "b", 6), (30, "b", 1), (31, "b", 2))
    found = rows_of(spec, events)
    assert all((row.values["total"] is None) == (row.overflow == ("total",)) for row in found)
    assert {bool(row.overflow) for row in found} == {True, False}


FAMILY = {
    "queries": {
        "q": {"window": "RANGE 10 us SLIDE 5 us WATTR ts", "aggregates": {"total": "sum(v)"}},
        "r": {"window": "RANGE 20 us SLIDE 5 us WATTR ts", "aggregates": {"s": "sum(v)"}},
        "m": {"window": "RANGE 15 us SLIDE 5 us WATTR ts", "aggregates": {"total": "max(v)"}},
        "two": {
            "window": "RANGE 10 us SLIDE 5 us WATTR ts",
            "aggregates": {"n": "count", "one": "sum(v)", "other": "sum(v)"},
        },
    }
}


@pytest.mark.parametrize("layout", ["many", "one"])
def test_tables_of_queries_that_share_slices_name_the_sums_as_they_do(
    layout: str, tmp_path: Path
) -> None:
    spec = pipeline({}, **FAMILY, sink={"table": "t", "layout": layout})
    events = log((1, "a", MOST), (2, "a", 1), (30, "b", 5), (60, "b", 5))
    marked = {row.query: row.overflow for row in rows_of(spec, events) if row.overflow}
    assert marked == {"q": ("total",), "r": ("s",), "two": ("one", "other")}
    engine, sink = LocalEngine(spec), TableSink(spec, tmp_path, "r1")
    for number, batch in enumerate(batches(events, 2)):
        sink.take([frame for one in engine.feed(batch) for frame in tagged(one)], number)
    written = read_tables(tmp_path, spec)
    assert sorted(written.rows) == sorted(output_of(engine.output.rows, [], "local").rows)
    tables = RunTables(TableColumns(spec, tmp_path, "r1"))
    shown = {
        query.name: judged(tables.rows(query)) for query in spec.of(Query) if query.name != "m"
    }
    assert not any(success for success, _ in shown.values())
    assert "overflow" not in tables.rows(spec.of(Query)[2]).columns


def defaults(spec: Pipeline) -> list[Any]:
    return [one for one in with_defaults(spec, read_block(spec)) if one.expectation == SUMS_FIT]


def judged(frame: Any, max_share: float = 0) -> tuple[bool, str]:
    import chaos.quality.expectations  # noqa: F401 - seconds, wanted only here

    expectation = EXPECTATIONS[SUMS_FIT](max_share=max_share)
    found = expectation.judge(expectation.measure(frame), {"max_share": max_share})
    return found.success, found.text


def test_the_expectation_is_on_where_a_query_can_overflow() -> None:
    spec, events, _ = report("sum_overflow")
    assert [(check.query, check.revisions) for check in defaults(spec)] == [("w", "final")]
    found = RunLines(output_of(evaluate(spec, events).rows, [], "defined"), spec, events)
    query = spec.of(Query)[0]
    rows = final(query, found.rows(query))
    assert judged(rows) == (
        False,
        "1 of 2 rows have an aggregate that leaves int64, or fails, as s of window 492345",
    )
    assert judged(rows, 0.5)[0]


def test_the_operator_of_other_programs_marks_its_row() -> None:
    window = Sliding(range_=10, slide=10, attribute="ts", align="start")
    flow = StreamFlow(window=window, group_by=("key",), aggregates={"total": "sum(value)"})
    entries: list[Record | Bound] = [
        Record("s/0", 0, 1, "a", MOST),
        Record("s/0", 1, 2, "a", 1),
        Bound("s/0", 2, 10),
    ]
    operator = WindowedAggregator(flow, [LaneStart("s", 0)])
    operator.add(entries, 0)
    rows = [*operator.get_result()]
    assert [(row.value, row.overflow) for row in rows] == [(None, True)]
    assert rows == flows.rows_of(flow, [LaneStart("s", 0)], Slack(0), entries)[0]
