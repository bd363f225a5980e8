"""A fault of the log: records are deleted before the job has read them."""

from __future__ import annotations

from dataclasses import dataclass

from chaos.errors import FaultDidNotApply
from chaos.faults.damage import await_job_error
from chaos.faults.fault import FaultContext, ReportedLoss
from chaos.faults.kind import fault
from chaos.readers.topic import read_topic
from jobs.brokers.topics import delete_before, end_offsets
from jobs.runs import committed_offsets


@fault("delete_records", back_s=60, ends="run", one_topic=True)
@dataclass
class DeleteRecords:
    """Deletion of records that the job has not read, as retention does if a job stops too long.

    They cannot be restored, so the run ends with this fault. The job must say which records are
    missing, and what it has written up to that point must be right.
    """

    hold_s: float = 0.0

    def inject(self, context: FaultContext) -> str:
        """Stop the job, delete half of a partition's unread records, and resubmit the job."""
        bootstrap = context.endpoints.kafka_bootstrap
        context.stop_job()
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
        context.submit_job()
        said = await_job_error(context)
        context.losses.append(ReportedLoss((f"{context.topic}-{lane}", str(first)), said))
        return f"offsets {first} to {until - 1} of partition {lane} are deleted"

    def heal(self, context: FaultContext) -> str:
        """Do nothing: there is no cure."""
        return "the run ends here"
