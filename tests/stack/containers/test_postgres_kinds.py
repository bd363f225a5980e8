"""Sessions and joins in a real PostgreSQL: tombstones, rows taken back, revisions, early rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from chaos.readers.log import LogRecord, read_events
from chaos.readers.postgres import read_postgres
from chaos.verdict.verify import verify
from windowing.model import Pipeline, parse_pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


SOURCE = """{{topic: {0}, partitions: 1, format: json, event_time: {{field: ts, unit: us}},
      fields: {{k: "string?", v: int}}, disorder: {{slack: {1} us}}}}"""
SESSIONS = f"""
name: sessions
source: {SOURCE.format("s", 20)}
late: {{policy: update, every: 10 us}}
retention: 1 s
shards: 2
early: {{records: 1}}
queries:
  q:
    window: SESSION 10 us WATTR ts
    group_by: [k]
    aggregates: {{n: count, all: collect(v)}}
    accumulation: retracting
sink: {{postgres: sessions}}
"""
JOIN = f"""
name: join
join:
  left:
    source: {SOURCE.format("l", 0)}
    window: 0 us
  right:
    source: {SOURCE.format("r", 0)}
    window: 5 us
  kind: left
  equal: [k]
  select: {{seen: left.v, by: right.v}}
late: {{policy: update, every: 10 us}}
retention: 1 s
shards: 2
sink: {{postgres: joins}}
"""


def lane(topic: str, times: Sequence[int], keys: str) -> list[dict[str, Any]]:
    """Records of a topic's one partition, and its end; a hyphen stands for a null key."""
    values = [
        {"value": {"ts": ts, "k": None if k == "-" else k, "v": ts}}
        for ts, k in zip(times, keys, strict=True)
    ]
    contents: list[dict[str, Any]] = [*values, {"control": {"end": True}}]
    return [
        {"source": topic, "partition": 0, "offset": offset, **content}
        for offset, content in enumerate(contents)
    ]


def logged(file: Path, events: Sequence[dict[str, Any]]) -> list[LogRecord]:
    file.write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")
    return [*read_events(file)]


def run(spark: SparkSession, pipeline: Pipeline, log: Sequence[LogRecord], folder: Path) -> None:
    """Into PostgreSQL, two records a batch, every batch written twice."""
    from jobs.file_run import finish, one_file_a_batch
    from windowing.engine.reading.batches import batches
    from windowing.spark.plan import emissions
    from windowing.spark.sinks import PostgresSink

    assert pipeline.sink is not None
    sink = PostgresSink(pipeline, pipeline.output, "r1")

    def twice(batch: DataFrame, batch_id: int) -> None:
        batch.persist()
        for _ in range(2):
            sink.write(batch, batch_id)
        batch.unpersist()

    raw = one_file_a_batch(spark, batches(log, 2, pipeline), folder)
    finish(emissions(raw, pipeline), twice, folder)


def rows_of(table: str, *columns: str) -> list[tuple[Any, ...]]:
    """Of a table, in the order of the columns that are asked for."""
    listed = ", ".join(columns)
    with psycopg.connect() as connection:
        statement = f"select {listed} from {table} order by {listed}"  # noqa: S608 - our own names
        return connection.execute(statement).fetchall()  # type: ignore[arg-type]


def test_sessions_that_merge_leave_tombstones(
    spark: SparkSession, postgres: str, tmp_path: Path
) -> None:
    pipeline = parse_pipeline(SESSIONS)
    # 7 becomes part of 3 while it is open, 40 and 55 of one session when both were sent.
    times, keys = [7, 9, 3, 40, 55, 110, 47, 140, 5], "aaaaaaaa-"
    log = logged(tmp_path / "log.jsonl", lane("s", times, keys))
    run(spark, pipeline, log, tmp_path)
    verdict = verify(pipeline, log, read_postgres(pipeline))
    assert verdict.ok, "\n".join(verdict.lines())
    marks = ("window_id", "pane", "revision", "op", "absorbed_by", "records")
    found = rows_of("sessions.q", *marks)
    stones = [row for row in found if row[4] is not None]
    assert stones == [(7, "early", 2, None, 3, 0), (55, "late", 1, None, 40, 0)]
    assert (40, "full", 0, None, None, 1) in found
    assert (40, "full", 0, "retract", None, 1) in found
    assert (40, "late", 1, None, None, 3) in found


def test_a_late_partner_takes_back_that_a_record_was_alone(
    spark: SparkSession, postgres: str, tmp_path: Path
) -> None:
    pipeline = parse_pipeline(JOIN)
    left = lane("l", [10, 20, 50, 60], "abca")
    right = lane("r", [9, 50, 18, 70], "acba")
    log = logged(tmp_path / "log.jsonl", [*left, *right])
    run(spark, pipeline, log, tmp_path)
    verdict = verify(pipeline, log, read_postgres(pipeline))
    assert verdict.ok, "\n".join(verdict.lines())
    found = rows_of("joins.pairs", "seen", "by", "revision", "op")
    assert found == [
        (10, 9, 0, None),
        (20, 18, 1, None),
        (20, None, 0, "retract"),
        (20, None, 0, None),
        (50, 50, 0, None),
        (60, None, 0, None),
    ]
