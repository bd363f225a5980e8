"""Splitting a log into batches, by number of rows, in any interleaving of its lanes."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from windowing.engine.reading.pack import RawRows
from windowing.model import Pipeline
from windowing.model.metadata import carried, metadata_of
from windowing.model.run_errors import BrokenEnvelope
from windowing.model.source import Source


class Entry(Protocol):
    """One record of a log, undecoded; a control record has `control` and no `value`."""

    @property
    def source(self) -> str:
        """The name of the source."""

    @property
    def partition(self) -> int:
        """The partition in the source."""

    @property
    def offset(self) -> int:
        """The offset in the partition."""

    @property
    def value(self) -> bytes | None:
        """The bytes of its value."""

    @property
    def control(self) -> bytes | None:
        """The JSON of a control record."""

    @property
    def append_us(self) -> int | None:
        """The broker's append time, or None."""


def checked(entries: Iterable[Entry], pipeline: Pipeline) -> Iterator[Entry]:
    """Yield the entries after checking that they belong to the pipeline's source.

    Raises:
        BrokenEnvelope: another source or partition, with the number of the entry.
    """
    source = pipeline.source
    for number, entry in enumerate(entries, start=1):
        if source.number(entry.source, entry.partition) is None:
            msg = f"record {number} of the log: {source.refusal(entry.source, entry.partition)}"
            raise BrokenEnvelope(msg)
        yield entry


def batches(
    entries: Iterable[Entry], rows: int, pipeline: Pipeline | None = None
) -> Iterator[dict[int, RawRows]]:
    """Split a log into batches of up to `rows` entries, each by lane.

    Args:
        entries: the log.
        rows: the most entries of a batch.
        pipeline: numbers the lanes; None: by partition, as for a single source.
    """
    batch: list[Entry] = []
    for entry in entries:
        batch.append(entry)
        if len(batch) == rows:
            yield _by_lane(batch, pipeline)
            batch = []
    if batch:
        yield _by_lane(batch, pipeline)


def _by_lane(batch: list[Entry], pipeline: Pipeline | None) -> dict[int, RawRows]:
    parts: dict[int, list[Entry]] = {}
    for entry in batch:
        number: int | None = entry.partition
        if pipeline is not None:
            number = pipeline.source.number(entry.source, entry.partition)
        assert number is not None  # noqa: S101 - ensured by `checked`
        parts.setdefault(number, []).append(entry)
    sources = {} if pipeline is None else {n: pipeline.source.place(n)[0] for n in parts}
    return {number: raw_rows(part, sources.get(number)) for number, part in parts.items()}


def raw_rows(entries: Sequence[Entry], source: Source | None = None) -> RawRows:
    """Return entries of one lane as raw rows.

    Args:
        source: says what of their metadata is used; None: nothing.
    """
    names = () if source is None else carried(source.metadata)
    return RawRows(
        offsets=[entry.offset for entry in entries],
        values=[entry.value for entry in entries],
        controls=[entry.control for entry in entries],
        append_us=[entry.append_us for entry in entries],
        metadata={name: [metadata_of(one).carried(name) for one in entries] for name in names},
    )


def interleave(entries: Iterable[Entry], seed: int) -> Iterator[Entry]:
    """Shuffle a log between lanes; the order within each lane stays."""
    lanes: dict[tuple[str, int], list[Entry]] = {}
    for entry in entries:
        lanes.setdefault((entry.source, entry.partition), []).append(entry)
    turns = [lane for lane, own in lanes.items() for _ in own]
    random.Random(seed).shuffle(turns)
    queues = {lane: iter(own) for lane, own in lanes.items()}
    return (next(queues[lane]) for lane in turns)
