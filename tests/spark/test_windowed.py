"""`windowed` in a user's own program: the page's example as written, and every row as defined."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from chaos.readers.log import read_events
from windowing.engine.reading.batches import batches
from windowing.model import Pipeline, load_pipeline
from windowing.runtime.local import run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PROJECT = Path(__file__).parents[2] / "slackwater" / "template"
PAGE = Path(__file__).parents[2] / "docs" / "own-job.md"
SCHEMA = "partition int, offset long, value string, control string"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """A new project's pipeline and events, the latter as two files of lines for Spark."""
    (tmp_path / "pipelines").symlink_to(PROJECT / "pipelines")
    (tmp_path / "records").mkdir()
    pipeline = load_pipeline(PROJECT / "pipelines" / "orders.yml")
    lines = [
        json.dumps(
            {
                "partition": record.partition,
                "offset": record.offset,
                "value": None if record.value is None else record.value.decode(),
                "control": None if record.control is None else record.control.decode(),
            }
        )
        for record in read_events(PROJECT / "data" / "events.jsonl", pipeline.source)
    ]
    for number, part in enumerate((lines[:150], lines[150:])):
        file = tmp_path / "records" / f"{number}.json"
        file.write_text("\n".join(part) + "\n")
        os.utime(file, (number + 1, number + 1))
    monkeypatch.chdir(tmp_path)
    return pipeline


def example() -> str:
    """The page's program. Spark takes names from where its JVM was started: they are made whole."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    for name in ("records", "revenue", "checkpoint"):
        code = code.replace(f'"{name}"', f'"{whole(name)}"')
    return str(code)


def of(rows: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["kind"] == kind]


def whole(name: str) -> str:
    return str(Path(name).absolute())


def test_its_rows_are_those_of_the_local_engine(spark: SparkSession, shop: Pipeline) -> None:
    """Every column of every row, through a sink that knows nothing of us."""
    from windowing.spark import windowed

    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    write(windowed(reader.json(whole("records")), shop), whole("rows"))
    rows = [row.asDict(recursive=True) for row in spark.read.parquet(whole("rows")).collect()]
    log = read_events(PROJECT / "data" / "events.jsonl", shop.source)
    expected = run(shop, batches(log, 1000, shop))
    assert sorted(map(result, of(rows, "result"))) == sorted(
        (
            row.query,
            row.window_id,
            row.window_start_us,
            row.window_end_us,
            tuple(row.key),
            tuple(row.values.items()),
            (row.pane, row.revision, row.records),
        )
        for row in expected.rows
    )
    letters = ("source", "partition", "offset", "query", "reason")
    assert sorted(
        tuple(row[name] for name in letters) for row in of(rows, "dead_letter")
    ) == sorted(
        (
            (one.source, one.partition, one.offset, one.query, one.reason)
            for one in expected.dead_letters
        ),
        key=str,
    )
    assert any(row["revision"] for row in rows)


def test_the_example_of_the_page_runs_as_written(spark: SparkSession, shop: Pipeline) -> None:
    exec(compile(example(), str(PAGE), "exec"), {})  # noqa: S102 - our own page
    rows = spark.read.parquet(whole("revenue"))
    assert rows.columns == ["shop", "window_start", "window_end", "revision", "orders", "cents"]
    assert rows.where("revision = 0").count() > 20


def test_what_cannot_work_is_said_before_it_starts(spark: SparkSession, shop: Pipeline) -> None:
    from windowing.model.run_errors import BadRecords
    from windowing.spark import SETTINGS, windowed

    records = whole("records")
    lines = spark.readStream.schema("partition int, value string").json(records)
    with pytest.raises(BadRecords, match=r"no column 'offset' \(they have partition, value\)"):
        windowed(lines, shop)
    with pytest.raises(BadRecords, match="no stream: use readStream"):
        windowed(spark.read.schema(SCHEMA).json(records), shop)
    stream = spark.readStream.schema(SCHEMA).json(records)
    name = next(key for key in SETTINGS if key.endswith("changelogCheckpointing.enabled"))
    before = spark.conf.get(name)
    spark.conf.set(name, "false")
    try:
        with pytest.raises(BadRecords, match=r"changelogCheckpointing\.enabled = false"):
            windowed(stream, shop)
    finally:
        spark.conf.set(name, before)


def write(rows: DataFrame, folder: str) -> None:
    stream = rows.writeStream.format("parquet").option("path", folder)
    stream = stream.option("checkpointLocation", f"{folder}-checkpoint")
    stream.trigger(availableNow=True).start().awaitTermination()


VALUES = {"revenue": ("orders", "cents", "largest", "fees"), "visits": ("orders", "coupons")}


def result(row: dict[str, Any]) -> tuple[Any, ...]:
    start, end = (micros(row[name]) for name in ("window_start", "window_end"))
    values = tuple((name, row[name]) for name in VALUES[row["query"]])
    sent = (row["pane"], row["revision"], row["records"])
    return (row["query"], row["window_id"], start, end, (row["shop"],), values, sent)


def micros(moment: Any) -> int:
    from datetime import UTC, datetime, timedelta

    utc = moment.astimezone(UTC)  # Spark gives it in this machine's zone, without saying so
    return (utc - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def test_a_query_that_is_stopped_within_foreach_batch_ends_without_an_overflow(
    spark: SparkSession,
) -> None:
    """L16: Spark's own search for what has interrupted it, over a stack trace as long as ours."""
    jvm: Any = spark._jvm
    trace = "An error occurred while calling o1.collect.\n" + "\tat a.b.C.d(E.scala:1)\n" * 500
    error = jvm.py4j.Py4JException(f"py4j.protocol.Py4JJavaError: {trace}")
    streams = jvm.org.apache.spark.sql.execution.streaming.runtime.StreamExecution
    assert not streams.isInterruptionException(error, spark.sparkContext._jsc.sc())
