"""A fault of the log: records are gone before the job has read them."""

from __future__ import annotations

from dataclasses import dataclass

from chaos.errors import FaultDidNotApply
from chaos.faults.damage import await_job_error
from chaos.faults.fault import Named, Scene
from chaos.faults.kind import fault
from chaos.readers.log import read_topic
from jobs.brokers.topics import delete_before, end_offsets
from jobs.runs import committed_offsets


@fault("delete_records", back_s=60, ends="run", one_topic=True)
@dataclass
class DeletedRecords:
    """Delete records that the job has not read, as retention does to a job that stood too long.

    They cannot be had again, so the run is over with it. The job must say which are gone, and what
    it has written up to there must be right.
    """

    hold_s: float = 0.0

    def inject(self, scene: Scene) -> str:
        """Stop the job, delete half of what it has not read of one partition, start it again."""
        bootstrap = scene.endpoints.kafka_bootstrap
        scene.stop_job()
        scene.log = list(read_topic(bootstrap, scene.topic))
        _, read = committed_offsets(scene.checkpoint)
        ends = end_offsets(bootstrap, scene.topic)
        unread = sorted(lane for lane, end in ends.items() if end - read.get(lane, 0) >= 2)
        if not unread:
            msg = "the job has read all records: none can be deleted before it reads them"
            raise FaultDidNotApply(msg)
        lane = scene.rng.choice(unread)
        first = read.get(lane, 0)
        until = first + (ends[lane] - first) // 2
        low = delete_before(bootstrap, scene.topic, lane, until)
        if low != until:
            msg = f"{scene.topic}-{lane} begins at {low} after deleting up to {until}"
            raise FaultDidNotApply(msg)
        scene.submit_job()
        said = await_job_error(scene)
        scene.named.append(Named((f"{scene.topic}-{lane}", str(first)), said))
        return f"offsets {first} to {until - 1} of partition {lane} are deleted"

    def heal(self, scene: Scene) -> str:
        """There is no cure."""
        return "the run ends here"
