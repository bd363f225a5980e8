"""Spark's own windows depend on where the log was cut; that is what the comparison rests on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from windowing.engine.reading.batches import batches
from windowing.engine.reading.pack import RawRows
from windowing.model import parse_pipeline
from windowing.model.run_errors import WindowingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

PIPELINE = """
name: p
source:
  topic: t
  partitions: 1
  format: json
  event_time: {field: ts, unit: s}
  fields: {k: string, v: "int?"}
  disorder: {slack: 5 seconds}
queries:
  q:
    window: RANGE 20 seconds SLIDE 10 seconds WATTR ts ORIGIN 3 seconds
    group_by: [k]
    aggregates: {n: count, sum: sum(v), mean: mean(v), low: min(v), high: max(v)}
"""
# The second record of 4 s comes when 60 s have been seen: late, unless it is in the batch that says
# so, or in the next, since Spark refuses by the watermark of the batch before.
LOG = [(4, "a", 1), (14, "a", None), (60, "b", 5), (61, "b", 5), (4, "a", 9), (100, "b", 7)]


def cut(rows: int) -> Iterator[Mapping[int, RawRows]]:
    from chaos.readers.log import LogRecord

    log = [
        LogRecord("t", 0, offset, json.dumps({"ts": ts, "k": k, "v": v}).encode(), None, None)
        for offset, (ts, k, v) in enumerate(LOG)
    ]
    return batches(log, rows)


def test_a_late_row_counts_or_not_by_where_the_log_is_cut(spark: SparkSession) -> None:
    from jobs.builtin import run

    provider = "spark.sql.streaming.stateStore.providerClass"
    before = spark.conf.get(provider)
    found = {}
    for rows in (1, len(LOG)):
        output = run(parse_pipeline(PIPELINE), cut(rows), spark)
        assert not output.dead_letters
        found[rows] = {
            (r.window_start_us // 10**6, r.window_end_us // 10**6, r.key): r for r in output.rows
        }
    extents = {place[:2] for place in found[1]}
    assert extents == {(3, 13), (3, 23), (13, 33), (43, 63), (53, 73)}
    one, whole = (found[rows][3, 13, ("a",)] for rows in (1, len(LOG)))
    assert (one.window_id, one.records, one.values["sum"]) == (0, 1, 1)
    assert (whole.window_id, whole.records, whole.values["sum"]) == (0, 2, 10)
    both = found[1][3, 23, ("a",)].values
    assert both == {"n": 2, "sum": 1, "mean": 1.0, "low": 1, "high": 1}
    assert spark.conf.get(provider) == before


def test_what_spark_cannot_say_is_refused(spark: SparkSession) -> None:
    from jobs.builtin import run

    rows = parse_pipeline(PIPELINE.replace("slack: 5 seconds", "slack: 5 rows"))
    with pytest.raises(WindowingError, match="'q' cannot be said"):
        run(rows, cut(1), spark)
