"""The recorded pipelines on Spark: the same lanes and shards, the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chaos.readers.log import read_events
from windowing.engine.input.batches import batches, checked, interleave
from windowing.model import load_pipeline
from windowing.runtime.output import write_output

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATA = Path(__file__).parent.parent / "data" / "pipelines"
CASES = sorted(path.name for path in DATA.iterdir() if path.is_dir())
QUICK = ("aggregates", "late-update-generous", "poison")
"""Tried by `make test`."""

SLOW = ("join", "late-policies", "sessions", "silent-lane")
"""Tried by `make test-slow`; all others at night."""


def marks(name: str) -> list[pytest.MarkDecorator]:
    if name in QUICK:
        return []
    return [pytest.mark.slow] if name in SLOW else [pytest.mark.slow, pytest.mark.nightly]


@pytest.mark.spark
@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in CASES])
def test_recorded_pipelines_give_their_bytes_on_spark(
    name: str, spark: SparkSession, tmp_path: Path
) -> None:
    from jobs.file_run import run

    pipeline = load_pipeline(DATA / name / "pipeline.yml")
    log = interleave(checked(read_events(DATA / name / "events.jsonl"), pipeline), seed=7)
    result = run(pipeline, batches(log, 25, pipeline), spark)
    write_output(tmp_path / "out.jsonl", result.rows, result.dead_letters)
    for file in ("out.jsonl", "out.dead.jsonl"):
        assert (tmp_path / file).read_bytes() == (DATA / name / file).read_bytes()
