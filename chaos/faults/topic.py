"""Faults of a topic's administration: a partition is added, unread records are deleted."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from chaos.errors import FaultDidNotApply
from chaos.faults.fault import FaultContext, NoCure, ReportedLoss
from chaos.faults.kind import STANDALONE, fault
from chaos.faults.stopped_job import Harm, WhileStopped, await_job_error
from chaos.readers.topic import read_topic
from infra.layout import ROOT, STATE_DIR_VARIABLE
from jobs.brokers.producing import send_all
from jobs.brokers.topics import add_partitions, delete_before, end_offsets, records_from
from jobs.runs import committed_offsets
from windowing.model import Pipeline
from windowing.model.progress import Heartbeat, OrderedPer
from windowing.model.rules import in_log_order

_ACCEPT_S = 300.0


def _accepts_none(pipeline: Pipeline) -> Iterator[str]:
    disorder = pipeline.source.disorder
    names_lanes = isinstance(disorder, Heartbeat) or (
        isinstance(disorder, OrderedPer) and disorder.members is not None
    )
    if names_lanes:
        yield (
            "add_partition cannot be accepted as it stands: the generator names every lane, and "
            "the new one must be written there first: take it out"
        )
    if any(map(in_log_order, pipeline.windows)):
        yield (
            "add_partition sends copies from another partition, and where rows are counted as they "
            "arrive a value's records stay in theirs: take it out"
        )


@fault(
    "add_partition",
    back_s=153,
    ends="cure",
    one_topic=True,
    misfits=_accepts_none,
    stacks=STANDALONE,
)
@dataclass
class AddPartition:
    """A new partition of the topic, with records; the cure is to accept it.

    Attributes:
        records: number of records in it: copies of another partition's first ones, so that some
            of them are late.
    """

    hold_s: float = 0.0
    records: int = 200

    def inject(self, context: FaultContext) -> str:
        """Add the partition, fill it, and record the job's error.

        Raises:
            FaultDidNotApply: the job does not give up.
        """
        bootstrap, topic = context.endpoints.kafka_bootstrap, context.topic
        number = len(end_offsets(bootstrap, topic))
        copies = records_from(bootstrap, topic, 0, 0, self.records)
        add_partitions(bootstrap, topic, number + 1)
        send_all(bootstrap, topic, [(number, one.value, None) for one in copies if one.value])
        sent = end_offsets(bootstrap, topic)[number]
        context.note_sent({number: sent})
        wanted = (f"{topic}/{number}", "--accept-partitions")
        context.losses.append(ReportedLoss(wanted, await_job_error(context)))
        return f"{topic}/{number} was added, with {sent} records"

    def heal(self, context: FaultContext) -> str:
        """Accept the partition with the command that the error names, and resubmit the run.

        Raises:
            FaultDidNotApply: the command fails.
        """
        folder = context.checkpoint.parent
        (file,) = folder.glob("*.y*ml")
        command = [sys.executable, "-m", "slackwater.main", "topics", str(file)]
        command += ["--accept-partitions", "--run", folder.name]
        env = {**os.environ, STATE_DIR_VARIABLE: str(context.endpoints.state_dir)}
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=_ACCEPT_S,
        )
        if done.returncode != 0:
            msg = f"{' '.join(command[2:])} says {done.stderr.strip()[-500:]}"
            raise FaultDidNotApply(msg)
        context.submit_job()
        return f"{done.stdout.splitlines()[0]}; job submitted again"


@fault("delete_records", back_s=60, ends="run", one_topic=True)
@dataclass
class DeleteRecords(NoCure, WhileStopped):
    """Deletion of records that the job has not read, as retention does if a job stops too long.

    They cannot be restored, so the run ends with this fault. The job must say which records are
    missing, and what it has written up to that point must be right.
    """

    left = "the run ends here"

    def harm(self, context: FaultContext) -> Harm:
        """Delete half of a partition's unread records."""
        bootstrap = context.endpoints.kafka_bootstrap
        context.log = list(read_topic(bootstrap, context.topic))
        _, read = committed_offsets(context.checkpoint)
        ends = end_offsets(bootstrap, context.topic)
        unread = sorted(lane for lane, end in ends.items() if end - read.get(lane, 0) >= 2)
        if not unread:
            msg = "the job has read all records: none can be deleted before it reads them"
            raise FaultDidNotApply(msg)
        lane = context.rng.choice(unread)
        first = read.get(lane, 0)
        until = first + (ends[lane] - first) // 2
        low = delete_before(bootstrap, context.topic, lane, until)
        if low != until:
            msg = f"{context.topic}-{lane} begins at {low} after deleting up to {until}"
            raise FaultDidNotApply(msg)
        return Harm(
            wanted=(f"{context.topic}-{lane}", str(first)),
            evidence=f"offsets {first} to {until - 1} of partition {lane} are deleted",
        )
