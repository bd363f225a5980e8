"""The log as the definition sees it: lanes of records in the order of their offsets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from windowing.spec.lengths import INT64_MAX, INT64_MIN
from windowing.spec.pipeline import Source


class BadLogError(ValueError):
    """What was given is not a log of this pipeline: a foreign lane, broken order, bad control."""

    exit_code = 1


class LogEntry(Protocol):
    """One record of the log.

    Attributes:
        source: the topic.
        partition: its number.
        offset: position in the partition; rises, may leave holes.
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


@dataclass(frozen=True)
class Bound:
    """A promise in band: no more records with a time below `bound_us` in this lane.

    Attributes:
        bound_us: the instant; records at it may still come.
        on: (field, value) if it holds for the records with that value only.
    """

    bound_us: int
    on: tuple[str, object] | None = None


@dataclass(frozen=True)
class Observation:
    """What a heartbeat emitter saw when it wrote into this lane.

    Attributes:
        now_us: its clock, or None.
        seen_us: by lane, the time of a record that has arrived.
    """

    now_us: int | None
    seen_us: Mapping[str, int]


Control = Bound | Observation | Literal["end", "ignored"]


def split_lanes(source: Source, log: Iterable[LogEntry]) -> list[list[LogEntry]]:
    """Return each declared lane's entries in offset order, lanes by number; silent ones are empty.

    An entry that repeats an earlier one with the same content is a redelivery: it is part of the
    log only once.

    Raises:
        BadLogError: an undeclared lane, an offset that goes back to one not seen before, an offset
            with two contents, or a hole in a source that is declared dense.
    """
    lanes: list[dict[int, LogEntry]] = [{} for _ in range(source.partitions)]
    last = [-1] * source.partitions
    for entry in log:
        place = f"{entry.source}/{entry.partition} offset {entry.offset}"
        number = source.number(entry.source, entry.partition)
        if number is None:
            msg = f"{place}: the pipeline has no such lane (it declares {source.lanes})"
            raise BadLogError(msg)
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


def read_control(control: bytes, place: str) -> Control:
    """Read a control record; which shapes count is the generator's affair.

    Args:
        control: JSON, such as `{"bound": 5000000}` (microseconds) or `{"end": true}`.
        place: lane and offset, for the message.

    Raises:
        BadLogError: not JSON, or none of the shapes.
    """
    try:
        fields = json.loads(control)
    except ValueError:  # UnicodeDecodeError and JSONDecodeError are both of this kind
        fields = None
    read = _shape(fields) if isinstance(fields, dict) else None
    if read is not None:
        return read
    msg = (
        f"{place}: {control!r} is not a control record: use "
        '{"bound": µs}, {"bound": µs, "on": {…}}, {"now": µs, "seen": {…}} or {"end": true}'
    )
    raise BadLogError(msg)


def _shape(fields: dict[str, Any]) -> Control | None:
    names = set(fields)
    if names == {"end"}:
        return "end" if fields["end"] is True else None
    if names == {"bound"}:
        return Bound(fields["bound"]) if _is_instant(fields["bound"]) else None
    if names == {"bound", "on"}:
        on = fields["on"]
        if not _is_instant(fields["bound"]) or not isinstance(on, dict):
            return None
        # Progress is per value of one field; a promise about several says nothing of any.
        return Bound(fields["bound"], next(iter(on.items()))) if len(on) == 1 else "ignored"
    if names and names <= {"now", "seen"}:
        seen = fields.get("seen", {})
        if isinstance(seen, dict) and all(map(_is_instant, (fields.get("now", 0), *seen.values()))):
            return Observation(fields.get("now"), seen)
    return None


def _is_instant(value: object) -> bool:
    return type(value) is int and INT64_MIN <= value <= INT64_MAX
