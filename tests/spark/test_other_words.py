"""What docs/coming-from.md says of Spark's own windows is so."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_sessions_that_touch_are_one_in_spark(spark: SparkSession) -> None:
    from pyspark.sql import functions as F  # noqa: N812 - the name that everyone knows

    def sessions(*seconds: int) -> int:
        rows = spark.createDataFrame([(one,) for one in seconds], "s long")
        time = rows.select(F.timestamp_seconds("s").alias("ts"))
        return time.groupBy(F.session_window("ts", "30 minutes")).count().count()

    assert sessions(0, 1799) == sessions(0, 1800) == 1
    assert sessions(0, 1801) == 2
