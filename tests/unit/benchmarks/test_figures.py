"""Ratios are taken within rounds, and results are replaced by whole runs only."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from benchmarks import figures
from benchmarks.cases import CASE, CASES
from benchmarks.events import END_US, Load, as_lines, batch_files, dataset
from benchmarks.figures import markdown
from benchmarks.lines import lines_of_code, table
from benchmarks.runs import OURS, RunTiming


def run(rows_per_s: float, peak_bytes: int = 1_000) -> RunTiming:
    return RunTiming(1_000, 1.0, 1_000, 1_000 / rows_per_s, peak_bytes, 1.0)


def test_a_ratio_is_the_median_of_those_within_rounds() -> None:
    by_path = {
        OURS: [run(100, 300), run(10), run(400)],
        "spark in-memory": [run(50, 200), run(10), run(40)],
        "spark rocksdb": [run(25), run(10, 2_000), run(40)],
    }
    found = figures.ratios(by_path)
    assert found["ratio_memory"] == pytest.approx(2)  # of 2, 1, 10
    assert found["ratio_rocksdb"] == pytest.approx(4)  # of 4, 1, 10
    assert found["ratio_flink"] is None
    assert found["peak_memory_ratio"] == pytest.approx(1)  # of 1.5, 1, 1; and of 0.3, 0.5, 1
    assert len(found["runs"][OURS]) == 3


def test_results_are_written_as_promised(tmp_path: Path) -> None:
    target = tmp_path / "results" / "spark.json"
    figures.publish({"tumbling_1": {OURS: [run(10)], "floor": [run(20)]}}, {"cores": 2}, target)
    found = json.loads(target.read_text())
    assert found["machine"] == {"cores": 2}
    assert found["tumbling_1"]["ratio_floor"] == pytest.approx(0.5)


@pytest.mark.parametrize("hard", [False, True])
def test_lines_have_the_values_of_the_log_in_the_order_of_arrival(
    tmp_path: Path, hard: bool
) -> None:
    data = dataset(tmp_path, Load(1_000, batches=2, keys=10, hard=hard))
    files = sorted(as_lines(data).rglob("values.json"))
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    log = [
        json.loads(value)
        for files in batch_files(data)
        for value in pl.read_parquet(files, columns=["value"])["value"]
    ]
    assert sorted(map(json.dumps, lines)) == sorted(map(json.dumps, log))
    for file in files:  # no record is later than its delay allows
        newest = 0
        for line in file.read_text().splitlines():
            ts = json.loads(line)["ts"]
            assert ts > newest - 61_000
            newest = max(newest, ts)
    assert max(line["ts"] for line in lines) * 1_000 > END_US


def test_a_smaller_set_has_the_same_density() -> None:
    small, large = (Load.dense(events, 8, 10) for events in (1_000_000, 10_000_000))
    assert large.span_ms == pytest.approx(10 * small.span_ms, rel=0.001)
    assert large.span_ms == pytest.approx(7_200_000, rel=0.001)


def test_the_cases_are_those_of_the_results() -> None:
    assert list(CASE) == [case.name for case in CASES]
    assert CASE["kafka_json_sliding_10_1"].from_topic


SOURCE = '''
"""A docstring."""

import os
from a import (
    b,
)


def check_nothing(x):
    """No operator."""
    return x


class Sum:
    """Adds.

    More.
    """

    def __init__(
        self,
        x,  # a comment
    ):
        self.x = [  # this line counts
            x,
        ]
        text = """two
        lines"""
'''


def test_what_counts() -> None:
    """`class`, `def`, two arguments, two of the list, two of the text."""
    assert lines_of_code(SOURCE) == 8


def test_the_page_shows_what_is_counted() -> None:
    page = Path("benchmarks/policies.md").read_text(encoding="utf-8")
    assert "\n".join(markdown(table())) in page, "run `.venv/bin/python -m benchmarks.lines`"
