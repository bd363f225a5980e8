"""A join's records, its due rows, and the order of messages."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from windowing.engine.rows.flows import keys
from windowing.model.flow import JoinFlow, KeyOrder
from windowing.model.record import Pair, Place, Progress, Record, place_of


class Joined(msgspec.Struct, array_like=True):
    """A record and its state in the join.

    Attributes:
        record: the record.
        at: its value on the axis.
        instant: the progress at which it is delivered.
        late: whether it was late.
        delivered: whether it has been.
        paired: the instant of its first pair, or None.
        alone: whether it was sent alone, and that row was not retracted.
    """

    record: Record
    at: int
    instant: int
    late: bool
    delivered: bool = False
    paired: int | None = None
    alone: bool = False

    @property
    def place(self) -> Place:
        """Its position."""
        return place_of(self.at, self.record.lane, self.record.offset)


class DueRow(NamedTuple):
    """A row and its position among the others."""

    instant: Progress
    kind: Literal["retracts", "pair", "single"]
    left: Joined | None
    right: Joined | None

    @property
    def order(self) -> tuple[Progress, int, list[Place], list[Place]]:
        """The sort key; a missing record comes first."""
        left, right = ([] if one is None else [one.place] for one in (self.left, self.right))
        return self.instant, ("retracts", "pair", "single").index(self.kind), left, right

    @property
    def row(self) -> Pair:
        """The row, as sent."""
        left, right = (None if one is None else one.record for one in (self.left, self.right))
        return Pair(left, right, retracts=self.kind == "retracts")


def layout_of(flow: JoinFlow, order: KeyOrder) -> keys.Layout:
    """Return the layout of a join's message keys: the most queried component first."""
    if flow.axis == "rows":
        by_key = order.keyed_store or (flow.on and order.large_window)
        return "eq_offset" if by_key else "offset"
    if order.keyed_store or flow.session_gap is not None:
        return "eq_ts_offset"
    if not flow.on:
        return "ts_offset"
    return "ts_eq_offset" if order.time_range and not order.large_window else "eq_ts_offset"
