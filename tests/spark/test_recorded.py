"""The recorded pipelines on Spark: the same lanes and shards, the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chaos.readers.log import read_events
from windowing.engine.reading.batches import batches, checked, interleave
from windowing.model import load_pipeline
from windowing.runtime.output import write_output

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATA = Path(__file__).parents[1] / "data" / "pipelines"
BY_DAY = ("aggregates", "join", "late-update-generous", "poison", "sessions", "silent-lane")
"""The others are run at night."""


@pytest.mark.parametrize("name", BY_DAY)
def test_recorded_pipelines_give_their_bytes_on_spark(
    name: str, spark: SparkSession, tmp_path: Path
) -> None:
    gives_its_bytes(name, spark, tmp_path)


def gives_its_bytes(name: str, spark: SparkSession, folder: Path) -> None:
    from jobs.file_run import run

    pipeline = load_pipeline(DATA / name / "pipeline.yml")
    log = interleave(checked(read_events(DATA / name / "events.jsonl"), pipeline), seed=7)
    result = run(pipeline, batches(log, 25, pipeline), spark)
    write_output(folder / "out.jsonl", result.rows, result.dead_letters)
    for file in ("out.jsonl", "out.dead.jsonl"):
        assert (folder / file).read_bytes() == (DATA / name / file).read_bytes()
