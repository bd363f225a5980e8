"""What Spark writes and reads of output: rows, tables, results, verdicts in parts."""

from __future__ import annotations

import json
import re
import time
from collections import namedtuple
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable
from typer.testing import CliRunner

from chaos.readers.delta import read_tables
from chaos.readers.output import output_of
from chaos.verdict.in_parts import Means
from chaos.verdict.point import read_point
from chaos.verdict.verify import verify
from jobs.file_run import finish, one_file_a_batch
from jobs.tools.results import of_run, write
from slackwater.main import app
from tests.strategies import entry
from tests.unit.sinks.test_data_files import files_in
from tests.unit.sinks.test_table_sink import RETRACTING
from tests.unit.sinks.test_table_sink import log_of as table_log_of
from tests.unit.slackwater.test_results import DOCUMENT, RECORDS, TEXT, P, deploy, log_of
from windowing.engine.lane import Lane
from windowing.engine.plan import plan_of
from windowing.engine.reading.batches import batches
from windowing.engine.reading.pack import RawRows, pack
from windowing.engine.reading.rules import ValueRules
from windowing.engine.shard import Shard
from windowing.engine.storage.frames import to_bytes
from windowing.engine.storage.state import MemoryStore
from windowing.model import parse_pipeline
from windowing.semantics import evaluate
from windowing.spark.plan import emissions
from windowing.spark.sinks.data_files import INLINE_SETTING
from windowing.spark.sinks.table import TableSink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


PIPELINE = """
name: p
source: {{topic: s, partitions: 1, format: json, event_time: {{field: ts, unit: us}},
  fields: {{v: int}}, disorder: ordered}}
shards: 1
queries: {{q: {{window: {window}, aggregates: {{n: count}}}}}}
"""
Frame = namedtuple("Frame", "kind query frame")


def written(window: str, times_us: list[int]) -> dict[str, Any]:
    """The columns of the rows of a batch with these records."""
    from windowing.spark.sinks.rows import BatchRows

    pipeline = parse_pipeline(PIPELINE.format(window=window))
    values = [f'{{"ts":{ts},"v":1}}'.encode() for ts in times_us]
    offsets, nothing = list(range(len(values))), [None] * len(values)
    raw = RawRows(offsets=offsets, values=values, controls=nothing, append_us=nothing)
    plan = plan_of(pipeline)
    parcels = Lane(plan, 0).step(MemoryStore(), [pack(raw, ValueRules.of(pipeline, 0))])
    emission = Shard(plan).step(MemoryStore(), parcels)
    frames = [Frame("result", "q", to_bytes(emission.results["q"]))]
    return BatchRows(pipeline, "r1").tables(frames, 3)["q"].to_pydict()


def test_a_row_says_how_long_after_its_end_it_was_written() -> None:
    now_us = time.time_ns() // 1000
    end_us = now_us // 1_000_000 * 1_000_000
    found = written("RANGE 1 s SLIDE 1 s WATTR ts", [end_us - 500_000, end_us + 1_000_000])
    assert found["batch_id"] == [3]
    assert now_us - end_us <= found["lag_us"][0] < now_us - end_us + 60_000_000


def test_what_ends_at_no_time_has_no_lag() -> None:
    assert written("RANGE 2 rows SLIDE 2 rows WATTR row_num", [5, 6])["lag_us"] == [None]


def test_a_table_without_lags_gets_the_column(tmp_path: Path) -> None:
    from windowing.spark.sinks import TableSink
    from windowing.spark.sinks.rows import schemas

    pipeline = parse_pipeline(PIPELINE.format(window="RANGE 1 s SLIDE 1 s WATTR ts"))
    new = schemas(pipeline)["q"]
    old = new.remove(new.get_field_index("lag_us"))
    DeltaTable.create(tmp_path / "q", old, partition_by=["run"])
    for _ in range(2):
        TableSink(pipeline, tmp_path, "r1")
    found = DeltaTable(tmp_path / "q")
    assert {field.name for field in found.schema().fields} == set(new.names)
    assert found.version() == 1


TABLE_LOG = table_log_of(*(time + 3 * (time % 2) for time in range(1, 400, 3)), 30, 900)


