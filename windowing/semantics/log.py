"""The log as the definition sees it: lanes of records in the order of their offsets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from windowing.model.file.pipeline import Source


class BadLogError(ValueError):
    """A log that is not of this pipeline: a foreign lane, or broken order."""

    exit_code = 1


class LogEntry(Protocol):
    """One record of the log.

    Attributes:
        source: the topic.
        partition: its number.
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


def split_lanes(source: Source, log: Iterable[LogEntry]) -> list[list[LogEntry]]:
    """Return each declared lane's entries in offset order, by lane number; silent ones are empty.

    An entry that repeats an earlier one with the same content is a redelivery and counts once.

    Raises:
        BadLogError: an undeclared lane, a lower offset that was not seen before, an offset with two
            contents, or a gap in a source that is declared dense.
    """
    lanes: list[dict[int, LogEntry]] = [{} for _ in range(source.partitions)]
    last = [-1] * source.partitions
    for entry in log:
        place = f"{entry.source}/{entry.partition} offset {entry.offset}"
        number = source.number(entry.source, entry.partition)
        if number is None:
            raise BadLogError(_foreign(source, entry))
        lane, previous = lanes[number], last[number]
        if entry.offset <= previous:
            _check_redelivery(lane.get(entry.offset), entry, place, previous)
            continue
        if source.place(number)[0].dense and lane and entry.offset != previous + 1:
            msg = f"{place}: offset {previous + 1} is missing, and the source is declared dense"
            raise BadLogError(msg)
        lane[entry.offset] = entry
        last[number] = entry.offset
    return [list(lane.values()) for lane in lanes]


def _foreign(source: Source, entry: LogEntry) -> str:
    lane = f"{entry.source}/{entry.partition}"
    if any(part.topic == entry.source for part in source.parts):
        return f"offset {entry.offset} of {source.undeclared(lane)}"
    return f"{lane} offset {entry.offset}: the pipeline has no such lane (it reads {source.lanes})"


def _check_redelivery(first: LogEntry | None, again: LogEntry, place: str, previous: int) -> None:
    if first is None:
        msg = f"{place} comes after offset {previous}: records of a lane must come in offset order"
        raise BadLogError(msg)
    if (first.value, first.control, first.append_us) != (
        again.value,
        again.control,
        again.append_us,
    ):
        msg = f"{place} stands twice in the log with different contents"
        raise BadLogError(msg)
