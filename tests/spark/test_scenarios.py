"""Sessions, joins and windows of recorded scenarios on Spark, all in one stream."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tests.unit.conformance.test_samza import ASKED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_every_scenario_that_a_pipeline_can_ask_on_spark(spark: SparkSession) -> None:
    from conformance.drivers import samza_logs
    from jobs.many_runs import run_all

    run = partial(run_all, spark=spark)
    found = samza_logs.judge_on_spark([*ASKED.values()], 0, run)
    assert [verdict.case for verdict in found] == [*ASKED]
    for verdict in found:
        assert verdict.judged_by == "engine on Spark"
        assert verdict.difference is None, verdict.line()
