"""What goes into a standalone window operator and what comes out, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Progress = int | float
"""An instant, or minus infinity before anything was heard, or infinity after the end."""

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
    """A control record: nothing older than `bound` follows in its lane; infinity ends it."""

    lane: str
    offset: int
    bound: Progress


@dataclass(frozen=True, slots=True)
class WindowRow:
    """One row of an aggregator.

    Attributes:
        start, end: the window, half-open, on its axis.
        key: of the group; None also where keys are ignored.
        pane: which policy sent it; early rows are numbered apart.
        revision: its number; the final row is the one of full and late with the largest.
        records: how many records `value` is made of.
        value: of the aggregate.
        offsets: first and last offset per lane of those records, lanes in order.
        retracts: it takes back the row before it, which it repeats.
        absorbed_by: of a tombstone: the start of the session that this one is now part of.
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


@dataclass(frozen=True, slots=True)
class Pair:
    """One row of a join; the two records are its identity.

    Attributes:
        left, right: the records; None: the other one has no partner.
        retracts: a late partner has come for a record that was sent alone: that row is taken back.
    """

    left: Record | None
    right: Record | None
    retracts: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """A record that was not taken: a dead letter."""

    lane: str
    offset: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class WindowView:
    """A stored window as a query shows it, without the late records that still wait for it.

    Attributes:
        pending: how many late records wait; None for sessions, which do not know yet.
    """

    start: int
    end: int
    key: str | None
    records: int
    value: Value
    offsets: Mapping[str, tuple[int, int]]
    pending: int | None


def lane_order(lane: str) -> tuple[str, int]:
    """The sorting key of lanes: the source, then the partition as a number."""
    source, _, partition = lane.rpartition("/")
    return source, int(partition)


def place_of(axis_value: int, lane: str, offset: int) -> Place:
    """The place of a record in the canonical order."""
    return (axis_value, *lane_order(lane), offset)


def null_first(key: str | None) -> tuple[bool, bytes]:
    """The sorting key of keys: None first, then text by its UTF-8 bytes."""
    return key is not None, (key or "").encode()
