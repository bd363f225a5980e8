"""Faults of identity: checkpoint, tables, topic and driver no longer belong together.

Spark would notice none of them. The job must either continue and produce the right result, or give
up and name what does not fit; the plan says which of the two it expects.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chaos.control.node_control import await_that
from chaos.errors import FaultDidNotApply
from chaos.faults.fault import FaultContext, NoCure, ReportedLoss
from chaos.faults.kind import STANDALONE, Suggestion, fault
from chaos.faults.stopped_job import Harm, WhileStopped
from chaos.readers.topic import read_topic
from infra.layout import ROOT
from jobs.brokers.producing import send_all
from jobs.brokers.topic_admin import clean_by, delete_topic, topic_id
from jobs.brokers.topics import create_topic, end_offsets, records_from
from jobs.checkpoints.checkpoint import newest
from jobs.runs import committed_offsets
from jobs.runs.owner import OWNER_FILE, REFUSED_FILE
from windowing.model import Pipeline

_GOES_ON_S = 300.0
_LATER_BATCHES = 2
_OTHER_CUTS = 0.6
"""Fraction of the offsets per batch; with the same number, the old checkpoint would cut the same
batches again."""


@fault(
    "restore_old_checkpoint",
    stacks=STANDALONE,
    back_s=7,
    ends="cure",
    identity=True,
    suggestion=Suggestion(9, "a copy put back", expect="harmless", aside=True),
)
@dataclass
class RestoreOldCheckpoint(NoCure):
    """Restore of a checkpoint that is some batches old and then cuts other batches."""

    left = "nothing to put back"

    def inject(self, context: FaultContext) -> str:
        """Copy the checkpoint, run some batches, restore the copy, and record the job's error.

        Raises:
            FaultDidNotApply: the job committed nothing in between, or afterwards neither gives up
                nor goes on.
        """
        context.stop_job()
        commits, copy = (
            context.checkpoint / "commits",
            context.checkpoint.with_name("checkpoint-copy"),
        )
        old = newest(commits)
        shutil.copytree(context.checkpoint, copy)
        context.submit_job()
        wanted = old + _LATER_BATCHES
        if not await_that(lambda: newest(commits) >= wanted, _GOES_ON_S):
            msg = f"the job has not committed batch {wanted} within {_GOES_ON_S:.0f} s"
            raise FaultDidNotApply(msg)
        context.stop_job()
        last = newest(commits)
        shutil.rmtree(context.checkpoint)
        copy.rename(context.checkpoint)
        context.submit_job(share=_OTHER_CUTS)
        if not await_that(
            lambda: context.job_error() is not None or newest(commits) > last, _GOES_ON_S
        ):
            msg = f"the job has neither given up nor gone beyond batch {last}"
            raise FaultDidNotApply(msg)
        said = context.job_error()
        context.losses.append(ReportedLoss((f"batch {old}",), said))
        return f"the checkpoint of after batch {old} is in place of that of after batch {last}"


@fault(
    "lose_table",
    stacks=STANDALONE,
    back_s=73,
    ends="cure",
    identity=True,
    suggestion=Suggestion(10, "put back after it was missed", expect="named", aside=True),
)
@dataclass
class LoseTable(WhileStopped):
    """Loss of a table while the job is stopped."""

    _lost: Path | None = field(default=None, init=False)
    _aside: Path | None = field(default=None, init=False)

    def harm(self, context: FaultContext) -> Harm:
        """Move away a table drawn at random."""
        tables = sorted(path.parent for path in context.tables.glob("*/_delta_log"))
        if not tables:
            msg = f"{context.tables} holds no tables"
            raise FaultDidNotApply(msg)
        self._lost = context.rng.choice(tables)
        self._aside = context.checkpoint.with_name(f"lost-{self._lost.name}")
        self._lost.rename(self._aside)
        return Harm((self._lost.name, "put it back"), f"table {self._lost.name} is gone")

    def undo(self, context: FaultContext) -> str:
        """Put the table back."""
        del context
        if self._lost is not None and self._aside is not None:
            if self._lost.exists():
                shutil.rmtree(self._lost)  # the job created it in place of the lost one
            self._aside.rename(self._lost)
        return "table put back"


@fault("recreate_topic", back_s=60, ends="run", identity=True, one_topic=True)
@dataclass
class RecreateTopic(NoCure, WhileStopped):
    """Recreation of the topic under the same name, filled beyond what the job has read."""

    left = "the run ends here"

    def harm(self, context: FaultContext) -> Harm:
        """Recreate the topic with its values in another order.

        Raises:
            FaultDidNotApply: the topic is still the same, or too short to pass for the old one.
        """
        bootstrap, topic = context.endpoints.kafka_bootstrap, context.topic
        context.log = list(read_topic(bootstrap, topic))
        _, read = committed_offsets(context.checkpoint)
        values = {
            lane: [one.value for one in records_from(bootstrap, topic, lane, 0, end)]
            for lane, end in end_offsets(bootstrap, topic).items()
        }
        before = topic_id(bootstrap, topic)
        delete_topic(bootstrap, topic)
        create_topic(bootstrap, topic, len(values))
        send_all(
            bootstrap,
            topic,
            [(lane, value, None) for lane, own in values.items() for value in reversed(own)],
        )
        after, ends = topic_id(bootstrap, topic), end_offsets(bootstrap, topic)
        if after == before or any(ends[lane] < read.get(lane, 0) for lane in ends):
            msg = f"topic {topic} has id {after}, before {before}, and ends at {ends}"
            raise FaultDidNotApply(msg)
        return Harm((before, after), f"topic {topic} had id {before} and has {after}")


def _compacted_already(pipeline: Pipeline) -> Iterator[str]:
    if pipeline.source.compacted:
        yield ("compact_topic is allowed here, as the pipeline says compacted: true: take it out")


@fault(
    "compact_topic",
    back_s=89,
    ends="cure",
    identity=True,
    one_topic=True,
    misfits=_compacted_already,
)
@dataclass
class CompactTopic(WhileStopped):
    """Compaction of the topic, switched on at the broker."""

    def harm(self, context: FaultContext) -> Harm:
        """Change the topic's cleanup policy."""
        clean_by(context.endpoints.kafka_bootstrap, context.topic, "compact")
        wanted = (context.topic, "cleanup.policy=compact")
        return Harm(wanted, f"{context.topic} has cleanup.policy=compact")

    def undo(self, context: FaultContext) -> str:
        """Switch compaction off again."""
        clean_by(context.endpoints.kafka_bootstrap, context.topic, "delete")
        return "cleanup.policy=delete"


