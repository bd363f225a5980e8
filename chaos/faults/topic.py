"""Faults of the log: what a broken producer sends."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from chaos.faults.errors import FaultDidNotApply
from chaos.faults.fault import Poisoned, Scene
from jobs.flights import AIRPORTS, append
from jobs.poison import HUGE_BYTES, POISON, Poison, extremes
from jobs.topics import allow_records_of, end_offsets, records_from


@dataclass
class DuplicateSends:
    """Send records again that the topic holds already, as a producer that was not idempotent did.

    They are records of the log now, each with an offset of its own, and count twice by definition.

    Attributes:
        records: how many.
    """

    records: int = 200
    hold_s: float = 0.0

    def inject(self, scene: Scene) -> str:
        """Send a run of neighbours again, from a place drawn at random in each partition."""
        copies = []
        ends = end_offsets(scene.endpoints.kafka_bootstrap, scene.topic)
        share = max(1, self.records // len(ends))
        for partition, end in sorted(ends.items()):
            first = scene.rng.randrange(max(1, end - share))
            for record in records_from(
                scene.endpoints.kafka_bootstrap, scene.topic, partition, first, share
            ):
                copies.append((partition, record.value.decode("utf-8")))
        sent = _send(scene, copies)
        return f"{sum(sent.values())} records stand twice in the topic"

    def heal(self, scene: Scene) -> str:
        """There is nothing to heal: the log is what it is."""
        return "the log keeps them"


@dataclass
class PoisonRecords:
    """Send one record of each kind that must be refused."""

    hold_s: float = 0.0

    def inject(self, scene: Scene) -> str:
        """Append them to partitions drawn at random."""
        return _send_poison(scene, POISON)

    def heal(self, scene: Scene) -> str:
        """There is nothing to heal: they must end as dead letters."""
        return "the log keeps them"


@dataclass
class HugeRecords:
    """Send values of ten megabytes, and times at the far ends of what can be written down."""

    hold_s: float = 0.0

    def inject(self, scene: Scene) -> str:
        """Append one record of each kind to a partition drawn at random."""
        allow_records_of(scene.endpoints.kafka_bootstrap, scene.topic, 2 * HUGE_BYTES)
        return _send_poison(scene, extremes())

    def heal(self, scene: Scene) -> str:
        """There is nothing to heal: they must end as dead letters."""
        return "the log keeps them"


def _send_poison(scene: Scene, poisons: Sequence[Poison]) -> str:
    """Append poison to partitions drawn at random, beside the last good record of each."""
    bootstrap = scene.endpoints.kafka_bootstrap
    ends = end_offsets(bootstrap, scene.topic)
    rows = []
    for poison in poisons:
        partition = scene.rng.choice(sorted(ends))
        near_us = _event_time(bootstrap, scene.topic, partition, ends[partition])
        rows.append((partition, poison.text(ts=near_us, origin=AIRPORTS[partition])))
    _send(scene, rows)
    taken: Counter[int] = Counter()
    for (partition, _), poison in zip(rows, poisons, strict=True):
        offset = ends[partition] + taken[partition]
        scene.poison.append(Poisoned(partition, offset, poison.reason))
        taken[partition] += 1
    largest = max(len(text) for _, text in rows)
    return f"{len(rows)} poisoned records stand in the topic, the largest of {largest} bytes"


def _send(scene: Scene, rows: list[tuple[int, str]]) -> Counter[int]:
    """Append values, and see the ends of the topic move by as much."""
    bootstrap = scene.endpoints.kafka_bootstrap
    before = end_offsets(bootstrap, scene.topic)
    append(
        bootstrap,
        scene.topic,
        pl.DataFrame(
            {
                "partition": [partition for partition, _ in rows],
                "value": [value for _, value in rows],
                "control": [None] * len(rows),
            },
            schema={"partition": pl.Int64, "value": pl.String, "control": pl.String},
        ),
    )
    after = end_offsets(bootstrap, scene.topic)
    sent = Counter(partition for partition, _ in rows)
    moved = {lane: after[lane] - before[lane] for lane in after}
    if any(moved[lane] != sent[lane] for lane in after):
        msg = f"sent {dict(sent)} records, and the ends of {scene.topic} moved by {moved}"
        raise FaultDidNotApply(msg)
    scene.note_sent(sent)
    return sent


def _event_time(bootstrap: str, topic: str, partition: int, end: int) -> int:
    """The event time of the last good record of a partition."""
    for record in reversed(records_from(bootstrap, topic, partition, max(0, end - 50), 50)):
        value = _object(record.value)
        if isinstance(value.get("sched_us"), int) and "carrier" in value:
            return int(value["sched_us"])
    msg = f"partition {partition} of {topic} holds no flight to set poison beside"
    raise FaultDidNotApply(msg)


def _object(value: bytes) -> dict[str, Any]:
    try:
        found = json.loads(value)
    except ValueError:  # an earlier poison
        return {}
    return found if isinstance(found, dict) else {}
