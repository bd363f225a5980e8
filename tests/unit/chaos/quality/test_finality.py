"""Up to where windows are final, and that the definition revises none of those later."""

from __future__ import annotations

import math
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.quality.batches import RunTables
from chaos.quality.finality import ALL, final_until
from chaos.readers.table import TableColumns
from tests.strategies import Case, cases, entry
from tests.unit.chaos.verdict.test_verify import Rows, write_tables
from windowing.model import parse_pipeline
from windowing.semantics import evaluate

HEAD = """\
name: p
source: {topic: s, partitions: 2, format: json, event_time: {field: ts, unit: us},
         fields: {x: int}, disorder: {slack: 0 us}}
late: {policy: drop}
queries:
  w: {window: RANGE 10 us SLIDE 10 us WATTR ts, aggregates: {n: count}}
  revised:
    window: RANGE 10 us SLIDE 10 us WATTR ts
    late: {policy: update, every: 5 us}
    retention: 20 us
    aggregates: {n: count}
  at_records: {window: RANGE 10 us RATTR ts SATTR row_num SLIDE 1 row, aggregates: {n: count}}
  of_rows:
    window: RANGE 2 rows SLIDE 2 rows WATTR row_num ORDER event_time
    aggregates: {n: count}
"""
P = parse_pipeline(HEAD)


def micros(instant: str | None) -> int | None:
    if instant is None:
        return None
    since = datetime.fromisoformat(instant) - datetime.fromisoformat("1970-01-01T00:00:00+00:00")
    return since.seconds * 10**6 + since.microseconds + since.days * 86400 * 10**6


@pytest.mark.parametrize(
    ("reached", "expected"),
    [
        ({"s/0": 100, "s/1": 130}, {"w": 100, "revised": 75, "at_records": 99, "of_rows": None}),
        ({"s/0": math.inf, "s/1": 30}, {"w": 30, "revised": 5, "at_records": 29, "of_rows": None}),
        ({"s/0": 100}, dict.fromkeys(("w", "revised", "at_records", "of_rows"))),
        ({"s/0": 100, "s/1": None}, dict.fromkeys(("w", "revised", "at_records", "of_rows"))),
        ({}, dict.fromkeys(("w", "revised", "at_records", "of_rows"))),
    ],
)
def test_the_slowest_lane_decides(reached: dict[str, Any], expected: dict[str, Any]) -> None:
    found = final_until(P, reached)
    assert {name: micros(instant) for name, instant in found.items()} == expected


def test_everything_is_final_at_the_end() -> None:
    found = final_until(P, {"s/0": math.inf, "s/1": math.inf})
    assert found == {"w": ALL, "revised": ALL, "at_records": ALL, "of_rows": None}


def test_the_metrics_of_a_run_show_its_progress(tmp_path: Path) -> None:
    """The furthest of a lane's batches, whatever their order, and lanes apart."""

    def spoil(tables: dict[str, Rows]) -> None:
        batches = [("s/0", 40, False), ("s/0", 70, False), ("s/1", 5, False), ("s/1", None, True)]
        tables["metrics"] = [
            {**tables["metrics"][0], "lane": lane, "progress_us": us, "ended": ended}
            for lane, us, ended in batches
        ]

    write_tables(tmp_path, P, evaluate(P, []), spoil=spoil)
    tables = RunTables(TableColumns(P, tmp_path, "r1"))
    assert tables.reached() == {"s/0": 70, "s/1": math.inf}
    assert final_until(P, tables.reached())["w"] == "1970-01-01T00:00:00.000070+00:00"


@settings(max_examples=settings.default.max_examples * 10 if settings.default else 100)
@given(cases(), st.floats(0, 1))
def test_what_is_final_does_not_change_any_more(case: Case, share: float) -> None:
    """The rows of a log's first part, up to where they are final, are those of the whole log."""
    pipeline = parse_pipeline(case.pipeline)
    some = [entry(e) for lane in case.lanes for e in lane[: round(share * len(lane))]]
    before = evaluate(pipeline, some)
    after = evaluate(pipeline, [entry(event) for event in case.events])
    for name, final in final_until(pipeline, before.progress).items():
        if final is None:
            continue
        until = math.inf if final == ALL else micros(final)
        assert until is not None
        first, then = (
            [row for row in of.rows if row.query == name and row.window_end_us <= until]
            for of in (before, after)
        )
        assert first == then, f"{name}, final until {final}"
