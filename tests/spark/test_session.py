"""A real session: who runs it, what its workers keep, and what it says when its JVM ends first."""

from __future__ import annotations

import gc
import logging
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import psutil
import pyarrow as pa
import pytest

from jobs.driver.orphan import executors
from windowing.spark.memory import giving_back
from windowing.spark.plan import RAW_SCHEMA
from windowing.spark.sources.pieces import Batches, Stage
from windowing.spark.sources.reading import RawStream
from windowing.spark.stages import packer, scanner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_local_session_is_its_own_executor(spark: SparkSession) -> None:
    assert executors(spark) == 1


@pytest.mark.parametrize(
    ("error", "shown"), [(EOFError, False), (ConnectionResetError, False), (ValueError, True)]
)
def test_no_stack_trace_of_a_jvm_that_has_ended(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], error: type[Exception], shown: bool
) -> None:
    assert not logging.getLogger("py4j").propagate
    try:
        raise error
    except error:
        spark.sparkContext._accumulatorServer.handle_error(None, "the JVM")
    assert ("Traceback" in capsys.readouterr().err) == shown


PIPELINE = """
name: p
source:
  topic: s
  partitions: 1
  format: json
  event_time: {field: ts, unit: us}
  fields: {v: int}
  disorder: {slack: 0 seconds}
queries:
  q:
    window: RANGE 1 s SLIDE 1 s WATTR ts
    aggregates: {n: count}
"""


ROW = (0, 0, b'{"ts": 1, "v": 1}', None, None)

PROGRAM = """
import psutil
from windowing.spark.memory import giving_back, keep_freed_memory

def held() -> int:
    return psutil.Process().memory_info().rss >> 20

keep_freed_memory()
arrays = [b"x" * (1 << 20) for _ in range(100)]
last = arrays[-1]
full = held()
del arrays
freed = held()
list(giving_back(iter)([]))
print(full - freed, freed - held())
"""
"""Frees memory below some that is still in use, and says how many MiB went back when."""


only_glibc = pytest.mark.skipif(sys.platform != "linux", reason="only glibc has these options")


def test_what_a_worker_has_loaded_is_frozen(spark: SparkSession) -> None:
    stage = scanner(PIPELINE)

    def objects(batches: Batches) -> Batches:
        assert [*stage(batches)]
        counts = {"frozen": [gc.get_freeze_count()], "others": [len(gc.get_objects())]}
        yield pa.RecordBatch.from_pydict(counts)

    raw = spark.createDataFrame([ROW], RAW_SCHEMA).coalesce(1)
    (found,) = raw.mapInArrow(objects, "frozen long, others long").collect()
    assert found.frozen > 100_000
    assert found.others < found.frozen / 10


@only_glibc
def test_freed_memory_stays_until_it_is_given_back() -> None:
    answer = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True)
    at_once, at_the_end = map(int, answer.stdout.split())
    assert at_once < 10
    assert at_the_end > 80


@only_glibc
@pytest.mark.parametrize(
    "stage",
    [giving_back(packer(PIPELINE)), giving_back(scanner(PIPELINE))],
    ids=["pack", "scan"],
)
def test_stages_give_it_back_at_their_end(spark: SparkSession, stage: Stage) -> None:
    def watched(batches: Batches) -> Batches:
        arrays = [b"x" * (1 << 20) for _ in range(14)]
        last, before = arrays[-1], psutil.Process().memory_info().rss
        del arrays
        assert [*stage(batches)]
        gone = before - psutil.Process().memory_info().rss
        yield pa.RecordBatch.from_pydict({"gone": [gone >> 20], "kept": [len(last) >> 20]})

    raw = spark.createDataFrame([ROW], RAW_SCHEMA).coalesce(1)
    stream = raw.mapInArrow(watched, "gone long, kept long")
    # Spark takes its workers in turn, and each loads at first what is loaded once.
    *_, found = [stream.collect()[0] for _ in range(4)]
    assert found.gone >= 10


@only_glibc
@pytest.mark.parametrize("gives_back", [False, True])
def test_a_stream_decides_what_its_workers_keep(spark: SparkSession, *, gives_back: bool) -> None:
    def used(batches: Batches) -> Batches:
        """Use memory and free it; say what was held before, and with it."""
        began = psutil.Process().memory_info().rss
        arrays = [b"x" * (1 << 20) for _ in range(100)]
        # Behind the rest: what is freed does not go back by itself.
        vars(psutil)["in_use"] = arrays[-1]
        full = psutil.Process().memory_info().rss
        del arrays
        assert [*batches]
        yield pa.RecordBatch.from_pydict({"pid": [os.getpid()], "began": [began], "full": [full]})

    raw = RawStream(spark.range(1).coalesce(1), iter, gives_back=gives_back)
    stream = raw.through(used, "pid long, began long, full long")
    # Spark takes its workers in turn, those of earlier tests among them.
    one = later = stream.collect()[0]
    while later is one or later.pid != one.pid:
        later = stream.collect()[0]
    gone = (one.full - later.began) >> 20
    assert gone > 80 if gives_back else gone < 20
