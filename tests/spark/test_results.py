"""Spark reads the file of newest rows by the line that docs/results.md gives."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from jobs.tools.results import of_run, write
from tests.unit.slackwater.test_results import DOCUMENT, RECORDS, P, deploy, log_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_line_for_spark_reads_the_newest_rows(spark: SparkSession, tmp_path: Path) -> None:
    deploy(tmp_path, "r1", log_of(RECORDS))
    rows = of_run(tmp_path / "tables" / P.output / P.flows[0].name, "r1", P.flows[0])
    write(tmp_path / "hourly.parquet", rows)
    (line,) = re.findall(r"^\| Spark \| `(.*)` \|$", DOCUMENT, flags=re.MULTILINE)
    found = eval(line.replace("hourly.parquet", str(tmp_path / "hourly.parquet")))  # noqa: S307
    columns = ["window_id", "origin", "revision", "flights", "total"]
    seen = [tuple(row) for row in found.select(columns).collect()]
    assert sorted(seen, key=str) == sorted(rows.select(columns).rows(), key=str)
    assert found.columns == rows.columns
