"""The log as the definition sees it: lanes of records in the order of their offsets."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable
from typing import Protocol

from windowing.model.file.pipeline import Source
from windowing.model.metadata import metadata_of


class BadLogError(ValueError):
    """A log that is not of this pipeline: a foreign lane, or broken order."""

    exit_code = 1


class LogEntry(Protocol):
    """One record of the log.

    Attributes:
        source: the topic.
        offset: position in the partition; increasing, possibly with gaps.
        value: the bytes of a data record; None for a null value and for a control record.
        control: the bytes of a control record, else None.
        append_us: when the broker appended it, microseconds since 1970; None if unknown.
    """

    @property
    def source(self) -> str: ...  # noqa: D102
    @property
    def partition(self) -> int: ...  # noqa: D102
    @property
    def offset(self) -> int: ...  # noqa: D102
    @property
    def value(self) -> bytes | None: ...  # noqa: D102
    @property
    def control(self) -> bytes | None: ...  # noqa: D102
    @property
    def append_us(self) -> int | None: ...  # noqa: D102


class LogOrder:
    """The lanes of a log, and which of its entries have been seen.

    An entry that repeats an earlier one with the same content is a redelivery and counts once. Of
    each entry, its offset and a 64-bit hash of its content are remembered: 16 bytes.

    Args:
        source: the source, which numbers the lanes.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._offsets = [array("q") for _ in range(source.partitions)]
        self._contents = [array("q") for _ in range(source.partitions)]

    def lane_of(self, entry: LogEntry) -> int | None:
        """Return the number of an entry's lane; None: the entry is a redelivery.

        Raises:
            BadLogError: an undeclared lane, a lower offset that was not seen before, an offset with
                two contents, or a gap in a source that is declared dense.
        """
        number = self._source.number(entry.source, entry.partition)
        if number is None:
            raise BadLogError(_foreign(self._source, entry))
        offsets, contents = self._offsets[number], self._contents[number]
        previous = offsets[-1] if offsets else -1
        content = hash((entry.value, entry.control, entry.append_us, metadata_of(entry)))
        if entry.offset <= previous:
            at = bisect_left(offsets, entry.offset)
            first = contents[at] if offsets[at] == entry.offset else None
            _check_redelivery(first, content, _place(entry), previous)
            return None
        if self._source.place(number)[0].dense and offsets and entry.offset != previous + 1:
            msg = (
                f"{_place(entry)}: offset {previous + 1} is missing, and the source is declared "
                "dense"
            )
            raise BadLogError(msg)
        offsets.append(entry.offset)
        contents.append(content)
        return number


def split_lanes(source: Source, log: Iterable[LogEntry]) -> list[list[LogEntry]]:
    """Return each declared lane's entries in offset order, by lane number; silent ones are empty.

    Raises:
        BadLogError: as of `LogOrder.lane_of`.
    """
    order = LogOrder(source)
    lanes: list[list[LogEntry]] = [[] for _ in range(source.partitions)]
    for entry in log:
        number = order.lane_of(entry)
        if number is not None:
            lanes[number].append(entry)
    return lanes


def _place(entry: LogEntry) -> str:
    return f"{entry.source}/{entry.partition} offset {entry.offset}"


def _foreign(source: Source, entry: LogEntry) -> str:
    lane = f"{entry.source}/{entry.partition}"
    if any(part.topic == entry.source for part in source.parts):
        return f"offset {entry.offset} of {source.undeclared(lane)}"
    return f"{lane} offset {entry.offset}: the pipeline has no such lane (it reads {source.lanes})"


def _check_redelivery(first: int | None, again: int, place: str, previous: int) -> None:
    if first is None:
        msg = f"{place} comes after offset {previous}: records of a lane must come in offset order"
        raise BadLogError(msg)
    if first != again:
        msg = f"{place} stands twice in the log with different contents"
        raise BadLogError(msg)
