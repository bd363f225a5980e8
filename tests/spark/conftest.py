"""One Spark session, and one broker, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.conftest_kafka import dead_broker, kafka_broker
from tests.unit.infra.conftest import layout

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


__all__ = ["dead_broker", "kafka_broker", "layout"]


@pytest.fixture(scope="session", autouse=True)
def spark() -> Iterator[SparkSession]:
    """A local session with the settings that lanes and shards need, and Spark's Kafka source.

    For every test here: a process has one JVM, and what a command of ours would start has no Kafka.
    """
    from infra.spark import connector_jars
    from jobs.session import session

    active = session("slackwater tests", master="local[2]", jars=connector_jars())
    active.sparkContext.setLogLevel("ERROR")
    yield active
    active.stop()
