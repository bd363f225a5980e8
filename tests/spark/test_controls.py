"""The job reads control headers as every other reader does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.jobs.test_controls import PIPELINE
from tests.unit.jobs.test_controls import SIGNED, VARIANTS
from windowing.model import parse_pipeline
from windowing.model.control import ControlEnvelope, unsealed
from windowing.semantics.controls import read_control

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_job_reads_them_alike(spark: SparkSession) -> None:
    from windowing.spark.sources.raw import raw_rows

    given: list[Any] = [[{"key": k, "value": v} for k, v in headers] for headers, _ in VARIANTS]
    given += [[{"key": "other", "value": b"x"}], [], None]
    schema = "headers array<struct<key:string,value:binary>>, "
    schema += "partition int, offset long, value binary"
    records = spark.createDataFrame([(headers, 0, 7, b"") for headers in given], schema)
    found = raw_rows(records, parse_pipeline(PIPELINE.format(topic="t")).source).collect()
    controls = [None if row["control"] is None else bytes(row["control"]) for row in found]
    assert controls[-3:] == [None, None, None]
    assert all(control is not None for control in controls[:-3])
    refused = [read_control(control) is None for control in controls[:-3]]
    assert refused == [refused for _, refused in VARIANTS]


@pytest.mark.parametrize("key", [True, False])
def test_a_job_hands_on_what_signs_a_record(spark: SparkSession, *, key: bool) -> None:
    from windowing.spark.sources.raw import raw_rows

    given: list[Any] = [[{"key": k, "value": v} for k, v in headers] for headers, _ in SIGNED]
    schema = "headers array<struct<key:string,value:binary>>, "
    schema += "partition int, offset long, value binary"
    records = spark.createDataFrame([(headers, 0, 7, b"") for headers in given], schema)
    text = PIPELINE.format(topic="t")
    if key:
        text = text.replace("disorder: ordered", "disorder: ordered, control: {key: SOME_KEY}")
    found = raw_rows(records, parse_pipeline(text).source).collect()
    read = [unsealed(bytes(row["control"])) for row in found]
    # Nobody looks at a signature where none is asked for.
    assert read == [due if key else ControlEnvelope(due.body) for _, due in SIGNED]
