"""One Spark session for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session with the settings that lanes and shards need."""
    from jobs.session import session

    active = session("slackwater tests", master="local[2]")
    active.sparkContext.setLogLevel("ERROR")
    yield active
    active.stop()
