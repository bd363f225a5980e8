"""Both plans on Spark: the bytes and the shards' state are equal, also after a restart."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chaos.readers.log import read_events
from tests.night.spark.test_recorded import DATA
from windowing.engine.plan import plan_of
from windowing.engine.reading.batches import batches, checked, interleave
from windowing.model import load_pipeline
from windowing.model.run_errors import BadRecords
from windowing.runtime.output import write_output

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASE = DATA / "late-update-generous"


def restarted(spark: SparkSession, folder: Path, *, fused: bool) -> list[str]:
    """Run the case with a restart half-way; return the state of its shards."""
    from jobs.file_run import finish, one_file_a_batch
    from jobs.state import as_json, read_state
    from windowing.spark.plan import emissions
    from windowing.spark.sinks import MemorySink

    pipeline = load_pipeline(CASE / "pipeline.yml")
    assert plan_of(pipeline).why_lanes is None
    log = interleave(checked(read_events(CASE / "events.jsonl"), pipeline), seed=3)
    cuts, sink = [*batches(log, 20, pipeline)], MemorySink(pipeline)
    for end in (len(cuts) // 2, len(cuts)):
        # A restarted job finds its checkpoint, and the files of the batches before.
        shutil.rmtree(folder / "batches", ignore_errors=True)
        raw = one_file_a_batch(spark, cuts[:end], folder)
        finish(emissions(raw, pipeline, fused=fused), sink.write, folder)
    write_output(folder / "out.jsonl", sink.output.rows, sink.output.dead_letters)
    state = list(read_state(spark, folder / "checkpoint", pipeline))
    assert fused != any(line["part"].startswith("lane ") for line in state)
    spelled = zip(state, map(as_json, state), strict=True)
    return [text for line, text in spelled if line["table"] not in ("lane", "lanes")]


def test_both_plans_give_the_same_rows_and_state(spark: SparkSession, tmp_path: Path) -> None:
    states = []
    for fused in (True, False):
        folder = tmp_path / str(fused)
        folder.mkdir()
        states.append(restarted(spark, folder, fused=fused))
        for file in ("out.jsonl", "out.dead.jsonl"):
            assert (folder / file).read_bytes() == (CASE / file).read_bytes()
    assert states[0] == states[1]


def test_a_pipeline_that_needs_lanes_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    from jobs.file_run import one_file_a_batch
    from windowing.spark.plan import emissions

    name = next(
        path.name
        for path in sorted(DATA.iterdir())
        if path.is_dir() and plan_of(load_pipeline(path / "pipeline.yml")).why_lanes is not None
    )
    pipeline = load_pipeline(DATA / name / "pipeline.yml")
    raw = one_file_a_batch(spark, batches([], 1, pipeline), tmp_path)
    with pytest.raises(BadRecords, match="lanes need a stage of their own"):
        emissions(raw, pipeline, fused=True)
