"""Executors of a real Spark job write the tables' files; a run batch is exact on both paths."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chaos.readers.delta import read_tables
from chaos.verdict.verify import verify
from jobs.file_run import finish, one_file_a_batch
from tests.unit.sinks.test_data_files import files_in
from tests.unit.sinks.test_table_sink import RETRACTING, log_of
from windowing.engine.reading.batches import batches
from windowing.model import parse_pipeline
from windowing.spark.plan import emissions
from windowing.spark.sinks.data_files import INLINE_SETTING
from windowing.spark.sinks.table import TableSink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LOG = log_of(*(time + 3 * (time % 2) for time in range(1, 400, 3)), 30, 900)


@pytest.mark.parametrize("inline_bytes", [0, 1 << 20])
def test_a_job_writes_the_tables_on_both_paths(
    spark: SparkSession, tmp_path: Path, inline_bytes: int
) -> None:
    window = "RANGE 10 us SLIDE 10 us WATTR ts"
    pipeline = parse_pipeline(RETRACTING.format(window=window, shards=4))
    sink, seen = TableSink(pipeline, tmp_path / "tables", "r 1"), list[set[str]]()

    def write(batch: DataFrame, batch_id: int) -> None:
        sink.write(batch, batch_id)
        seen.append({path.name for path in files_in(tmp_path / "tables/q")})
        sink.write(batch, batch_id)  # as after a crash before Spark's own commit

    spark.conf.set(INLINE_SETTING, str(inline_bytes))
    try:
        raw = one_file_a_batch(spark, batches(LOG, 60, pipeline), tmp_path)
        finish(emissions(raw, pipeline), write, tmp_path)
    finally:
        spark.conf.unset(INLINE_SETTING)
    verdict = verify(pipeline, LOG, read_tables(tmp_path / "tables", pipeline, "r 1"))
    assert verdict.ok, "\n".join(verdict.lines())
    # Of the direct path the driver writes one file; else each task one.
    assert (len(seen[0]) == 1) == (inline_bytes > 0)
