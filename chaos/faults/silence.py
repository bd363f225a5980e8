"""A fault of a producer: one partition falls silent while the others go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from chaos.control.node_control import await_that
from chaos.errors import FaultDidNotApply
from chaos.faults.fault import FaultContext
from chaos.faults.kind import Suggestion, fault
from jobs.brokers.topics import end_offsets
from jobs.runs import committed_offsets
from windowing.model import Pipeline

_CAUGHT_UP_S = 300.0


def _has_one_partition(pipeline: Pipeline) -> Iterator[str]:
    """Reject a topic with one partition: no other could go on."""
    if pipeline.source.partitions == 1:
        yield (
            "silent_partition lets the other partitions go on, and there is one only: take it out"
        )


def _has_others(pipeline: Pipeline) -> bool:
    """Whether one of several partitions of one topic can fall silent."""
    return pipeline.one_topic and pipeline.source.partitions > 1


@fault(
    "silent_partition",
    takes=("hold",),
    back_s=2,
    ends="cure",
    reserve=True,
    one_topic=True,
    misfits=_has_one_partition,
    suggestion=Suggestion(8, "its windows wait for it; always the last one", to=_has_others),
)
@dataclass
class SilentPartition:
    """Silence of one partition, while the others receive records.

    The progress of a stream is that of its slowest lane: it must wait, and emit no window that the
    silent lane could still change.

    Attributes:
        hold_s: minimum length of the silence in seconds.
    """

    hold_s: float = 10.0
    _silent: int = field(default=-1, init=False)
    _read: dict[int, int] = field(default_factory=dict, init=False)
    _batches: int = field(default=0, init=False)

    def inject(self, context: FaultContext) -> str:
        """Wait until the job has read everything, then release the other partitions' records."""
        ends = end_offsets(context.endpoints.kafka_bootstrap, context.topic)
        if not await_that(lambda: _caught_up(context, ends), _CAUGHT_UP_S):
            msg = f"the job has not read the whole log within {_CAUGHT_UP_S:.0f} s"
            raise FaultDidNotApply(msg)
        self._batches, self._read = committed_offsets(context.checkpoint)
        self._silent = context.rng.choice(sorted(ends))
        sent = context.release([lane for lane in ends if lane != self._silent])
        if not sum(sent.values()):
            msg = "no records were held back for the other partitions"
            raise FaultDidNotApply(msg)
        return f"partition {self._silent} is silent, {sum(sent.values())} records go to the others"

    def heal(self, context: FaultContext) -> str:
        """Check that only the other partitions were read, then send the remaining records.

        Raises:
            FaultDidNotApply: the job read nothing in the meantime.
        """
        if self._silent < 0:
            context.release(range(len(self._read)))
            return "nothing was silent"
        try:
            if not await_that(self._others_moved(context), _CAUGHT_UP_S):
                msg = "the job has committed no batch while the partition was silent"
                raise FaultDidNotApply(msg)
            batches, read = committed_offsets(context.checkpoint)
            if read[self._silent] != self._read[self._silent]:
                msg = f"partition {self._silent} was read up to {read[self._silent]} meanwhile"
                raise FaultDidNotApply(msg)
        finally:
            sent = context.release([self._silent])
        return f"{batches - self._batches} batches without it; {sum(sent.values())} records follow"

    def _others_moved(self, context: FaultContext) -> Callable[[], bool]:
        ends = end_offsets(context.endpoints.kafka_bootstrap, context.topic)
        return lambda: _caught_up(context, ends)


def _caught_up(context: FaultContext, ends: dict[int, int]) -> bool:
    _, read = committed_offsets(context.checkpoint)
    return all(read.get(lane, 0) >= end for lane, end in ends.items())
