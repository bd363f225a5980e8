"""Added lanes: partitions that were added to a topic while a pipeline was reading it.

The lanes of a run are fixed. An added partition has a recorded progress: it counts as present
from the start, at that progress, and is otherwise a lane like any other. So results do not depend
on when the job found the partition (ADR 13).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from windowing.model.lengths import INT64_MAX, INT64_MIN, instant_us

_LANE = re.compile(r"(.+)/(0|[1-9][0-9]{0,8})")
_RULE = "write joined: {flights/3: {lane: 3, at: {sched_us: 1357027200000000}}}"


@dataclass(frozen=True)
class AddedLane:
    """An added partition and its initial progress.

    Attributes:
        number: that of its lane, after all earlier lanes of all topics.
        at: its initial progress per attribute: microseconds, or steps of a number; for an absent
            attribute the lane begins without progress, like an original one.
    """

    topic: str
    partition: int
    number: int
    at: tuple[tuple[str, int], ...] = ()

    @property
    def name(self) -> str:
        """The name of the lane, `topic/partition`."""
        return f"{self.topic}/{self.partition}"


def parse_added_lanes(value: object) -> tuple[AddedLane, ...]:
    """Parse a pipeline file's record of added lanes.

    Raises:
        ValueError: E_JOINED, with the rule.
    """
    if isinstance(value, tuple) and all(isinstance(lane, AddedLane) for lane in value):
        return value
    if not isinstance(value, Mapping):
        msg = f"E_JOINED: {value!r} names no lanes: {_RULE}"
        raise ValueError(msg)
    lanes = (_added(name, record) for name, record in value.items())
    return tuple(sorted(lanes, key=lambda lane: lane.number))


def _added(name: object, record: object) -> AddedLane:
    found = _LANE.fullmatch(name) if isinstance(name, str) else None
    if found is None:
        msg = f"E_JOINED: {name!r} is not the name of a lane, topic/partition: {_RULE}"
        raise ValueError(msg)
    if not isinstance(record, Mapping) or {"lane"} - set(record) or set(record) - {"lane", "at"}:
        msg = f"E_JOINED: {name}: {record!r} does not give lane and at: {_RULE}"
        raise ValueError(msg)
    number, at = record["lane"], record.get("at") or {}
    if type(number) is not int or number < 1:
        msg = f"E_JOINED: {name}: {number!r} is not the number of a lane that joined: {_RULE}"
        raise ValueError(msg)
    if not isinstance(at, Mapping) or not all(isinstance(field, str) for field in at):
        msg = f"E_JOINED: {name}: {at!r} does not give a progress by attribute: {_RULE}"
        raise ValueError(msg)
    since = tuple((field, _progress(name, at[field])) for field in sorted(at))
    return AddedLane(found[1], int(found[2]), number, since)


def _progress(name: object, value: object) -> int:
    """Parse a progress as an integer; a time may be in ISO format."""
    if type(value) is int and INT64_MIN < value < INT64_MAX:
        return value
    try:
        return instant_us(value)
    except ValueError:
        msg = f"E_JOINED: {name}: {value!r} is not a progress value: give µs, or an ISO time"
        raise ValueError(msg) from None
