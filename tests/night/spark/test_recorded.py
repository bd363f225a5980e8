"""The recorded pipelines on Spark that are not run by day."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.test_plans import BY_DAY, DATA, gives_its_bytes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OTHERS = sorted({path.name for path in DATA.iterdir() if path.is_dir()} - {*BY_DAY})


@pytest.mark.parametrize("name", OTHERS)
def test_recorded_pipelines_give_their_bytes_on_spark(
    name: str, spark: SparkSession, tmp_path: Path
) -> None:
    gives_its_bytes(name, spark, tmp_path)
