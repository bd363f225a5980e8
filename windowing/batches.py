"""Cutting a log into batches: by number of rows, in any interleaving of its lanes."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Protocol

from windowing.control import ControlError, read_control
from windowing.errors import BrokenEnvelope
from windowing.pack import RawRows
from windowing.spec import Pipeline


class Entry(Protocol):
    """One record of a log, undecoded; a control record has `control` and no `value`."""

    @property
    def source(self) -> str:
        """Name of the source."""

    @property
    def partition(self) -> int:
        """Its partition."""

    @property
    def offset(self) -> int:
        """Its place in the partition."""

    @property
    def value(self) -> bytes | None:
        """The bytes of its value."""

    @property
    def control(self) -> bytes | None:
        """The JSON of a control record."""

    @property
    def append_us(self) -> int | None:
        """The broker's append time, where it is known."""


def checked(entries: Iterable[Entry], pipeline: Pipeline) -> Iterator[Entry]:
    """Pass entries on that belong to the pipeline's source.

    Raises:
        BrokenEnvelope: another source or partition, or a control record of no known shape; with
            the number of the entry, which in a file is its line.
    """
    source = pipeline.source
    for number, entry in enumerate(entries, start=1):
        if entry.source != source.topic or not 0 <= entry.partition < source.partitions:
            msg = (
                f"line {number}: source {entry.source!r}, partition {entry.partition}: the "
                f"pipeline reads {source.topic!r} with partitions 0 to {source.partitions - 1}"
            )
            raise BrokenEnvelope(msg)
        if entry.control is not None:
            try:
                read_control(entry.control)
            except ControlError as error:
                msg = f"line {number}: {error}"
                raise BrokenEnvelope(msg) from None
        yield entry


def batches(entries: Iterable[Entry], rows: int) -> Iterator[dict[int, RawRows]]:
    """Cut a log into batches of at most `rows` entries, each by partition."""
    batch: list[Entry] = []
    for entry in entries:
        batch.append(entry)
        if len(batch) == rows:
            yield _by_partition(batch)
            batch = []
    if batch:
        yield _by_partition(batch)


def _by_partition(batch: list[Entry]) -> dict[int, RawRows]:
    parts: dict[int, list[Entry]] = {}
    for entry in batch:
        parts.setdefault(entry.partition, []).append(entry)
    return {
        partition: RawRows(
            offsets=[entry.offset for entry in part],
            values=[entry.value for entry in part],
            controls=[entry.control for entry in part],
            append_us=[entry.append_us for entry in part],
        )
        for partition, part in parts.items()
    }


def interleave(entries: Iterable[Entry], seed: int) -> Iterator[Entry]:
    """Shuffle a log between its lanes; inside each lane the order stays."""
    lanes: dict[int, list[Entry]] = {}
    for entry in entries:
        lanes.setdefault(entry.partition, []).append(entry)
    turns = [partition for partition, lane in lanes.items() for _ in lane]
    random.Random(seed).shuffle(turns)
    queues = {partition: iter(lane) for partition, lane in lanes.items()}
    return (next(queues[partition]) for partition in turns)
