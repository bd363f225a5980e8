"""Input and output of a standalone window operator, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Progress = int | float
"""An instant; minus infinity: nothing received yet; infinity: after the end."""

Value = int | float | list[int] | None
Reason = Literal["late", "out_of_retention"]
Place = tuple[int, str, int, int]
"""Axis value, source, partition, offset: the canonical order."""


@dataclass(frozen=True, slots=True)
class Record:
    """A data record; `(lane, offset)` is its identity."""

    lane: str
    offset: int
    ts: int
    key: str | None
    value: int


@dataclass(frozen=True, slots=True)
class Bound:
    """A control record: nothing older than `bound` follows in its lane; infinity ends the lane."""

    lane: str
    offset: int
    bound: Progress


@dataclass(frozen=True, slots=True)
class WindowRow:
    """One row of an aggregator.

    Attributes:
        start, end: the window, half-open, on its axis.
        key: of the group; None also where keys are ignored.
        pane: the policy that sent it; early rows are numbered separately.
        revision: its number; the full or late row with the largest is final.
        records: how many records `value` aggregates.
        offsets: first and last offset per lane of those records, lanes in order.
        retracts: it repeats the previous row in order to retract it.
        absorbed_by: in a tombstone, the start of the session that this one is now part of.
        overflow: `value` is null as it is a sum that leaves int64.
    """

    start: int
    end: int
    key: str | None
    pane: Literal["early", "full", "late"]
    revision: int
    records: int
    value: Value
    offsets: Mapping[str, tuple[int, int]]
    retracts: bool = False
    absorbed_by: int | None = None
    overflow: bool = False


@dataclass(frozen=True, slots=True)
class Pair:
    """One row of a join; the two records are its identity.

    Attributes:
        left, right: the records; None: the other has no partner.
        retracts: it retracts the row of a record that was sent alone, because a late partner came.
    """

    left: Record | None
    right: Record | None
    retracts: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """A dead letter: a record that could not be used."""

    lane: str
    offset: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class WindowView:
    """A stored window, without the late records that wait for their epoch.

    Attributes:
        pending: how many late records wait; None for sessions, where it is not known yet.
    """

    start: int
    end: int
    key: str | None
    records: int
    value: Value
    offsets: Mapping[str, tuple[int, int]]
    pending: int | None


def lane_order(lane: str) -> tuple[str, int]:
    """Return the sort key of a lane: the source, then the partition as a number."""
    source, _, partition = lane.rpartition("/")
    return source, int(partition)


def place_of(axis_value: int, lane: str, offset: int) -> Place:
    """Return the position of a record in the canonical order."""
    return (axis_value, *lane_order(lane), offset)


def null_first(key: str | None) -> tuple[bool, bytes]:
    """Return the sort key of a key: None first, then text by its UTF-8 bytes."""
    return key is not None, (key or "").encode()
