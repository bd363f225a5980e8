"""A user's own job on a stack: fed with a log of their own, hurt, and judged by the definition.

What plans do with the flights, for any pipeline and any file of events, step by step: made for
tests (`chaos.pytest_plugin`), and usable without them.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import polars as pl

from chaos.faults.catalogue import FAULTS, fault_named
from chaos.faults.fault import Scene
from chaos.faults.reach import LocalReach
from chaos.history import History
from chaos.log import LogRecord, committed_ends, read_events, read_topic
from chaos.output import read_tables
from chaos.target import Target
from chaos.verify import Verdict, verify
from chaos.watch import JobFailed, Watch
from chaos.workload import own_pipeline
from infra import stack
from infra.layout import Layout
from jobs import flights
from jobs.topics import create_topics

_GIVE_UP_S: Final = 300.0
STRIKING: Final = tuple(
    name
    for name, kind in FAULTS.items()
    if kind.ends != "run" and not (kind.proxied or kind.reserve or kind.deploys)
)
"""The faults that need nothing but a running job."""


class OrdealError(RuntimeError):
    """What was asked for cannot be done to this job."""

    exit_code = 1


class Ordeal:
    """One run of a pipeline on a stack, with a topic and tables of its own.

    Args:
        file: the pipeline file.
        events: its log, EVENTS.jsonl; topics and offsets of the lines do not matter, their order
            in each partition does. Records that are to be late must be late by the file's order.
        layout: of a running stack with Kafka and Spark.
        max_offsets: offsets per batch; few enough that the job lives long enough to be hurt.
        seed: draws victims.
    """

    def __init__(
        self, file: Path, events: Path, layout: Layout, *, max_offsets: int, seed: int = 1
    ) -> None:
        began_s = time.time()
        name = f"ordeal-{datetime.fromtimestamp(began_s, UTC):%Y%m%d-%H%M%S-%f}"
        self._layout, self._events = layout, events
        self._endpoints = stack.endpoints(layout=layout, only=["kafka", "spark"])
        self.pipeline = own_pipeline(file, name, topic=name)
        self._job = Target(self.pipeline, file, self._endpoints, name, max_offsets)
        self._watch = Watch(self._job.checkpoint, History(), began_s, self._job.dead)
        self._scene = Scene(
            endpoints=self._endpoints,
            topic=name,
            checkpoint=self._job.checkpoint,
            reach=LocalReach(layout),
            rng=random.Random(seed),
            stop_job=self._job.stop,
            submit_job=self._job.submit,
            tables=self._job.table,
            restart=self._restart,
            job_error=self._job.dead,
        )

    def begin(self) -> None:
        """Send the log and submit the job.

        Raises:
            LogError: the events cannot be read.
            BrokerError: no broker answers.
        """
        create_topics(self.pipeline, self._endpoints.kafka_bootstrap)
        rows = [_row(record) for record in read_events(self._events)]
        schema = {"partition": pl.Int64, "value": pl.String, "control": pl.String}
        log = pl.DataFrame(rows, schema=schema, orient="row")
        flights.append(self._endpoints.kafka_bootstrap, self.pipeline.source.topic, log)
        self._job.submit()

    def strike(self, fault: str, *, hold_s: float | None = None) -> float:
        """Hurt the job after its next batch, and wait until it has begun and committed another.

        Args:
            fault: its name, as in plans.
            hold_s: how long it lasts, where somebody has to end it.

        Returns:
            seconds from the end of the fault (for what heals by itself: from its beginning) to the
            commit of that batch.

        Raises:
            OrdealError: this fault needs a plan.
            FaultDidNotApply: it took no effect, so that nothing would be proved.
            JobFailed: the job gave up, or stood still.
        """
        if fault not in STRIKING:
            msg = f"{fault} cannot strike a job outside a plan: use {', '.join(STRIKING)}"
            raise OrdealError(msg)
        batches = self._watch.batches
        self._await(lambda: self._watch.batches > batches)
        attack, since_s = fault_named(fault, hold_s=hold_s), self._watch.now()
        try:
            attack.inject(self._scene)
            self._watch.pause(attack.hold_s)
        finally:
            if FAULTS[fault].ends == "cure":
                since_s = self._watch.now()
            attack.heal(self._scene)
        self._await(lambda: self._watch.fresh_batch(since_s) is not None)
        _, at_s = self._watch.fresh_batch(since_s) or (0, since_s)
        return at_s - since_s

    def finish(self) -> Verdict:
        """Wait until all of the log is committed, stop the job, and compare with the definition.

        Raises:
            JobFailed: the job gave up, or stood still.
        """
        bootstrap, topic = self._endpoints.kafka_bootstrap, self.pipeline.source.topic
        total = sum(committed_ends(bootstrap, topic).values())
        while self._watch.offsets < total:
            reached = self._watch.offsets
            self._await(lambda reached=reached: self._watch.offsets > reached)  # type: ignore[misc]
        self.stop()
        output = read_tables(self._job.table, self.pipeline, self._job.run)
        return verify(self.pipeline, read_topic(bootstrap, topic), output)

    def stop(self) -> None:
        """End the job; what it wrote stays."""
        self._job.stop()

    def _restart(self, component: str) -> None:
        stack.up(only=[component], layout=self._layout)

    def _await(self, condition: Callable[[], bool]) -> None:
        if not self._watch.until(condition, _GIVE_UP_S):
            msg = f"the job has committed nothing for {_GIVE_UP_S:.0f} s"
            raise JobFailed(msg)


def _row(record: LogRecord) -> tuple[int, str, str | None]:
    value = (record.value or b"").decode("utf-8", "surrogatepass")
    return record.partition, value, record.control.decode() if record.control else None
