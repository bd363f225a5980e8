"""Rows in a real PostgreSQL: exactly once, though a batch dies in its transaction."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import psycopg
import pytest

from chaos.quality.batches import RunTables
from chaos.readers.log import read_events
from chaos.readers.postgres import PostgresColumns, read_postgres
from chaos.readers.table import TableColumns
from chaos.verdict.verify import verify
from windowing.model import Pipeline, PipelineError, parse_pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DATA = Path(__file__).parents[2] / "data" / "pipelines"
REFUSED = "tumbling"  # it calls an aggregate as the sink calls a column
CORE = "aggregates"  # columns of every type


def with_sink(name: str) -> Pipeline:
    text = (DATA / name / "pipeline.yml").read_text(encoding="utf-8")
    kept = [line for line in text.splitlines() if not line.startswith("sink:")]
    return parse_pipeline("\n".join([*kept, "sink: {postgres: out}"]) + "\n")


def end_whoever_waits() -> None:
    """End the one connection that waits for a lock, as a killed driver's would end."""
    until_s = time.monotonic() + 30
    with psycopg.connect(autocommit=True) as connection:
        while not connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where wait_event_type = 'Lock' and application_name = 'slackwater'"
        ).fetchall():
            assert time.monotonic() < until_s
            time.sleep(0.02)


def test_a_name_that_the_tables_have_already_is_refused() -> None:
    with pytest.raises(PipelineError, match="has a column 'records' already"):
        with_sink(REFUSED)


@pytest.mark.usefixtures("postgres")
def test_a_batch_that_dies_in_its_transaction_is_written_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    is_written_once(CORE, spark, tmp_path)


def is_written_once(name: str, spark: SparkSession, folder: Path) -> None:
    from jobs.file_run import finish, one_file_a_batch
    from windowing.engine.reading.batches import batches, checked
    from windowing.spark.plan import emissions
    from windowing.spark.sinks import PostgresSink, TableSink

    pipeline = with_sink(name)
    sink, tables = PostgresSink(pipeline, "out", "r1"), TableSink(pipeline, folder / "t", "r1")
    died: list[int] = []

    def write(batch: DataFrame, batch_id: int) -> None:
        batch.persist()
        if not died and batch.where("kind = 'metric'").count():
            with psycopg.connect() as other:  # holds up the batch between its rows and its counts
                other.execute("lock table out.metrics in exclusive mode")
                killer = threading.Thread(target=end_whoever_waits)
                killer.start()
                with pytest.raises(psycopg.OperationalError):
                    sink.write(batch, batch_id)
                killer.join()
            with psycopg.connect() as other:
                assert (
                    other.execute(
                        "select * from out.commits where batch_id >= %s", [batch_id]
                    ).fetchall()
                    == []
                )
            died.append(batch_id)
        for _ in range(2):
            sink.write(batch, batch_id)
        tables.write(batch, batch_id)
        batch.unpersist()

    log = list(checked(read_events(DATA / name / "events.jsonl"), pipeline))
    raw = one_file_a_batch(spark, batches(log, 5, pipeline), folder)
    finish(emissions(raw, pipeline), write, folder)
    assert died
    verdict = verify(pipeline, read_events(DATA / name / "events.jsonl"), read_postgres(pipeline))
    assert verdict.ok, "\n".join(verdict.lines())
    with psycopg.connect() as connection:
        assert connection.execute("select count(*) from out.commits").fetchone() == (1,)
    found = RunTables(PostgresColumns(pipeline, Path(), "r1"))
    wanted = RunTables(TableColumns(pipeline, folder / "t", "r1"))
    for query in pipeline.flows:
        assert_same_rows(found.rows(query), wanted.rows(query))
    names = [query.name for query in pipeline.flows]
    assert_same_rows(found.counts(names), wanted.counts(names))


@pytest.mark.usefixtures("postgres")
def test_batches_that_were_not_committed_yet_can_be_left_out() -> None:
    from windowing.engine.reading.batches import batches, checked
    from windowing.runtime.local import LocalEngine
    from windowing.runtime.output import tagged
    from windowing.spark.sinks import PostgresSink

    pipeline = with_sink(CORE)
    log = list(checked(read_events(DATA / CORE / "events.jsonl"), pipeline))
    engine, sink, fed = LocalEngine(pipeline), PostgresSink(pipeline, "out", "r1"), 0
    for number, batch in enumerate(batches(log, 5, pipeline)):
        sink.take([frame for sent in engine.feed(batch) for frame in tagged(sent)], number)
        fed = number + 1
    assert fed > 3
    for before in (1, 3, fed):
        found = read_postgres(pipeline, "r1", before=before)
        verdict = verify(pipeline, log[: 5 * before], found)
        assert verdict.ok, "\n".join(verdict.lines())


def assert_same_rows(found: pd.DataFrame, wanted: pd.DataFrame) -> None:
    """Quality sees the same frames, whichever sink wrote them; tables keep no order."""

    def spelled(frame: pd.DataFrame) -> list[str]:
        return sorted(str(list(row)) for row in frame.itertuples(index=False))

    assert dict(found.dtypes) == dict(wanted.dtypes)
    assert spelled(found) == spelled(wanted)
