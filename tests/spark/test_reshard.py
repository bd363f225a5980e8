"""A run goes on with another number of shards: the same rows, and the same state at the end."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chaos.readers.log import read_events
from tests.spark.test_plans import DATA
from windowing.engine.reading.batches import batches, checked, interleave
from windowing.engine.reading.pack import RawRows
from windowing.model import Pipeline, load_pipeline
from windowing.model.file.versions import with_shards
from windowing.model.rows import row_lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASE = DATA / "exact-floats"
WIDTHS = (3, 11, 1)


def cuts(pipeline: Pipeline) -> list[Mapping[int, RawRows]]:
    log = interleave(checked(read_events(CASE / "events.jsonl"), pipeline), seed=3)
    return [*batches(log, 9, pipeline)]


def gone_on(
    spark: SparkSession,
    folder: Path,
    pipeline: Pipeline,
    parts: list[Mapping[int, RawRows]],
    *,
    fused: bool,
    seed: Path | None,
) -> list[str]:
    """Run batches from a new checkpoint, with or without a seed; return the rows."""
    from jobs.file_run import finish, one_file_a_batch
    from windowing.spark.plan import emissions
    from windowing.spark.sinks import MemorySink
    from windowing.spark.storage.seed import seed_rows

    folder.mkdir()
    sink, raw = MemorySink(pipeline), one_file_a_batch(spark, parts, folder)
    rows = None if seed is None else seed_rows(spark, seed)
    finish(emissions(raw, pipeline, fused=fused, seed=rows), sink.write, folder)
    return [*row_lines(sink.output.rows)]


def shown(spark: SparkSession, folder: Path, pipeline: Pipeline) -> list[str]:
    from jobs.state import as_json, read_state

    return [as_json(line) for line in read_state(spark, folder / "checkpoint", pipeline)]


@pytest.mark.parametrize("fused", [False, True])
def test_a_run_goes_on_with_any_number_of_shards(
    spark: SparkSession, tmp_path: Path, *, fused: bool
) -> None:
    from jobs.state import converted
    from windowing.spark.storage.seed import write_seed

    pipeline = load_pipeline(CASE / "pipeline.yml")
    parts, found, seed = cuts(pipeline), list[str](), None
    ends = [0, 1, len(parts) // 2, len(parts) - 1, len(parts)]
    for number, (begin, end) in enumerate(pairwise(ends)):
        folder = tmp_path / str(number)
        found += gone_on(spark, folder, pipeline, parts[begin:end], fused=fused, seed=seed)
        if number < len(WIDTHS):
            wider = with_shards(pipeline, WIDTHS[number])
            after = converted(spark, folder / "checkpoint", pipeline, wider)
            pipeline, seed = wider, tmp_path / f"seed-{number}"
            write_seed(seed, after.stores)
    expected = (CASE / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert sorted(found) == sorted(expected)
    same = with_shards(load_pipeline(CASE / "pipeline.yml"), WIDTHS[-1])
    gone_on(spark, tmp_path / "whole", same, parts, fused=fused, seed=None)
    assert shown(spark, folder, pipeline) == shown(spark, tmp_path / "whole", same)
