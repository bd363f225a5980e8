"""One run in its own process: `python -m benchmarks.child TASK`, with the task as JSON.

Every run has its own JVM and workers, so that none has the memory of another.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl
from pyspark.sql import SparkSession

from benchmarks import duck, kafka_paths, paths
from benchmarks.cases import CASE, Case, Sessions
from benchmarks.events import DELAY_MS_MAX, as_lines
from benchmarks.kafka_paths import Topic
from benchmarks.paths import Timing, comparable
from infra import jvm
from infra.layout import FLINK_VENV, ROOT
from jobs.session import session
from windowing.spark import SETTINGS, WITHOUT_ROWS

# Unless they come from a topic.
_READ_BY_WORKERS = ("slackwater", "bare stages")

# As executors of our clusters; here the driver is the executor, too.
_OPTIONS = "spark.driver.extraJavaOptions"
_AS_DEPLOYED = {_OPTIONS: " ".join([SETTINGS[_OPTIONS], *jvm.EXECUTOR])}


@dataclass(frozen=True)
class Task:
    """What a run does.

    Attributes:
        warm_up: the folder of a smaller set, for a path that has no first batch.
        memory: the size of the JVM's heap, for example `2g`.
        answer: the file for the time that it took.
        rows: the file for the rows that it computed, as Parquet; None: they are discarded.
    """

    path: str
    case: str
    data: str
    warm_up: str
    cores: int
    memory: str
    answer: str
    rows: str | None = None
    topic: Topic | None = None

    def to_json(self) -> str:
        """Return the task as an argument of a command."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Task:
        """Return the task of such an argument."""
        said = json.loads(text)
        topic = said.pop("topic")
        return cls(**said, topic=None if topic is None else Topic(**topic))


def perform(task: Task) -> None:
    """Run it, and write its answer."""
    case, data = CASE[task.case], Path(task.data)
    run = {"duckdb": _duckdb, "flink sql": _flink, "topic": _fill}.get(task.path, _spark)
    found = run(task, case, data)
    if isinstance(found, pl.DataFrame):
        found.write_parquet(str(task.rows))
        found = Timing(0, 0.0, 0, 0.0)
    Path(task.answer).write_text(json.dumps(asdict(found)), encoding="utf-8")


def _duckdb(task: Task, case: Case, data: Path) -> Timing | pl.DataFrame:
    if task.rows is not None:
        return duck.results(case, data, task.cores)
    return duck.timed(case, data, task.cores)


def _spark(task: Task, case: Case, data: Path) -> Timing | pl.DataFrame:
    with _session(task) as spark:
        if task.topic is not None:
            if task.rows is not None:
                return kafka_paths.results(spark, task.path, case, task.topic)
            return kafka_paths.into_table(spark, task.path, case, task.topic)
        if task.rows is not None:
            return paths.results(spark, task.path, case, data)
        return paths.timed(spark, task.path, case, data)


def _fill(task: Task, _: Case, data: Path) -> Timing:
    assert task.topic is not None  # noqa: S101 - says it to readers
    with _session(task) as spark:
        kafka_paths.fill(spark, data, task.topic)
    return Timing(0, 0.0, 0, 0.0)


@contextmanager
def _session(task: Task) -> Iterator[SparkSession]:
    settings = {} if _is_ours(task) or task.topic is None else kafka_paths.DELTA
    options = [f"--driver-memory {task.memory}", *(f"--conf {k}={v}" for k, v in settings.items())]
    # The JVM's memory cannot be set once it runs.
    os.environ["PYSPARK_SUBMIT_ARGS"] = " ".join([*options, "pyspark-shell"])
    jars = "" if task.topic is None else kafka_paths.jars(with_delta=not _is_ours(task))
    master = f"local[{task.cores}]"
    more = _options(task)
    name = "slackwater benchmark"
    spark = session(name, master=master, parallelism=task.cores, jars=jars, more=more)
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


def _options(task: Task) -> Mapping[str, str]:
    """Return the options that the JVM of our own jobs has; Spark's own windows have none."""
    if task.topic is None and task.path in _READ_BY_WORKERS:
        return WITHOUT_ROWS
    return _AS_DEPLOYED if _is_ours(task) else {}


def _is_ours(task: Task) -> bool:
    return task.path.startswith("slackwater")


def _flink(task: Task, case: Case, data: Path) -> Timing | pl.DataFrame:
    """Run Flink in its own environment, over the same values as lines of text."""
    with tempfile.TemporaryDirectory(prefix="slackwater-benchmark-") as folder:
        answer, out = Path(folder) / "answer.json", Path(folder) / "rows"
        order: dict[str, Any] = {
            "lines": str(as_lines(data)),
            "window": _lengths(case),
            "delay_ms": DELAY_MS_MAX,
            "parallelism": task.cores,
            "answer": str(answer),
        }
        if task.rows is not None:
            order["out"] = str(out)
        else:
            order["warm_up"] = str(as_lines(Path(task.warm_up)))
        python = str(FLINK_VENV / "bin" / "python")
        command = [python, "-m", "benchmarks.flink_sql", json.dumps(order)]
        environment = {**os.environ, "JVM_ARGS": f"-Xmx{task.memory}", "FLINK_PYTHON": python}
        subprocess.run(command, check=True, cwd=ROOT, env=environment)
        if task.rows is not None:
            return _from_csv(out, case)
        took_s = json.loads(answer.read_text(encoding="utf-8"))["took_ms"] / 1_000
        rows = pl.scan_parquet(data / "batch-*.parquet").select(pl.len()).collect().item()
        return Timing(rows, 0.0, rows, took_s)


def _lengths(case: Case) -> dict[str, int]:
    """Return a window's lengths; of sessions a millisecond less, since those that touch merge."""
    if isinstance(case.window, Sessions):
        return {"gap_ms": case.window.gap_ms - 1}
    minutes = {"range_ms": case.window.range_min, "slide_ms": case.window.slide_min}
    return {name: 60_000 * length for name, length in minutes.items()}


def _from_csv(folder: Path, case: Case) -> pl.DataFrame:
    names = ("start_ms", "end_ms", "key", "n", "total", "largest")
    files = [file for file in folder.rglob("*") if file.is_file() and file.stat().st_size]
    found = pl.concat(pl.read_csv(file, has_header=False, new_columns=names) for file in files)
    more = 1 if isinstance(case.window, Sessions) else 0
    return comparable(
        found.with_columns(
            start_us=pl.col("start_ms") * 1_000, end_us=(pl.col("end_ms") + more) * 1_000
        )
    )


if __name__ == "__main__":
    perform(Task.from_json(sys.argv[1]))
