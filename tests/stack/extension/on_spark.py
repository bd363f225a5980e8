"""The toys under a real stream: as in this process, and as defined.

Run by `test_on_spark`, in a process of its own where the package is installed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chaos.readers.catalogue import read_output
from tests.unit.extension import test_computing, test_window
from tests.unit.sinks.test_sink_tokens import PIPELINE
from windowing.engine.reading.pack import RawRows
from windowing.model import parse_pipeline
from windowing.spark.sinks import MemorySink, RunPlace, sink_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    from jobs.file_run import own_session

    with own_session("slackwater tests of plug-ins") as session:
        yield session


def test_a_stream_writes_to_the_sink_of_a_package(spark: SparkSession, tmp_path: Path) -> None:
    from jobs.file_run import finish, one_file_a_batch
    from windowing.spark.plan import emissions

    pipeline = parse_pipeline(PIPELINE.text + "sink: {lines: out}\n")
    values = [f'{{"ts":{10 * offset},"v":1}}'.encode() for offset in range(9)]
    log = [
        {
            0: RawRows(
                offsets=[*cut],
                values=[values[o] for o in cut],
                controls=[None] * len(cut),
                append_us=[None] * len(cut),
            )
        }
        for cut in (range(3), range(3, 7), range(7, 9))
    ]
    sink = sink_of(pipeline).open(RunPlace(pipeline, "r1", tmp_path / "out"))
    finish(emissions(one_file_a_batch(spark, log, tmp_path), pipeline), sink.write, tmp_path)
    assert len(read_output(pipeline, tmp_path / "out", "r1").rows) == 8


def test_a_stream_has_the_generator_and_the_aggregate_of_a_package(spark: SparkSession) -> None:
    from jobs.file_run import run

    pipeline = parse_pipeline(test_computing.TEXT)
    test_computing.assert_is_defined(run(pipeline, test_computing.batches(), spark))


def test_a_stream_has_the_windows_of_a_package(spark: SparkSession, tmp_path: Path) -> None:
    """Workers number months, each in its own process."""
    from jobs.file_run import finish, one_file_a_batch
    from windowing.spark.plan import emissions

    pipeline = parse_pipeline(test_window.TEXT)
    sink = MemorySink(pipeline)
    batches = one_file_a_batch(spark, [{0: test_window.records()}], tmp_path)
    finish(emissions(batches, pipeline), sink.write, tmp_path)
    found = [(row.window_id, row.records) for row in sink.output.rows]
    assert sorted(found) == [(648, 1), (649, 2)]
