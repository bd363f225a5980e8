"""Faults of a producer: duplicate, invalid and huge records."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from chaos.errors import FaultDidNotApply
from chaos.faults.fault import FaultContext, PoisonedRecord
from chaos.faults.kind import Suggestion, fault, reads_one_topic
from chaos.faults.poison import HUGE_BYTES, PoisonValue, extremes, poisons
from jobs.brokers.producing import control_of, send_all
from jobs.brokers.topics import allow_records_of, end_offsets, records_from
from windowing.model import Pipeline
from windowing.semantics.values import ValueReader

Good = Mapping[str, Any]
"""A record that the pipeline accepts, by field."""


@fault(
    "duplicate_sends",
    takes=("records",),
    back_s=12,
    one_topic=True,
    suggestion=Suggestion(3, "they are records of the log, and count twice", to=reads_one_topic),
)
@dataclass
class DuplicateSends:
    """Duplicates of records in the topic, as from a producer that is not idempotent.

    They are now records of the log, each with its own offset, and count twice by definition.

    Attributes:
        records: number of duplicates.
    """

    records: int = 200
    hold_s: float = 0.0

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

    def heal(self, context: FaultContext) -> str:
        """Do nothing: the duplicates are part of the log."""
        return "the log keeps them"


@fault(
    "poison_records",
    back_s=9,
    poisons=True,
    one_topic=True,
    suggestion=Suggestion(2, "one of each kind must end as a dead letter", to=reads_one_topic),
)
@dataclass
class PoisonRecords:
    """One record of each kind that the pipeline must reject."""

    hold_s: float = 0.0

    def inject(self, context: FaultContext) -> str:
        """Append the records to partitions drawn at random."""
        return _send_poison(context, poisons)

    def heal(self, context: FaultContext) -> str:
        """Do nothing: the records must become dead letters."""
        return "the log keeps them"


@fault("huge_records", back_s=6, poisons=True, one_topic=True)
@dataclass
class HugeRecords:
    """Values of ten megabytes, and times at the far ends of what can be written."""

    hold_s: float = 0.0

    def inject(self, context: FaultContext) -> str:
        """Append one record of each kind to a partition drawn at random."""
        allow_records_of(context.endpoints.kafka_bootstrap, context.topic, 2 * HUGE_BYTES)
        return _send_poison(context, extremes)

    def heal(self, context: FaultContext) -> str:
        """Do nothing: the records must become dead letters."""
        return "the log keeps them"


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
    """Return the last record of a partition that the pipeline accepts; None: there is none."""
    bootstrap, reader = context.endpoints.kafka_bootstrap, ValueReader(context.pipeline, partition)
    for record in reversed(records_from(bootstrap, context.topic, partition, max(0, end - 50), 50)):
        if control_of(record.headers) is None and not isinstance(
            reader.read(record.value, None), str
        ):
            found: dict[str, Any] = json.loads(record.value)
            return found
    return None
