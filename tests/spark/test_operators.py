"""Queries of operators on Spark: the local engine's bytes, also after a restart."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.engine.rows.test_hosted import drawn_log, interleaved, pipeline
from tests.strategies.logs import entry
from windowing.engine.input.batches import batches
from windowing.engine.input.pack import RawRows
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
_SORT = "operator: sort, window: 'SLIDING count(3), count(1) PARTITIONED BY k', by: [v desc, x]"


def two_queries() -> Pipeline:
    """One in canonical order, one in lane order."""
    text = pipeline(_CHAIN, "canonical").text
    return parse_pipeline(f"{text}  by_lane: {{{_SORT}, order: lane}}\n")


def everything(output: Output) -> list[str]:
    return sorted([*row_lines(output.rows), *dead_letter_lines(output.dead_letters)])


@pytest.mark.slow
@pytest.mark.spark
def test_rows_on_spark_are_those_of_the_local_engine(spark: SparkSession, tmp_path: Path) -> None:
    from jobs.file_run import finish, one_file_a_batch
    from windowing.spark.plan import emissions
    from windowing.spark.sinks import MemorySink

    spec = two_queries()
    log = [entry(event) for event in interleaved(drawn_log(3, 60), random.Random(3))]
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
    assert {row.query for row in local.output.rows} == {"q", "by_lane"}
    assert everything(sink.output) == everything(local.output)
