"""A recorded checkpoint of Spark opens, whatever the code has become, and its tables go on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.unit.checkpoints import on_spark
from tests.unit.checkpoints.record import STATES
from windowing.model.rows import row_lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_recorded_checkpoint_of_spark_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    from windowing.spark.sinks.table import TableSink

    half, end = on_spark.halves()
    on_spark.unpack(STATES / on_spark.FILE, tmp_path)
    pipeline = on_spark.pipeline()
    before = TableSink.kept(pipeline, tmp_path / on_spark.TABLES, on_spark.RUN)
    output = on_spark.go_on(spark, tmp_path, tables=True)
    defined = (on_spark.CASE / "out.jsonl").read_text(encoding="utf-8").splitlines()
    defined = [line for line in defined if line]
    found = [*row_lines(output.rows)]
    assert found
    assert len(found) < len(defined)
    assert {*found} <= {*defined}
    after = TableSink.kept(pipeline, tmp_path / on_spark.TABLES, on_spark.RUN)
    assert [*before.tokens] == [*range(half)]
    assert [*after.tokens] == [*range(end)]
    assert all(pipeline.wrote(token.pipeline) for token in after.tokens.values())
    assert after.tokens[end - 1].pipeline == pipeline.fingerprint
    assert on_spark.table_rows(tmp_path) == len(defined)
