"""Counting the executors of a real session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.driver.orphan import executors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_local_session_is_its_own_executor(spark: SparkSession) -> None:
    assert executors(spark) == 1
