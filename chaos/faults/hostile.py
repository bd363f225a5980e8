"""A fault of a producer that wants to command the job, or to end it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from chaos.control.node_control import await_that
from chaos.errors import FaultDidNotApply
from chaos.faults.fault import FaultContext, PoisonedRecord
from chaos.faults.hostile_records import (
    IMPORTED,
    HostileRecord,
    hostile_records,
    imported_file,
)
from chaos.faults.kind import Suggestion, fault, reads_one_topic
from chaos.readers.topic import read_topics
from jobs.brokers.producing import sending
from jobs.brokers.topics import end_offsets
from jobs.runs import committed_offsets
from windowing.files.table_rows import rows_in
from windowing.model import Pipeline
from windowing.semantics import LogEntry
from windowing.semantics.arrivals import follow
from windowing.semantics.log import split_lanes
from windowing.semantics.values import ValueReader
from windowing.semantics.view import lanes_of

_READ_S: Final = 300.0
_REFUSED: Final = ("not_allowed", "malformed")
"""Reasons that some of the records must be refused for, whatever the pipeline believes."""


@fault(
    "hostile_producer",
    takes=("records",),
    back_s=40,
    poisons=True,
    reserve=True,
    one_topic=True,
    suggestion=Suggestion(
        12,
        "what is not believed must end as a dead letter; always the last one",
        to=reads_one_topic,
        aside=True,
    ),
)
@dataclass
class HostileProducer:
    """Control records of every kind, by somebody who wants to command the job, or to end it.

    Malformed, huge, conflicting, repeated, signed by nobody, beyond limits, with a class that must
    not be imported. Then come the records that were held back, for what lanes did believe.

    Attributes:
        records: number of control records, approximately.
    """

    records: int = 400
    hold_s: float = 0.0
    _ends: dict[int, int] = field(default_factory=dict, init=False)
    _places: set[tuple[int, int]] = field(default_factory=set, init=False)
    _released: bool = field(default=False, init=False)

    def inject(self, context: FaultContext) -> str:
        """Write the control records behind all that is in the topic, then release the reserve.

        Raises:
            FaultDidNotApply: some partition has ended, or others write to the topic.
        """
        bootstrap, pipeline = context.endpoints.kafka_bootstrap, context.pipeline
        _marker(context).unlink(missing_ok=True)
        reached_us = _reached_us(pipeline, [*read_topics(bootstrap, pipeline.source)])
        records = hostile_records(context.rng, pipeline, reached_us, self.records)
        before = end_offsets(bootstrap, context.topic)
        _send(bootstrap, context.topic, records)
        self._ends = end_offsets(bootstrap, context.topic)
        sent = Counter(record.lane for record in records)
        moved = {lane: end - before[lane] for lane, end in self._ends.items()}
        if any(moved[lane] != sent[lane] for lane in moved):
            msg = f"sent {dict(sent)} records, and the ends of {context.topic} moved by {moved}"
            raise FaultDidNotApply(msg)
        context.note_sent(sent)
        for record, offset in _placed(records, before):
            self._places.add((record.lane, offset))
            if (reason := record.refused(pipeline)) is not None:
                context.poison.append(PoisonedRecord(record.lane, offset, reason))
        behind = self._release(context)
        kinds = len({record.what for record in records})
        return (
            f"{len(records)} control records of {kinds} kinds stand in the topic, and {behind} "
            "records behind them"
        )

    def heal(self, context: FaultContext) -> str:
        """Wait until the job has read past the records, and count its dead letters of them.

        Raises:
            FaultDidNotApply: it has not, or has refused none of them.
        """
        self._release(context)
        if not self._places:
            return "nothing hostile was written"
        if not await_that(lambda: self._is_over(context), _READ_S):
            msg = f"the job has not read past the control records within {_READ_S:.0f} s"
            raise FaultDidNotApply(msg)
        if _marker(context).exists():
            context.imported.append(f"{IMPORTED}: {_marker(context)} is there")
        if (why := context.job_error()) is not None:
            msg = f"the job has given up before it had read past the control records: {why}"
            raise FaultDidNotApply(msg)
        found = self._refused(context)
        counts = ", ".join(f"{reason} {count}" for reason, count in found.most_common()) or "none"
        if not all(found[reason] for reason in _REFUSED):
            msg = f"the job has read past the control records, and its dead letters are: {counts}"
            raise FaultDidNotApply(msg)
        return f"the job has read past them; dead letters: {counts}"

    def _release(self, context: FaultContext) -> int:
        """Send what was held back, once; return how many records."""
        if self._released:
            return 0
        self._released = True
        return sum(context.release(range(context.pipeline.source.partitions)).values())

    def _is_over(self, context: FaultContext) -> bool:
        """Whether the job has committed all control records, or has given up."""
        try:
            _, read = committed_offsets(context.checkpoint)
        except FileNotFoundError:  # a checkpoint with other queries is taking its place
            return False
        is_read = all(read.get(lane, 0) >= end for lane, end in self._ends.items())
        return is_read or context.job_error() is not None

    def _refused(self, context: FaultContext) -> Counter[str]:
        columns = ["partition", "offset", "reason", "query"]
        try:
            table = DeltaTable(str(context.tables / "dead_letters"))
        except TableNotFoundError:
            return Counter()
        letters = rows_in(table, columns=columns).to_pylist()
        return Counter(
            str(letter["reason"])
            for letter in letters
            if letter["query"] is None and (letter["partition"], letter["offset"]) in self._places
        )


def _marker(context: FaultContext) -> Path:
    return imported_file(context.endpoints.state_dir)


def _reached_us(pipeline: Pipeline, log: Sequence[LogEntry]) -> int:
    """Return an instant behind which no lane has a record, or a promise.

    Raises:
        FaultDidNotApply: a lane has ended.
    """
    reached_us = 0
    entries = split_lanes(pipeline.source, log)
    for number, lane in enumerate(lanes_of(pipeline.source, None)):
        follow(lane, entries[number], ValueReader(pipeline, number, takes_changes=True))
        if lane.progress == math.inf:
            msg = f"{lane.name} has ended: whatever is written there is behind its end"
            raise FaultDidNotApply(msg)
        found = max([lane.newest + 1, lane.progress, *lane.by_key.values()])
        reached_us = max(reached_us, int(found) if math.isfinite(found) else 0)
    return reached_us


def _placed(
    records: Sequence[HostileRecord], ends: Mapping[int, int]
) -> Iterator[tuple[HostileRecord, int]]:
    """Yield each record with its offset, given where the partitions ended before."""
    taken: Counter[int] = Counter()
    for record in records:
        yield record, ends[record.lane] + taken[record.lane]
        taken[record.lane] += 1


def _send(bootstrap: str, topic: str, records: Sequence[HostileRecord]) -> None:
    with sending(bootstrap, topic) as producer:
        for record in records:
            producer.send(topic, value=None, key=b"", partition=record.lane, headers=record.headers)
        producer.flush()
