"""The stream of a run: from Kafka through lanes and shards into the run's sink."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQuery

from infra.private import SECRETS_FOLDER
from jobs.brokers.rows import kafka_rows
from jobs.checkpoints.checkpoint import Base, mend, newest, read_base, seed_of
from jobs.checkpoints.identity import Identity
from jobs.checkpoints.partitions import look, pending
from jobs.checkpoints.stages import decide_fused
from jobs.driver.noting import noting
from jobs.driver.orphan import Orphan, executors
from jobs.metrics.observer import Metrics
from jobs.runs.attempts import Attempt
from jobs.runs.choice import is_live
from jobs.runs.job_order import JobOrder, job_name
from jobs.session import session
from windowing.engine.changes import QueriesChanged
from windowing.model import Pipeline
from windowing.model.run_errors import UndeclaredPartition
from windowing.model.source import Source
from windowing.spark.plan import emissions
from windowing.spark.sinks import RunPlace, sink_of
from windowing.spark.sources.reading import limit_batches
from windowing.spark.storage.seed import seed_rows

_LOOK_S = 1.0
"""How often to check the query, in seconds."""


class Stream:
    """The stream of a run whose checkpoint, tables and topics agree.

    Args:
        order: what the job is asked to do.
        identity: names the batches, and has compared what they belong to.
        metrics: hears of them.

    Attributes:
        changes: what the log has made of the pipeline's queries; the stream ends at the first.
    """

    def __init__(
        self, order: JobOrder, pipeline: Pipeline, identity: Identity, metrics: Metrics
    ) -> None:
        self.changes: list[QueriesChanged] = []
        self._order, self._source, self._metrics = order, pipeline.source, metrics
        self._checkpoint, self._base = order.checkpoint, read_base(order.checkpoint)
        spark = session(job_name(pipeline.name, order.run), parallelism=order.parallelism)
        limit_batches(spark, identity.record_bytes_max)
        live = partial(is_live, order.folder)
        where = RunPlace(
            pipeline, order.run, order.tables, identity.token_of, live, metrics.written
        )
        self._sink = sink_of(pipeline).open(where)
        raw = kafka_rows(
            spark,
            pipeline,
            order.bootstrap,
            order.max_offsets,
            first=_first(self._base, pipeline.source) or order.first,
            end=order.end,
            secrets=order.folder / SECRETS_FOLDER,
        )
        fused = decide_fused(self._checkpoint, pipeline)
        is_new = newest(self._checkpoint / "commits") < 0
        seed = seed_rows(spark, seed_of(self._checkpoint)) if self._base.batch and is_new else None
        emitted = emissions(raw, pipeline, fused=fused, seed=seed)
        stream = emitted.writeStream.queryName(pipeline.name).outputMode("append")
        self._stream = stream.option("checkpointLocation", str(self._checkpoint))
        self._spark = spark
        self._write = noting(self._counted, self.changes)

    def run_one(self, write: Callable[[DataFrame, int], None]) -> None:
        """Run the newest planned batch, or plan one and run it."""
        self._stream.foreachBatch(write).trigger(once=True).start().awaitTermination()

    def mend(self) -> None:
        """Run batches again whose commits are lost, as they were planned."""
        for batch in mend(self._checkpoint, lambda: self.run_one(self._write)):
            sys.stderr.write(f"batch {self._base.batch + batch} was run again, as it was planned\n")

    def run(self, attempt: Attempt) -> None:
        """Run batches until the stream is stopped, or until the topic's end with `available_now`.

        Args:
            attempt: is well once a batch is done, or there is nothing to do.

        Raises:
            StreamingQueryException: a batch failed, maybe by a change of the queries.
            UndeclaredPartition: a topic has a partition that the pipeline does not declare.
            ExecutorsLost: the cluster has forgotten this driver.
        """
        now = self._order.available_now
        trigger = {"availableNow": True} if now else {"processingTime": "1 second"}
        query = self._stream.foreachBatch(self._write).trigger(**trigger).start()
        orphan, before = Orphan(lambda: executors(self._spark)), self._committed()
        try:
            while not query.awaitTermination(_LOOK_S):
                self._look(query)
                orphan.look()
                if self._committed() > before or _has_nothing_to_do(query):
                    attempt.is_well()
            self._look(query)
        except UndeclaredPartition:
            query.stop()
            if pending(self._checkpoint) is not None:
                # So that it is known what was emitted before the partition joins.
                self.run_one(self._write)
            raise

    def _look(self, query: StreamingQuery) -> None:
        look(query.lastProgress, self._source)
        self._metrics.look(query)

    def _committed(self) -> int:
        return newest(self._checkpoint / "commits")

    def _counted(self, batch: DataFrame, number: int) -> None:
        """Give the sink a batch, under the run's number of it."""
        self._sink.write(batch, self._base.batch + number)


def _first(base: Base, source: Source) -> dict[int, int]:
    """Return the offset that a checkpoint with a base begins with, by lane number."""
    places = ((*lane.rpartition("/")[::2], offset) for lane, offset in base.ends.items())
    numbered = {source.number(topic, int(at)): offset for topic, at, offset in places}
    return {number: offset for number, offset in numbered.items() if number is not None}


def _has_nothing_to_do(query: StreamingQuery) -> bool:
    """Whether a query has checked its source and is waiting for more."""
    status = query.status
    return str(status["message"]).startswith("Waiting for") and not status["isTriggerActive"]
