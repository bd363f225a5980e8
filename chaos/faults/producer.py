"""Faults of a producer: one partition falls silent; duplicate, invalid and huge records."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from chaos.control.node_control import await_that
from chaos.errors import FaultDidNotApply
from chaos.faults.fault import FaultContext, NoCure, PoisonedRecord
from chaos.faults.kind import Suggestion, fault, reads_one_topic
from chaos.faults.poison import HUGE_BYTES, PoisonValue, extremes, poisons
from jobs.brokers.producing import control_of, send_all
from jobs.brokers.topics import allow_records_of, end_offsets, records_from
from jobs.runs import committed_offsets
from windowing.model import Pipeline
from windowing.semantics.values import ValueReader

_CAUGHT_UP_S = 300.0

Good = Mapping[str, Any]
"""A record that the pipeline accepts, by field."""


def _has_one_partition(pipeline: Pipeline) -> Iterator[str]:
    if pipeline.source.partitions == 1:
        yield (
            "silent_partition lets the other partitions go on, and there is one only: take it out"
        )


def _has_others(pipeline: Pipeline) -> bool:
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


@dataclass
class _Sends(NoCure):
    """Records that are part of the log from now on; those to reject must become dead letters."""

    left = "the log keeps them"


@fault(
    "duplicate_sends",
    takes=("records",),
    back_s=12,
    one_topic=True,
    suggestion=Suggestion(3, "they are records of the log, and count twice", to=reads_one_topic),
)
@dataclass
class DuplicateSends(_Sends):
    """Duplicates of records in the topic, as from a producer that is not idempotent.

    They are now records of the log, each with its own offset, and count twice by definition.
    """

    records: int = 200

    def inject(self, context: FaultContext) -> str:
        """Resend a run of consecutive records of each partition, from a random offset."""
        copies = []
        ends = end_offsets(context.endpoints.kafka_bootstrap, context.topic)
        share = max(1, self.records // len(ends))
        for partition, end in sorted(ends.items()):
            first = context.rng.randrange(max(1, end - share))
            for record in records_from(
                context.endpoints.kafka_bootstrap, context.topic, partition, first, share
            ):
                if control_of(record.headers) is None:
                    copies.append((partition, record.value or b""))
        sent = _send(context, copies)
        return f"{sum(sent.values())} records stand twice in the topic"


@fault(
    "poison_records",
    back_s=9,
    poisons=True,
    one_topic=True,
    suggestion=Suggestion(2, "one of each kind must end as a dead letter", to=reads_one_topic),
)
@dataclass
class PoisonRecords(_Sends):
    """One record of each kind that the pipeline must reject."""

    def inject(self, context: FaultContext) -> str:
        """Append the records to partitions drawn at random."""
        return _send_poison(context, poisons)


@fault("huge_records", back_s=6, poisons=True, one_topic=True)
@dataclass
class HugeRecords(_Sends):
    """Values of ten megabytes, and times at the far ends of what can be written."""

    def inject(self, context: FaultContext) -> str:
        """Append one record of each kind to a partition drawn at random."""
        allow_records_of(context.endpoints.kafka_bootstrap, context.topic, 2 * HUGE_BYTES)
        return _send_poison(context, extremes)


def _send_poison(
    context: FaultContext, kinds: Callable[[Pipeline, Good], list[PoisonValue]]
) -> str:
    """Append poison to partitions drawn at random, derived from the last good record of each."""
    bootstrap = context.endpoints.kafka_bootstrap
    ends = end_offsets(bootstrap, context.topic)
    last = {lane: good for lane, end in ends.items() if (good := _last_good(context, lane, end))}
    if not last:
        msg = f"{context.topic} holds no record that the pipeline takes, to set poison beside"
        raise FaultDidNotApply(msg)
    made = {lane: kinds(context.pipeline, good) for lane, good in last.items()}
    rows = []
    for number in range(max(map(len, made.values()))):
        partition = context.rng.choice([lane for lane in sorted(made) if number < len(made[lane])])
        rows.append((partition, made[partition][number]))
    _send(context, [(partition, poison.value) for partition, poison in rows])
    taken: Counter[int] = Counter()
    for partition, poison in rows:
        offset = ends[partition] + taken[partition]
        context.poison.append(PoisonedRecord(partition, offset, poison.reason))
        taken[partition] += 1
    largest = max(len(poison.value) for _, poison in rows)
    return f"{len(rows)} poisoned records stand in the topic, the largest of {largest} bytes"


def _send(context: FaultContext, rows: list[tuple[int, bytes]]) -> Counter[int]:
    """Append values, and check that the end offsets move accordingly."""
    bootstrap = context.endpoints.kafka_bootstrap
    before = end_offsets(bootstrap, context.topic)
    send_all(bootstrap, context.topic, ((partition, value, None) for partition, value in rows))
    after = end_offsets(bootstrap, context.topic)
    sent = Counter(partition for partition, _ in rows)
    moved = {lane: after[lane] - before[lane] for lane in after}
    if any(moved[lane] != sent[lane] for lane in after):
        msg = f"sent {dict(sent)} records, and the ends of {context.topic} moved by {moved}"
        raise FaultDidNotApply(msg)
    context.note_sent(sent)
    return sent


def _last_good(context: FaultContext, partition: int, end: int) -> Good | None:
    bootstrap, reader = context.endpoints.kafka_bootstrap, ValueReader(context.pipeline, partition)
    for record in reversed(records_from(bootstrap, context.topic, partition, max(0, end - 50), 50)):
        if control_of(record.headers) is None and not isinstance(
            reader.read(record.value, None), str
        ):
            found: dict[str, Any] = json.loads(record.value)
            return found
    return None
