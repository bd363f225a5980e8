"""What Spark's state reader finds in checkpoints: a function of the log, and of nothing else."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from chaos.readers.log import read_events
from windowing.engine.reading.batches import batches, checked
from windowing.model import Pipeline, load_pipeline, parse_pipeline
from windowing.model.run_errors import CheckpointMismatch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASE = Path(__file__).parent.parent / "data" / "pipelines" / "exact-floats"


def checkpoint(
    spark: SparkSession,
    pipeline: Pipeline,
    folder: Path,
    records: int,
    batch_rows: int,
    *,
    fused: bool = False,
) -> Path:
    from jobs.file_run import finish, one_file_a_batch
    from windowing.spark.plan import emissions
    from windowing.spark.sinks import MemorySink

    folder.mkdir()
    log = islice(checked(read_events(CASE / "events.jsonl"), pipeline), records)
    raw = one_file_a_batch(spark, batches(log, batch_rows), folder)
    finish(emissions(raw, pipeline, fused=fused), MemorySink(pipeline).write, folder)
    return folder / "checkpoint"


@pytest.mark.parametrize("fused", [False, True])
def test_two_cuts_of_one_log_leave_the_same_state(
    spark: SparkSession, tmp_path: Path, *, fused: bool
) -> None:
    from jobs.state import as_json, read_state

    pipeline = load_pipeline(CASE / "pipeline.yml")

    def states(found: Path, batch: int | None = None) -> list[str]:
        return [as_json(line) for line in read_state(spark, found, pipeline, batch)]

    fine = checkpoint(spark, pipeline, tmp_path / "fine", 40, 10, fused=fused)
    coarse = checkpoint(spark, pipeline, tmp_path / "coarse", 40, 25, fused=fused)
    found = states(fine)
    assert found == states(coarse)
    assert any("/partials" in line for line in found)
    # As of an earlier batch it is that of the log so far.
    half = checkpoint(spark, pipeline, tmp_path / "half", 20, 20, fused=fused)
    assert states(fine, 1) == states(half)
    assert states(fine, 1) != found


def test_the_state_of_another_pipeline_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    from jobs.state import read_state

    pipeline = load_pipeline(CASE / "pipeline.yml")
    found = checkpoint(spark, pipeline, tmp_path / "run", 10, 10)
    other: Any = parse_pipeline(pipeline.text + "\nshards: 3\n")
    with pytest.raises(CheckpointMismatch):
        list(read_state(spark, found, other))


@pytest.mark.parametrize("fused", [False, True])
def test_the_state_is_shown_as_more_shards_would_hold_it(
    spark: SparkSession, tmp_path: Path, *, fused: bool
) -> None:
    from jobs.state import read_state

    pipeline = load_pipeline(CASE / "pipeline.yml")
    found = checkpoint(spark, pipeline, tmp_path / "run", 40, 10, fused=fused)

    def shown(shards: int | None) -> tuple[list[str], list[str]]:
        lines = [*read_state(spark, found, pipeline, shards=shards)]
        tables = [line for line in lines if "/" in line["table"]]
        # Bins of sums that are zero in all rows of a table are left out.
        rows = [
            repr(sorted((name, value) for name, value in row.items() if value != 0))
            for line in tables
            for row in line["rows"]
        ]
        return [line["part"] for line in lines if line["table"] == "reached"], sorted(rows)

    parts, rows = shown(None)
    assert rows
    for shards in (1, pipeline.shards + 3):
        assert shown(shards) == ([f"shard {number}" for number in range(shards)], rows)
    assert len(parts) == pipeline.shards
