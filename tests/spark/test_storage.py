"""Storage on Spark: the store, large values in pieces, slots, the state reader, old checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from chaos.readers.log import read_events
from chaos.simulator.platform.between import pieces_of
from tests.strategies import entry
from tests.unit.checkpoints import on_spark
from tests.unit.checkpoints.record import STATES
from tests.unit.engine.test_fused import PIPELINE
from tests.unit.spark.test_pieces import FULL, PIECES, SIZES, value
from windowing.engine.reading.batches import batches, checked
from windowing.model import Pipeline, load_pipeline, parse_pipeline
from windowing.model.file.versions import with_shards
from windowing.model.rows import row_lines
from windowing.model.run_errors import CheckpointMismatch
from windowing.runtime.local import LocalEngine
from windowing.spark.sources.pieces import whole_rows
from windowing.spark.sources.reading import BYTES, in_pieces, limit_batches
from windowing.spark.storage.slots import spark_hash

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


@pytest.fixture
def limited(spark: SparkSession) -> Iterator[SparkSession]:
    """The session of all tests, which has its limit again afterwards."""
    yield spark
    limit_batches(spark, None)


@pytest.mark.parametrize("record_bytes_max", [None, PIECES * FULL])
def test_the_jvm_cuts_as_documented_and_rows_arrive_whole(
    limited: SparkSession, record_bytes_max: int | None
) -> None:
    sent = [(n, value(size, n)) for n, size in enumerate(SIZES * 2)]
    sent += [(n, None if n % 3 == 0 else b"small") for n in range(len(sent), 3_000)]
    cut_up = in_pieces(limited.createDataFrame(sent, "offset long, value binary").coalesce(1))
    limit_batches(limited, record_bytes_max)
    jvm = [(row.offset, row.value) for row in cut_up.collect()]
    assert jvm == [(n, piece) for n, one in sent for piece in pieces_of(one)]
    arrived = cut_up.mapInArrow(whole_rows(), "offset long, value binary").collect()
    assert [(row.offset, row.value) for row in arrived] == sent


@pytest.mark.parametrize(
    ("record_bytes_max", "bytes_max"),
    [(None, 64 << 20), (1_048_588, (1 << 31) - 1), (PIECES * FULL + 1, 64 << 20)],
)
def test_batches_have_a_limit_of_bytes_where_records_may_be_larger_than_their_pieces(
    limited: SparkSession, record_bytes_max: int | None, bytes_max: int
) -> None:
    limit_batches(limited, record_bytes_max)
    assert limited.conf.get(BYTES) == str(bytes_max)


def test_the_hash_is_sparks_own(spark: SparkSession) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    values = [0, 1, 42, 2**31 - 1, *range(10**9, 10**9 + 500)]
    rows = spark.createDataFrame([(value,) for value in values], "value int")
    found = [row[0] for row in rows.select(F.hash("value")).collect()]
    assert found == spark_hash(np.array(values)).tolist()


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


def test_a_recorded_checkpoint_of_spark_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    from windowing.spark.sinks.table import TableSink

    half, end = on_spark.halves()
    on_spark.unpack(STATES / on_spark.FILE, tmp_path)
    pipeline = on_spark.pipeline()
    before = TableSink.kept(pipeline, tmp_path / on_spark.TABLES, on_spark.RUN)
    output = on_spark.go_on(spark, tmp_path, tables=True)
    defined = (on_spark.CASE / "out.jsonl").read_text(encoding="utf-8").splitlines()
    defined = [line for line in defined if line]
    found = [*row_lines(output.rows)]
    assert found
    assert len(found) < len(defined)
    assert {*found} <= {*defined}
    after = TableSink.kept(pipeline, tmp_path / on_spark.TABLES, on_spark.RUN)
    assert [*before.tokens] == [*range(half)]
    assert [*after.tokens] == [*range(end)]
    assert all(pipeline.wrote(token.pipeline) for token in after.tokens.values())
    assert after.tokens[end - 1].pipeline == pipeline.fingerprint
    assert on_spark.table_rows(tmp_path) == len(defined)
