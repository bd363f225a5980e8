"""The job reads control headers as every other reader does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.jobs.test_controls import VARIANTS
from windowing.semantics.controls import read_control

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_a_job_reads_them_alike(spark: SparkSession) -> None:
    from jobs.pipeline import _control

    rows: list[Any] = [([{"key": k, "value": v} for k, v in headers],) for headers, _ in VARIANTS]
    rows += [([{"key": "other", "value": b"x"}],), ([],), (None,)]
    schema = "headers array<struct<key:string,value:binary>>"
    found = spark.createDataFrame(rows, schema).select(_control().alias("c")).collect()
    controls = [None if row["c"] is None else bytes(row["c"]) for row in found]
    assert controls[-3:] == [None, None, None]
    assert all(control is not None for control in controls[:-3])
    refused = [read_control(control) is None for control in controls[:-3]]
    assert refused == [refused for _, refused in VARIANTS]
