"""Slots: Spark's own hash sends them where we say, and to each task as many as to any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from windowing.spark.storage.slots import spark_hash

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_hash_is_sparks_own(spark: SparkSession) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    values = [0, 1, 42, 2**31 - 1, *range(10**9, 10**9 + 500)]
    rows = spark.createDataFrame([(value,) for value in values], "value int")
    found = [row[0] for row in rows.select(F.hash("value")).collect()]
    assert found == spark_hash(np.array(values)).tolist()