@pytest.mark.parametrize("inline_bytes", [0, 1 << 20])
def test_a_job_writes_the_tables_on_both_paths(
    spark: SparkSession, tmp_path: Path, inline_bytes: int
) -> None:
    window = "RANGE 10 us SLIDE 10 us WATTR ts"
    pipeline = parse_pipeline(RETRACTING.format(window=window, shards=4))
    sink, seen = TableSink(pipeline, tmp_path / "tables", "r 1"), list[set[str]]()

    def write(batch: DataFrame, batch_id: int) -> None:
        sink.write(batch, batch_id)
        seen.append({path.name for path in files_in(tmp_path / "tables/q")})
        sink.write(batch, batch_id)  # as after a crash before Spark's own commit

    spark.conf.set(INLINE_SETTING, str(inline_bytes))
    try:
        raw = one_file_a_batch(spark, batches(TABLE_LOG, 60, pipeline), tmp_path)
        finish(emissions(raw, pipeline), write, tmp_path)
    finally:
        spark.conf.unset(INLINE_SETTING)
    verdict = verify(pipeline, TABLE_LOG, read_tables(tmp_path / "tables", pipeline, "r 1"))
    assert verdict.ok, "\n".join(verdict.lines())
    # Of the direct path the driver writes one file; else each task one.
    assert (len(seen[0]) == 1) == (inline_bytes > 0)


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


SPEC = parse_pipeline(TEXT)
LATER = [(ts + 20_000 * turn, origin) for turn in range(40) for ts, origin in RECORDS]
LOG = sorted(log_of(LATER), key=lambda one: one.offset)


def on(spark: SparkSession) -> Means:
    """Return little memory, so that there are many parts, and Spark to evaluate them."""
    from jobs.spread import spread

    return Means(memory_bytes=1, cluster=partial(spread, spark))


def test_executors_find_what_this_process_does(spark: SparkSession) -> None:
    whole = evaluate(SPEC, LOG)
    for rows in (whole.rows, whole.rows[1:], [*whole.rows, whole.rows[3]]):
        output = output_of(rows, whole.dead, "output")
        here = verify(SPEC, LOG, output)
        assert verify(SPEC, LOG, output, on(spark)) == here
        assert here.ok == (len(rows) == len(whole.rows))


def test_ranges_on_executors(spark: SparkSession, tmp_path: Path) -> None:
    half, file = len(LOG) // 2, tmp_path / "point"
    found = evaluate(SPEC, LOG[:half])
    output = output_of(found.rows, found.dead, "output")
    assert verify(SPEC, LOG[:half], output, on(spark), keep=file).ok
    whole = evaluate(SPEC, LOG)
    output = output_of(whole.rows, whole.dead, "output")
    since = read_point(file)
    verdict = verify(SPEC, LOG, output, on(spark), since=since)
    assert verdict.ok, verdict.lines()
    assert 0 < verdict.rows.expected < len(whole.rows)
    assert verdict == verify(SPEC, LOG, output, since=since)


def test_a_sum_that_overflows_is_null_in_parts_too(spark: SparkSession) -> None:
    pipeline = parse_pipeline(TEXT.replace("delay: float", "delay: int"))
    value = {"ts": 1, "origin": "EWR", "delay": 2**62}
    places = [
        {"source": "flights", "partition": lane, "offset": at} for at in (0, 1) for lane in (0, 1)
    ]
    log = [entry({**place, "value": value}) for place in places]
    ends = [{"source": "flights", "partition": lane, "offset": 2} for lane in (0, 1)]
    log += [entry({**end, "control": {"end": True}}) for end in ends]
    found = evaluate(pipeline, log)
    assert any(row.overflow for row in found.rows)
    verdict = verify(pipeline, log, output_of(found.rows, found.dead, "output"), on(spark))
    assert verdict.ok, verdict.lines()


def test_the_command_spreads_the_parts(spark: SparkSession, tmp_path: Path) -> None:
    pipeline, events, output = (tmp_path / name for name in ("p.yml", "e.jsonl", "o.jsonl"))
    pipeline.write_text(TEXT)
    with events.open("w") as file:
        for one in LOG:
            place = {"source": one.source, "partition": one.partition, "offset": one.offset}
            assert one.value is not None
            file.write(json.dumps({**place, "value": json.loads(one.value)}) + "\n")
    for command in (("run",), ("verify", "--engine", "spark", "--memory", "1MB")):
        arguments = [command[0], pipeline, "--input", events, "--output", output, *command[1:]]
        done = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert done.exit_code == 0, done.output
    assert "lost 0, duplicated 0, differing 0" in done.output
    # A session that was there goes on.
    assert spark.range(3).count() == 3
