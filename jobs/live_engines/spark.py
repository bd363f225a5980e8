"""Spark Structured Streaming's `window()` as a box: a query for each input, a batch at a time."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from jobs.file_run import own_session
from windowing.research.engines.parameters import Domain, StreamTuple
from windowing.research.prober.experiments import Answer, Input, Refused, Size

_AT_ONCE = 2
_SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    # Ours need none; Spark's own windows are sent by the batch without data that follows.
    "spark.sql.streaming.noDataMicroBatches.enabled": "true",
    # Spark's own store of state, as windows have it by default; ours use RocksDB.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "1",
    # A plan is run once over a handful of rows: compiling it takes longer than running it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.pollingDelay": "1ms",
}


class SparkWindows:
    """`window()` over event time, with a watermark that has no delay.

    Args:
        mode: output mode: `append`, `update` or `complete`.
    """

    def __init__(self, spark: SparkSession, mode: str) -> None:
        self._spark, self._mode = spark.newSession(), mode  # with its own settings
        for name, value in _SETTINGS.items():
            self._spark.conf.set(name, value)

    def run_all(self, domain: Domain, inputs: Sequence[Input]) -> list[Answer]:
        """Run inputs, two at a time, each in its own query from an empty checkpoint."""
        pool = ThreadPoolExecutor(_AT_ONCE)
        try:
            return [*pool.map(lambda one: self.run(domain, *one), inputs)]
        finally:
            pool.shutdown(cancel_futures=True)  # after an error, those not begun are left out

    def run(self, domain: Domain, asked: Size, stream: Sequence[StreamTuple]) -> Answer:
        """Run tuples through a new query; rows of one batch are in the order of their windows.

        Raises:
            Refused: Spark has no such windows.
        """
        if domain is not Domain.time:
            msg = "Structured Streaming has no windows of tuples"
            raise Refused(msg)
        with tempfile.TemporaryDirectory(prefix="slackwater-probe-") as folder:
            return self._run(asked, stream, Path(folder))

    def _run(self, asked: Size, stream: Sequence[StreamTuple], folder: Path) -> Answer:
        source, rows = folder / "in", list[tuple[int, list[int]]]()
        source.mkdir()

        def keep(batch: DataFrame, _: int) -> None:
            rows.extend((row["window"].start, row["content"]) for row in batch.collect())

        try:
            windows = self._windows(asked, source)
        except AnalysisException as error:
            raise Refused(_sentence(error)) from None
        writer = windows.writeStream.outputMode(self._mode).foreachBatch(keep)
        query = writer.option("checkpointLocation", str(folder / "checkpoint")).start()
        answers: list[list[list[int]]] = []
        try:
            for number, batch in groupby(stream, key=lambda one: one.batch):
                tuples = [*batch]
                _write(source, number, tuples)
                query.processAllAvailable()
                answers += [[] for _ in tuples]
                answers[-1] += [sorted(content) for _, content in sorted(rows)]
                rows.clear()
        finally:
            query.stop()
        return answers

    def _windows(self, asked: Size, source: Path) -> DataFrame:
        rows = self._spark.readStream.schema("number int, time long").json(str(source))
        timed = rows.select("number", F.timestamp_seconds("time").alias("at"))
        lengths = (f"{asked.size} seconds", f"{asked.slide} seconds")
        windows = timed.withWatermark("at", "0 seconds").groupBy(F.window("at", *lengths))
        return windows.agg(F.collect_list("number").alias("content"))


@contextmanager
def spark_windows(mode: str) -> Iterator[SparkWindows]:
    """Start a session for a box, and stop it afterwards."""
    with own_session("slackwater secret probe") as spark:
        yield SparkWindows(spark, mode)


def _write(source: Path, number: int, tuples: Sequence[StreamTuple]) -> None:
    """Put a batch before the query, whole: Spark leaves out names that begin with a dot."""
    lines = [json.dumps({"number": one.number, "time": one.time}) + "\n" for one in tuples]
    hidden = source / f".{number}"
    hidden.write_text("".join(lines), encoding="utf-8")
    hidden.rename(source / f"{number:06d}.json")


def _sentence(error: AnalysisException) -> str:
    """Return an error of Spark's without its class, its plan and its trace."""
    return str(error).split("] ", 1)[-1].splitlines()[0].split(" SQLSTATE")[0]
