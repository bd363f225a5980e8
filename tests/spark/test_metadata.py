"""What records bring besides their value, from real topics into a job: keys, headers, times."""

from __future__ import annotations

import json
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from kafka import KafkaAdminClient

from chaos.readers.delta import read_tables
from chaos.readers.topic import read_topics
from chaos.verdict.verify import verify
from jobs.brokers.producing import send_all
from jobs.runs import Run
from jobs.runs.folder import write_note
from windowing.model import parse_pipeline
from windowing.model.metadata import Metadata

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PIPELINE = """
name: brought
source:
  topics: {{{z}: 2, {a}: 1}}
  format: json
  event_time: {{expr: $timestamp}}
  fields: {{v: int}}
  derive: {{where: "$topic || ' ' || cast($partition AS string)"}}
  rules: [{{name: keyed, check: $key IS NOT NULL, on_fail: warn}}]
  where: coalesce($headers.kind, 'x') <> 'out'
  disorder: ordered
shards: 2
queries:
  w:
    window: RANGE 1 s SLIDE 1 s WATTR event_time
    group_by: [$headers.kind]
    aggregates:
      n: count
      keys: collect($key)
      from: collect(where)
      furthest: max($offset)
      last: max($timestamp)
"""


def test_a_job_has_what_records_of_topics_bring(
    spark: SparkSession, kafka_broker: str, tmp_path: Path
) -> None:
    names = {side: f"{side}-{uuid.uuid4().hex[:8]}" for side in "za"}
    pipeline = parse_pipeline(PIPELINE.format(**names))
    folder = tmp_path / "runs" / "brought" / "r1"
    folder.mkdir(parents=True)
    file = folder / "brought.yml"
    file.write_text(pipeline.text)
    run = Run("brought", "r1", "", folder, folder / "checkpoint", tmp_path / "tables", file)
    write_note(run)
    admin = KafkaAdminClient(bootstrap_servers=kafka_broker)
    # The times of records are their producers': `slackwater topics` makes others.
    made = {names["z"]: {"num_partitions": 2}, names["a"]: {"num_partitions": 1}}
    settings = {name: {**own, "replication_factor": 1} for name, own in made.items()}
    admin.create_topics(settings, wait_for_metadata=True)
    admin.close()
    begins_us = (int(time.time()) - 60) * 1_000_000

    def record(partition: int, ms: int, key: bytes | None, *headers: tuple[str, bytes | None]):
        about = Metadata(key, begins_us + ms * 1000, headers)
        return partition, json.dumps({"v": ms}).encode(), None, about

    end = [(partition, b"", '{"end":true}') for partition in (0, 1)]
    sent = [
        record(0, 1, b"k", ("kind", b"a"), ("kind", b"b")),  # repeated: the last
        record(1, 2, b"\xff", ("kind", b"\xff")),  # no UTF-8: null
        record(0, 3, None, ("other", b"b")),
        record(0, 4, b"", ("kind", b"out")),
        record(1, 900, "ключ".encode(), ("kind", b"b")),
        *end,
    ]
    send_all(kafka_broker, names["z"], sent)
    send_all(kafka_broker, names["a"], [record(0, 5, b"q", ("kind", b"b")), end[0]])

    from jobs.pipeline import main

    arguments = [str(file), "--run", "r1", "--bootstrap", kafka_broker, "--available-now"]
    arguments += ["--checkpoint", str(run.checkpoint), "--table", str(run.table)]
    assert main(arguments) == 0
    output = read_tables(run.table, pipeline, "r1")
    verdict = verify(pipeline, list(read_topics(kafka_broker, pipeline.source)), output)
    assert verdict.ok, "\n".join(verdict.lines())
    rows = {tuple(row["key"]): row for row in (json.loads(line) for _, line in output.rows)}
    z, a = names["z"], names["a"]
    assert rows[("b",)]["offsets"] == {f"{z}/0": [0, 0], f"{z}/1": [1, 1], f"{a}/0": [0, 0]}
    assert rows[("b",)]["values"] == {
        "n": 3,
        "keys": ["k", "q", "ключ"],
        "from": [f"{z} 0", f"{a} 0", f"{z} 1"],
        "furthest": 1,
        "last": begins_us + 900_000,
    }
    assert rows[(None,)]["values"]["n"] == 2
    assert rows[(None,)]["values"]["keys"] is None
    counts = (output.counts or {})["w"]
    assert (counts["filtered"], counts["warned:keyed"]) == (1, 2)
