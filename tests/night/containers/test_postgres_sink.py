"""The recorded pipelines that the day leaves out, in a real PostgreSQL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.stack.containers.test_postgres_sink import CORE, DATA, REFUSED, is_written_once

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OTHERS = sorted({path.name for path in DATA.iterdir() if path.is_dir()} - {CORE, REFUSED})


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.usefixtures("postgres")
def test_a_batch_that_dies_in_its_transaction_is_written_once(
    name: str, spark: SparkSession, tmp_path: Path
) -> None:
    is_written_once(name, spark, tmp_path)
