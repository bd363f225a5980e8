"""The store on Spark: what it gives is what was put, whatever becomes of copies of large values."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from tests.strategies import entry
from tests.unit.engine.test_fused import PIPELINE
from windowing.engine.reading.batches import batches
from windowing.model import parse_pipeline
from windowing.model.file.versions import with_shards
from windowing.model.rows import row_lines
from windowing.runtime.local import LocalEngine

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEYS = 6_000
# Every key in each of four batches, which are two microseconds long: windows close and state stays.
LOG = [
    entry(
        {
            "source": "s",
            "partition": n % 2,
            "offset": n // 2,
            "value": {
                "ts": 2 * (n // KEYS) + n % 2,
                "k": sha256(b"%d" % (n % KEYS)).hexdigest()[:24],
                "v": n * 7_919 % 10_007,
            },
        }
    )
    for n in range(4 * KEYS)
]


def temporary_folders(spark: SparkSession) -> list[Path]:
    """The folders that Spark gives to its workers."""
    environment = spark.sparkContext._jvm.org.apache.spark.SparkEnv.get()
    folders = environment.blockManager().diskBlockManager().localDirsString()
    return [Path(folder) for folder in folders]


def test_windows_on_spark_do_not_depend_on_copies(spark: SparkSession, tmp_path: Path) -> None:
    from jobs.file_run import finish, one_file_a_batch
    from jobs.state import read_state
    from windowing.spark.plan import emissions
    from windowing.spark.sinks import MemorySink

    pipeline = with_shards(parse_pipeline(PIPELINE), 1)
    local, sink, copies = LocalEngine(pipeline), MemorySink(pipeline), list[int]()
    cut = [*batches(LOG, KEYS)]

    def write(batch: DataFrame, number: int) -> None:
        sink.write(batch, number)
        found = [file for place in temporary_folders(spark) for file in place.glob("state-*")]
        copies.append(len(found))
        # The second batch finds those of the first, the third one none that is whole.
        for file in found if number else ():
            file.write_bytes(b"torn")

    raw = one_file_a_batch(spark, cut, tmp_path)
    finish(emissions(raw, pipeline, fused=True), write, tmp_path)
    assert len(copies) == len(cut)
    assert copies[0] > 0, "there is large state"
    for batch in cut:
        local.feed(batch)
    assert sorted(row_lines(sink.output.rows)) == sorted(row_lines(local.output.rows))
    lines = read_state(spark, tmp_path / "checkpoint", pipeline)
    [held] = [line["rows"] for line in lines if line["table"] == "q/partials"]
    assert held == local.shard.canonical_state(local._shards[0][1])["q"]["partials"].to_dicts()
