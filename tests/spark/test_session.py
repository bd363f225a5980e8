"""A real session: who runs it, and what it says when its JVM ends first."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from jobs.driver.orphan import executors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_local_session_is_its_own_executor(spark: SparkSession) -> None:
    assert executors(spark) == 1


@pytest.mark.parametrize(
    ("error", "shown"), [(EOFError, False), (ConnectionResetError, False), (ValueError, True)]
)
def test_no_stack_trace_of_a_jvm_that_has_ended(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], error: type[Exception], shown: bool
) -> None:
    assert not logging.getLogger("py4j").propagate
    try:
        raise error
    except error:
        spark.sparkContext._accumulatorServer.handle_error(None, "the JVM")
    assert ("Traceback" in capsys.readouterr().err) == shown
