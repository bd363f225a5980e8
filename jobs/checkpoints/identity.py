"""The log, checkpoint and tables of a run: compared at start, and checked by each batch."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from jobs.checkpoints.agreement import Agreement, compare
from jobs.checkpoints.checkpoint import read_base
from jobs.checkpoints.plans import lanes_of, read_checkpoint, rewrite
from jobs.checkpoints.topic_facts import TopicIds, topics_of
from jobs.runs.job_order import JobOrder
from jobs.runs.owner import Owner
from windowing.model import Pipeline
from windowing.model.run_errors import TokenMismatch
from windowing.runtime.token import Tables, Token
from windowing.spark.sinks import sink_of

TOPICS_FILE = "topics.json"
"""File in the run's folder with the ids of the topics that it was started with."""


RunOne = Callable[[Callable[[DataFrame, int], None]], None]
"""Runs the newest planned batch, or plans one and runs it, into what `foreachBatch` takes."""


class Identity:
    """The identity of a run, for the driver that runs it.

    Args:
        order: names run, checkpoint, tables and broker; notes are in the folder above the
            checkpoint.
        owner: the driver's claim on the run.

    Attributes:
        record_bytes_max: how many bytes a record of its topics may have, as sent; None: not known.
    """

    def __init__(self, order: JobOrder, pipeline: Pipeline, owner: Owner) -> None:
        self._order, self._pipeline, self._owner = order, pipeline, owner
        self._checkpoint = order.checkpoint
        self._note = order.checkpoint.parent / TOPICS_FILE
        self._topic_ids = TopicIds(order.bootstrap, pipeline.source)
        self.record_bytes_max: int | None = None

    def compare(self) -> tuple[Token, ...]:
        """Compare checkpoint, tables and topics; return the batches that must be rerun.

        Raises:
            TokenMismatch: they do not belong together; names the mismatch and the remedies.
            BrokerError: no broker answers.
            TopicError: a topic does not exist.
        """
        topics = topics_of(self._order.bootstrap, self._pipeline.source)
        sizes = [topic.record_bytes_max for topic in topics.values()]
        shown = [size for size in sizes if size is not None]
        self.record_bytes_max = max(shown) if len(shown) == len(sizes) else None
        known = json.loads(self._note.read_text("utf-8")) if self._note.exists() else {}
        checkpoint = read_checkpoint(self._checkpoint)
        found: Agreement = compare(
            checkpoint,
            self._tables(since=min((b for b in checkpoint.ends if b >= 0), default=0)),
            topics,
            known=known,
            may_be_compacted=frozenset(p.topic for p in self._pipeline.source.parts if p.compacted),
            fingerprint=self._pipeline.fingerprint,
            earlier=read_base(self._checkpoint).fingerprints,
        )
        for name, topic in topics.items():
            if topic.compacted is None:
                sys.stderr.write(
                    f"topic {name}: the broker does not show its cleanup.policy (that needs the "
                    "right DescribeConfigs): it is taken for delete\n"
                )
        if found.mismatches:
            msg = f"run {self._order.run}: " + "; ".join(found.mismatches)
            raise TokenMismatch(msg)
        ids = {name: topic.topic_id for name, topic in topics.items()}
        self._note.write_text(json.dumps(ids), encoding="utf-8")
        return found.again

    def token_of(self, batch_id: int) -> Token:
        """Return the token of the batch that was just read, before any of it is written.

        Raises:
            SecondDriver: the run is another driver's now.
            CheckpointDamaged: the batch's plan is gone.
            BrokerError, TopicError: the broker does not say which topic that was.
        """
        self._owner.check()
        lanes = lanes_of(self._checkpoint, batch_id)
        # After everything was read, so that a topic recreated meanwhile is detected.
        return Token(batch_id, lanes, self._topic_ids(), self._pipeline.fingerprint)

    def plan_again(self, run_one: RunOne) -> None:
        """Plan the batches that the tables have ahead of the checkpoint as the tables have them.

        Args:
            run_one: runs one batch into a sink.

        Raises:
            TokenMismatch: the checkpoint begins elsewhere.
        """
        checkpoint = read_checkpoint(self._checkpoint)
        if checkpoint.planned < checkpoint.begins:
            # Only Spark knows the format of its plans: let it make one, and edit it by the tokens.
            self._let_spark_plan(run_one)
        again = self.compare()
        if again:
            rewrite(self._checkpoint, list(again))
            first, last = again[0].batch_id, again[-1].batch_id
            sys.stderr.write(
                f"run {self._order.run}: the tables are ahead of the checkpoint: batches {first} "
                f"to {last} are run again as the tables have them\n"
            )

    def close(self) -> None:
        """Close the connection to the broker."""
        self._topic_ids.close()

    def _let_spark_plan(self, run_one: RunOne) -> None:
        planned = "a first batch is planned"

        def stop(batch: DataFrame, batch_id: int) -> None:
            raise InterruptedError(planned)

        try:
            run_one(stop)
        except StreamingQueryException as error:
            if planned not in str(error):
                raise

    def _tables(self, since: int) -> Tables:
        """Describe what the sink has of the run, without batches that Spark has forgotten."""
        return sink_of(self._pipeline).kept(
            self._pipeline, self._order.tables, self._order.run, since
        )
