"""Spark's own windows as a box, on inputs whose reports were worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from jobs.live_engines.spark import SparkWindows
from tests.unit.research.boxes import one_by_one, stream_of
from windowing.research.engines.parameters import Domain
from windowing.research.prober.experiments import Refused, Size

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOPPING = Size(4, 2, 1)


def test_spark_in_each_mode(spark: SparkSession) -> None:
    stream = one_by_one(1, 2, 4, 9)
    answers = {
        mode: SparkWindows(spark, mode).run(Domain.time, HOPPING, stream)
        for mode in ("append", "update", "complete")
    }
    assert answers["append"] == [[], [[1]], [[1, 2]], [[2, 3], [3]]]
    assert answers["update"] == [[[1], [1]], [[1, 2], [2]], [[2, 3], [3]], [[4], [4]]]
    assert answers["complete"][1] == [[1], [1, 2], [2]]
    box = SparkWindows(spark, "append")
    assert box.run(Domain.time, HOPPING, stream_of([1, 2, 4], [9]))[2] == [[1], [1, 2]]
    with pytest.raises(Refused, match="must be <= the `window_duration`"):
        box.run(Domain.time, Size(2, 3, 1), stream)
    with pytest.raises(Refused, match="no windows of tuples"):
        box.run(Domain.tuple, HOPPING, stream)
