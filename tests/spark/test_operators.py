"""Queries of operators on Spark: the local engine's bytes, also after a restart."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.strategies import Event, entry
from tests.unit.engine.rows.test_hosted import drawn_log, interleaved, pipeline
from windowing.engine.reading.batches import batches
from windowing.engine.reading.pack import RawRows
from windowing.model import Pipeline, parse_pipeline
from windowing.model.rows import dead_letter_lines, row_lines
from windowing.runtime.local import LocalEngine, Output

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CHAIN = (
    "steps: [{operator: dedup, window: 'SLIDING count(3), count(1) PARTITIONED BY k', by: [v]}, "
    "{operator: aggregate, window: 'SLIDING time(9 us), time(6 us) PARTITIONED BY k', "
    "partial_windows: true, aggregates: {n: count, mean: mean(x), all: collect(v)}}]"
)
_PANES = (
    "operator: aggregate, window: 'SLIDING time(12 us), time(3 us) PARTITIONED BY k', "
    "aggregates: {n: count, mean: mean(x)}"
)
_SOURCE = (
    "{topic: %s, partitions: 1, format: json, event_time: {field: ts, unit: us}, "
    "fields: {k: string, v: int, g: 'string?', x: 'float?'}, disorder: {slack: 5 us}}"
)
_JOIN = f"""
name: p
join:
  operator: join
  left: {{source: {_SOURCE % "a"}, window: SLIDING count(3) PARTITIONED BY k}}
  right: {{source: {_SOURCE % "b"}, window: SLIDING time(10 us) PARTITIONED BY k}}
  kind: full
  equal: [k]
  select: {{v: left.v, other: right.v}}
shards: 3
"""
_SORT = "operator: sort, window: 'SLIDING count(3), count(1) PARTITIONED BY k', by: [v desc, x]"


def queries() -> Pipeline:
    """One in canonical order, one in two stages, one in lane order."""
    text = pipeline(_CHAIN, "canonical").text
    text += f"  panes: {{{_PANES}}}\n  by_lane: {{{_SORT}, order: lane}}\n"
    return parse_pipeline(text)


def of_two_topics(event: Event) -> Event:
    """The same event with each lane as a topic of its own."""
    return {**event, "source": "ab"[event["partition"]], "partition": 0}


def everything(output: Output) -> list[str]:
    return sorted([*row_lines(output.rows), *dead_letter_lines(output.dead_letters)])


@pytest.mark.parametrize("joins", [False, True])
def test_rows_on_spark_are_those_of_the_local_engine(
    spark: SparkSession, tmp_path: Path, *, joins: bool
) -> None:
    from jobs.file_run import finish, one_file_a_batch
    from windowing.spark.plan import emissions
    from windowing.spark.sinks import MemorySink

    spec = parse_pipeline(_JOIN) if joins else queries()
    events = interleaved(drawn_log(3, 60), random.Random(3))
    log = [entry(of_two_topics(event) if joins else event) for event in events]
    cuts: list[dict[int, RawRows]] = [*batches(log, 12, spec)]
    sink = MemorySink(spec)
    for end in (len(cuts) // 2, len(cuts)):
        # A restarted job finds its checkpoint, and the files of the batches before.
        shutil.rmtree(tmp_path / "batches", ignore_errors=True)
        raw = one_file_a_batch(spark, cuts[:end], tmp_path)
        finish(emissions(raw, spec), sink.write, tmp_path)
    local = LocalEngine(spec)
    for batch in batches(log, 5, spec):
        local.feed(batch)
    assert {row.query for row in local.output.rows} == {flow.name for flow in spec.flows}
    assert everything(sink.output) == everything(local.output)