@fault("second_driver", back_s=6, identity=True, stacks=STANDALONE)
@dataclass
class SecondDriver(NoCure):
    """A second driver of the same run beside the cluster's."""

    left = "the first driver goes on"
    patience_s: float = 120.0

    def inject(self, context: FaultContext) -> str:
        """Start a driver as a local process, wait for its end, and record its error.

        Raises:
            FaultDidNotApply: no driver owns the run.
        """
        folder = context.checkpoint.parent
        refused, owner = folder / REFUSED_FILE, folder / OWNER_FILE
        if not owner.exists():
            msg = f"{owner} is not there: no driver has the run"
            raise FaultDidNotApply(msg)
        first = json.loads(owner.read_text(encoding="utf-8"))
        refused.unlink(missing_ok=True)
        began_s = time.monotonic()
        with subprocess.Popen(
            _command(context), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            try:
                process.wait(self.patience_s)
            except subprocess.TimeoutExpired:
                process.kill()
        said = None
        if refused.exists():
            said = json.loads(refused.read_text(encoding="utf-8"))["error"]
        context.losses.append(ReportedLoss((f"process {first['pid']} on {first['host']}",), said))
        took_s = time.monotonic() - began_s
        return f"process {process.pid} ran for {took_s:.1f} s beside driver {first['pid']}"


def _command(context: FaultContext) -> Sequence[str]:
    folder = context.checkpoint.parent
    (file,) = folder.glob("*.y*ml")
    args = ["--run", folder.name, "--bootstrap", context.endpoints.kafka_bootstrap]
    args += ["--folder", str(folder)]
    args += ["--checkpoint", str(context.checkpoint), "--table", str(context.tables)]
    return [sys.executable, str(ROOT / "jobs" / "pipeline.py"), str(file), *args]
